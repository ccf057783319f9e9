"""Traced paths: where they run in probabilities with known roads, in one window and through many."""

import numpy as np
import pytest
import shapely

from training_core.extraction.traced_windows import TracedWindows
from training_core.extraction.tracing import as_drawn, continue_paths

RANDOM = np.random.default_rng(3)


def grow_paths(probability, start, pixel=(1.0, 1.0)):
    cost = np.full(probability.shape, np.inf)
    cost[start] = 0.0
    return continue_paths(probability, cost, pixel)


def noise(shape):
    return RANDOM.uniform(0, 0.3, shape).astype(np.float32)


def distance(path, line):
    """Return the greatest distance of a path from a line, both in rows and columns."""
    return shapely.hausdorff_distance(shapely.LineString(path), shapely.LineString(line))


def test_a_path_follows_a_bright_road_around_its_corner_with_few_vertices_and_no_stairs():
    probability = noise((120, 160))
    probability[18:23, 10:141] = 0.9
    probability[18:111, 136:141] = 0.9
    tree = grow_paths(probability, (20, 10))
    path = as_drawn(tree.cells_to(110, 138))
    assert path[0].tolist() == [20, 10] and path[-1].tolist() == [110, 138]
    assert distance(path, [(20, 10), (20, 138), (110, 138)]) < 4
    assert len(path) < 15


def test_a_diagonal_road_is_a_straight_line():
    rows, columns = np.mgrid[:200, :200]
    probability = np.where(np.abs(3 * rows - columns) < 9, 0.95, 0.02).astype(np.float32)
    path = as_drawn(grow_paths(probability, (5, 15)).cells_to(60, 180))
    assert distance(path, [(5, 15), (60, 180)]) < 1
    assert len(path) <= 4


def test_ground_without_data_is_crossed_only_where_there_is_no_way_around():
    probability = np.full((60, 60), 0.02, np.float32)
    probability[10:51, 28:33] = np.nan
    tree = grow_paths(probability, (30, 5))
    rows, columns = tree.cells_to(30, 55).T
    assert np.isfinite(probability[rows, columns]).all()
    probability[:, 28:33] = np.nan
    assert len(grow_paths(probability, (30, 5)).cells_to(30, 55)) >= 51


def test_pixels_that_are_not_square_count_as_long_as_they_are():
    # Over a hill of cells that are half as wide as high, up and down is longer than to the side.
    probability = np.full((41, 81), 0.5, np.float32)
    probability[10:31, 40] = 0.0
    tree = grow_paths(probability, (20, 30), (2.0, 1.0))
    assert tree.cost[20, 10] == pytest.approx(tree.cost[30, 30], rel=1e-6)


@pytest.mark.parametrize("width", [3, 4, 7, 8])
def test_the_width_of_a_road_is_known_to_half_a_cell(width):
    probability = np.full((80, 80), 0.1, np.float32)
    probability[30 : 30 + width] = 0.9
    tree = grow_paths(probability, (31, 5))
    cells = tree.cells_to(31, 75)
    assert np.median(tree.width[tuple(cells.T)]) == pytest.approx(width, abs=0.5)
    assert tree.width[5, 5] == 0


def test_a_winding_road_through_many_windows_is_followed_as_in_a_single_one():
    rows, columns = np.mgrid[:300, :1500]
    middle = 150 + 90 * np.sin(columns / 70)
    probability = np.where(np.abs(rows - middle) < 9, 0.9, noise(rows.shape)).astype(np.float32)
    read = []

    def window(each):
        read.append(each)
        column, row, width, height = each
        return probability[row : row + height, column : column + width]

    start, end = (150, 5), (int(middle[0, 1490]), 1490)
    windows = TracedWindows(window, probability.shape, start, (1.0, 1.0))
    assert len(read) == 1 and not windows.reach(end)
    while not windows.reach(end):
        pass
    assert windows.reach((150, 60)) and len(read) > 3  # what is reached stays so
    cells, along, width = windows.path_to(end)
    assert (np.abs(np.diff(cells, axis=0)).max(axis=1) <= 1).all()
    assert (cells[0] == start).all() and (cells[-1] == end).all()
    whole = grow_paths(probability, start)
    assert along.mean() == pytest.approx(0.9, abs=0.01) and (along > 0.5).all() and (width > 5).mean() > 0.9
    assert distance(as_drawn(cells), as_drawn(whole.cells_to(*end))) < 6
