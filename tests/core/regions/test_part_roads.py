"""Roads extracted part by part and joined, against those of the undivided region."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.geometry import box

from tests.core.support.cities import city_probability, grid_of_size, raster_of, same_lines
from tests.shared_fixtures import make_once
from training_core.errors import OutputError
from training_core.events import Reporter
from training_core.extraction.road_extraction import extract_network
from training_core.geodata.road_classes import RoadClass, class_array
from training_core.jobs import NetworkOptions
from training_core.regions.region_grid import CELL_PX, Part, divide, margin_px
from training_core.regions.region_roads import extract_part, read_part, write_part
from training_core.regions.seams import join_parts, joined_roads, outline

OPTIONS = NetworkOptions()
SIZE_PX, MARGIN_PX = 1792, 1024
CLASSES = (RoadClass("track", 20.0), RoadClass("primary", 80.0))


def cut_at(columns, rows, width=SIZE_PX, height=SIZE_PX):
    """Parts between cuts."""
    across, down = [0, *columns, width], [0, *rows, height]
    return [
        Part(top, left, bottom - top, right - left)
        for top, bottom in zip(down, down[1:])
        for left, right in zip(across, across[1:])
    ]


def window_of(values, part):
    return values[part.row : part.row + part.height, part.column : part.column + part.width]


def extracted(probability, parts, options=OPTIONS, classes=None):
    grid = grid_of_size(*probability.shape[::-1])
    roads = []
    for part in parts:
        window = part.grown(MARGIN_PX, grid)
        numbers = None if classes is None else class_array(window_of(classes, window), CLASSES)
        raster = raster_of(window_of(probability, window))
        roads.append(extract_part(raster, window, part, grid.pixel_m, options, Reporter(), numbers))
    return roads


def joined(probability, parts, options=OPTIONS, classes=None):
    """The table of all roads, and how the parts were joined."""
    roads = extracted(probability, parts, options, classes)
    outlines = [outline(each) for each in roads]
    joining = join_parts(outlines)
    known = CLASSES if classes is not None else ()
    tables = joined_roads(roads, outlines, joining, grid_of_size(*probability.shape[::-1]), options, known)
    return pd.concat(list(tables), ignore_index=True), joining


def undivided(probability, options=OPTIONS, classes=None):
    numbers = None if classes is None else class_array(classes, CLASSES)
    grid = grid_of_size(*probability.shape[::-1])
    return extract_network(raster_of(probability), grid, options, Reporter(), numbers).roads


@pytest.fixture(scope="module")
def city():
    return city_probability(SIZE_PX, "mixed", 3)


@pytest.fixture(scope="module")
def classes():
    """Stripes of two classes."""
    return np.where(np.arange(SIZE_PX) % 700 < 350, 1, 2).astype(np.uint8) * np.ones((SIZE_PX, 1), np.uint8)


@pytest.fixture(scope="module")
def whole(city, classes, tmp_path_factory):
    return make_once(tmp_path_factory, "undivided", lambda _: undivided(city, classes=classes))


@pytest.fixture(scope="module")
def six_parts(city, classes, tmp_path_factory):
    return make_once(tmp_path_factory, "six parts", lambda _: joined(city, cut_at([512, 1024], [640]), classes=classes))


def check_equal(found, joining, whole):
    assert joining.mismatches == 0
    assert len(found) == len(whole)
    assert found["component"].max() == whole["component"].max()
    assert np.isclose(found["length_m"].sum(), whole["length_m"].sum(), rtol=1e-3)
    same, other = same_lines(found, whole)
    assert other <= 2 and same > 50


def test_joined_parts_have_the_lines_of_the_undivided_region(six_parts, whole):
    check_equal(*six_parts, whole)


@settings(max_examples=2, deadline=None)
@given(st.data())
def test_cuts_may_be_anywhere(city, whole, data):
    cuts = st.lists(st.integers(8, SIZE_PX // 8 - 8).map(lambda number: 8 * number), min_size=1, max_size=1)
    check_equal(*joined(city, cut_at(data.draw(cuts), data.draw(cuts))), whole)


def test_lines_across_seams_have_the_measures_and_classes_of_the_undivided_ones(six_parts, whole):
    found, _ = six_parts
    long = found[found["length_m"] > 100].sort_values("length_m").head(20)
    for _, road in long.iterrows():
        own = whole.iloc[(whole.geometry.hausdorff_distance(road.geometry)).argmin()]
        assert abs(own["width_m"] - road["width_m"]) < 0.05 and abs(own["confidence"] - road["confidence"]) < 0.01
        assert abs(own["road_probability"] - road["road_probability"]) < 0.01
    count = [table["road_class"].value_counts().to_dict() for table in (found, whole)]
    assert count[0] == pytest.approx(count[1], abs=3) and set(count[1]) == {"track", "primary"}


def test_a_ring_through_four_parts_is_one_line_with_one_node():
    rows, columns = np.mgrid[:SIZE_PX, :SIZE_PX]
    away = np.hypot(rows - 640, columns - 640)
    ring = np.where(np.abs(away - 300) < 6, 254, 0).astype(np.uint8)
    found, joining = joined(0 * ring, cut_at([640], []))  # parts without roads
    assert len(found) == 0 and joining.mismatches == 0 and "length_m" in found.columns
    found, joining = joined(ring, cut_at([640], [640]))
    assert len(found) == 1 and found.geometry.iloc[0].is_ring and joining.mismatches == 0
    assert found["length_m"].iloc[0] == pytest.approx(2 * np.pi * 150, rel=0.005)


def test_a_road_along_a_seam_is_there_once():
    road = np.zeros((SIZE_PX, SIZE_PX), np.uint8)
    road[:, 634:646] = 254  # its middle is the border between both parts
    for cut in (632, 640, 648):
        found, joining = joined(road, cut_at([cut], []))
        assert len(found) == 1 and joining.mismatches == 0
        assert found["length_m"].iloc[0] == pytest.approx(SIZE_PX / 2, rel=0.01)


def test_a_road_that_leaves_the_data_is_not_cut_at_their_border():
    city = city_probability(1024, "organic", 2)[160:672, :512]  # a bend, centered, is a pixel left of the data
    for turned in (city, city[:, ::-1].T):  # at the left and at the lower border
        (found, joining), whole = joined(turned, cut_at([256], [256], 512, 512)), undivided(turned)
        assert joining.mismatches == 0 and same_lines(found, whole) == (len(whole), 0)


def test_short_components_go_by_their_length_in_all_parts():
    road = np.zeros((SIZE_PX, SIZE_PX), np.uint8)
    road[100:110, 600:680] = 254  # 40 m, 20 m in each part
    road[300:310, 500:530] = 254  # 15 m in one part
    found, _ = joined(road, cut_at([640], []), NetworkOptions(min_length_m=30))
    assert len(found) == 1 and found["length_m"].iloc[0] > 30


def test_roads_of_a_part_survive_their_file(city, tmp_path):
    (roads,) = extracted(city, cut_at([640], [640])[:1])
    write_part(tmp_path / "part.npz", roads)
    read = read_part(tmp_path / "part.npz")
    for name in ("nodes", "edges", "points", "offsets"):
        assert (getattr(read.graph, name) == getattr(roads.graph, name)).all()
    assert (read.side == roads.side).all() and read.measures.votes is None


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"nothing of the kind"])
def test_a_damaged_file_is_named(content, tmp_path):
    (tmp_path / "part.npz").write_bytes(content)
    with pytest.raises(OutputError, match="part.npz"):
        read_part(tmp_path / "part.npz")


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6000), st.integers(1, 6000), st.integers(200, 3000))
def test_parts_cover_a_region_once_in_whole_cells(width, height, side_px):
    grid = grid_of_size(width, height)
    parts = list(divide(grid, side_px, [box(0, 0, width, height)]))
    assert sum(part.width * part.height for part in parts) == width * height
    assert all(part.row % CELL_PX == part.column % CELL_PX == 0 for part in parts)
    corners = {(part.row, part.column) for part in parts}
    assert len(corners) == len(parts)
    assert all(part.row + part.height in {height, *(row for row, _ in corners)} for part in parts)


def test_parts_without_scenes_are_left_out_and_margins_grow_with_what_roads_are_joined_across():
    parts = list(divide(grid_of_size(5120, 5120), 1024, [box(0, 0, 900, 900), box(4200, 4200, 5000, 5000)]))
    assert parts == [Part(0, 0, 1024, 1024), Part(4096, 4096, 1024, 1024)]
    assert margin_px(OPTIONS, (0.5, 0.5)) == 1280 and margin_px(OPTIONS, (1.0, 1.0)) == 768
    assert margin_px(NetworkOptions(gap_m=500), (0.5, 0.5)) > 2200
