"""The view: coarse first, then from the middle outward; a moved view keeps its predictions."""

import numpy as np
import pytest
from affine import Affine
from rasterio.crs import CRS

from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import NO_DATA
from training_core.geodata.rasters import Band
from training_core.live import map_prediction
from training_core.live.map_prediction import MapPrediction
from training_core.segmentation.inference import Predictor

SIDE = 1000


class Ground:
    """An image whose values are its columns, and which counts the pixels that are read."""

    grid = Grid(CRS.from_epsg(32633), Affine(1, 0, 390000, 0, -1, 5820000), SIDE, SIDE)
    name = "ground"

    def __init__(self):
        self.read_px = 0

    def read(self, column, row, width, height):
        self.read_px += width * height
        columns = np.arange(column, column + width)
        values = np.broadcast_to(columns, (1, height, width)).astype(np.float32)
        rows = np.arange(row, row + height)
        known = ((rows >= 0) & (rows < SIDE))[:, None] & ((columns >= 0) & (columns < SIDE))[None]
        return values, known


class Ramp:
    """An engine whose probability is the column, times a gain."""

    def __init__(self, gain):
        self._gain = gain

    def probability(self, prepared, images):
        return (images[:, :1] * self._gain / SIDE).clamp(0, 1)


def predictor(gain=1.0):
    return Predictor(None, Ramp(gain), (Band("gray", 0.0, 1.0),))


def extent(left, top, right, bottom):
    return (390000 + left, 5820000 - bottom, 390000 + right, 5820000 - top)


def looking(*place):
    view = MapPrediction(Ground())
    view.move(extent(*place))
    view.renew(predictor())
    return view


def work_off(view, until=lambda view: view.is_complete):
    told = []
    while not until(view):
        view.advance()
        told.append(view.fraction)
    return told


def expected(view, gain=1.0):
    column, _, width, _ = view.window
    return np.rint(254 * np.arange(column, column + width) * gain / SIDE)


def test_a_view_is_predicted_coarsely_first_and_then_all_of_it(monkeypatch):
    monkeypatch.setattr(map_prediction, "USUAL_PIECE_PX", 160)
    view = looking(200, 100, 700, 500)
    assert view.window == (200, 100, 500, 400)
    work_off(view, lambda view: (view.values != NO_DATA).all())
    assert view.is_coarse and view.fraction == 0
    assert np.abs(view.values - expected(view)).max() <= 1
    told = work_off(view)
    assert not view.is_coarse and told == sorted(told) and told[-1] == 1
    np.testing.assert_array_equal(view.values, np.broadcast_to(expected(view), (400, 500)))


def test_when_the_model_changes_what_it_said_before_stays_until_it_speaks(monkeypatch):
    monkeypatch.setattr(map_prediction, "USUAL_PIECE_PX", 160)
    monkeypatch.setattr(map_prediction, "MAX_PIECE_PX", 160)
    view = looking(200, 100, 700, 500)
    work_off(view)
    view.renew(predictor(0.5))
    assert view.fraction == 0 and not view.is_coarse
    view.advance()
    assert 0 < view.fraction < 1
    found = set(np.unique(np.isin(view.values, np.append(expected(view), expected(view, 0.5)))))
    assert found == {True}
    work_off(view)
    np.testing.assert_array_equal(view.values, np.broadcast_to(expected(view, 0.5), (400, 500)))


def test_a_moved_view_computes_only_what_came_into_it():
    view = looking(100, 100, 600, 500)
    work_off(view)
    ground = view._windows
    before_px = ground.read_px
    view.move(extent(200, 100, 700, 500))
    assert view.fraction == 0.8 and (view.values != NO_DATA).mean() == 0.8
    work_off(view)
    assert view.fraction == 1 and ground.read_px - before_px < 0.5 * 500 * 400
    np.testing.assert_array_equal(view.values, np.broadcast_to(expected(view), (400, 500)))
    view.move(extent(250, 120, 650, 480))
    assert view.is_complete and view.fraction == 1


def test_beyond_the_image_nothing_is_predicted_and_of_a_huge_view_the_middle(monkeypatch):
    view = looking(-500, -500, 300, 200)
    assert view.window == (0, 0, 300, 200)
    work_off(view)
    view.move(extent(5000, 5000, 6000, 6000))
    assert view.is_empty and view.is_complete and view.fraction == 0
    monkeypatch.setattr(map_prediction, "MAX_PX", 40_000)
    view = looking(-1e6, -1e6, 1e6, 1e6)
    column, row, width, height = view.window
    assert view.is_cut and width * height <= 40_000
    assert abs(column + width / 2 - SIDE / 2) <= 1 and abs(row + height / 2 - SIDE / 2) <= 1


@pytest.mark.parametrize("place", [(100, 100, 600, 500), (0, 0, 1000, 1000), (10, 990, 35, 1000)])
def test_what_is_known_of_a_part_is_told_once_it_is_current(place):
    view = looking(*place)
    column, row, width, height = view.window
    window = (column, row, min(64, width), min(10, height))
    assert view.part(window) is None
    work_off(view)
    assert view.part(window).shape == (window[3], window[2])
    assert view.part((column - 500, row, 10, 10)) is None
