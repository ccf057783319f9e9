"""Places to draw next: the most uncertain ones without labels."""

import numpy as np
from rasterio.crs import CRS

from tests.core.support.rasters import NORTH_UP
from training_core.geodata.grid import Grid
from training_core.live.scoring import PATCH_M, uncertain_places

GRID = Grid(CRS.from_epsg(32633), NORTH_UP, 400, 400)


def scene(*squares):
    """Return a certain background with uncertain squares, by their first column and row."""
    values = np.zeros((400, 400), dtype=np.uint8)
    for column, row in squares:
        values[row : row + 60 : 2, column : column + 60] = 127
        values[row + 1 : row + 60 : 2, column : column + 60] = 100
    return values


def test_the_two_most_uncertain_places_without_labels_are_told():
    places = uncertain_places(scene((40, 60), (300, 280)), np.zeros((400, 400), dtype=bool), GRID)
    at = sorted((x - NORTH_UP.c, NORTH_UP.f - y) for x, y in places)
    assert np.hypot(*(np.array(at) - [(70, 90), (330, 310)]).T).max() < PATCH_M / 2
    labeled = np.zeros((400, 400), dtype=bool)
    labeled[60:120, 40:100] = True
    for x, y in uncertain_places(scene((40, 60), (300, 280)), labeled, GRID):
        assert np.hypot(x - NORTH_UP.c - 70, NORTH_UP.f - y - 90) > 30


def test_of_a_certain_or_tiny_view_nothing_is_asked():
    nothing = np.zeros((400, 400), dtype=bool)
    assert uncertain_places(scene(), nothing, GRID) == []
    tiny = GRID.window(0, 0, 3, 2)
    assert len(uncertain_places(scene((0, 0))[:2, :3], nothing[:2, :3], tiny)) <= 1
