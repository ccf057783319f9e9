"""Pictures before and after: north up, of the first image that shows a place, and gray where none does."""

import numpy as np
import pyproj
from affine import Affine
from shapely import LineString

from tests.core.support.rasters import write_raster
from training_core.comparison.status_pictures import find_swipes
from training_core.comparison.status_results import Summary

PLANE = pyproj.CRS("EPSG:32633")
AT = Affine(1, 0, 390000, 0, -1, 5820200)  # 200 m x 200 m


def summary(*rows):
    line = LineString([(390050, 5820100), (390150, 5820100)])
    return Summary(np.array([line], dtype=object), np.array(["not seen"], dtype=object), [], [], rows, [])


def striped(folder, name, across, until=200, **profile):
    """An image with stripes of 10 m, up or across, that has data from column 200 - `until` on."""
    rows, columns = np.indices((200, 200))
    values = np.where((rows if across else columns) // 10 % 2, 200, 50)
    values[columns < 200 - until] = 0
    return write_raster(folder / f"{name}.tif", np.stack([values] * 3).astype(np.uint8), transform=AT, **profile)


def changes_across(picture):
    """Whether a picture has stripes across, not up."""
    steps = [np.abs(np.diff(picture[..., 0].astype(int), axis=axis)).sum() for axis in (0, 1)]
    return steps[0] > steps[1]


def test_the_newest_image_that_shows_a_place_is_seen_there(tmp_path):
    newest = striped(tmp_path, "newest", True, until=100, nodata=0)
    older, before = striped(tmp_path, "older", False), striped(tmp_path, "before", False)
    row = {"row": 0, "check": None, "name": "main street", "state": "not seen", "length_m": 100.0}
    everything, place = find_swipes(summary(row), [before], [newest, older], PLANE)
    assert place.caption == "main street, not seen, 100 m" and everything.caption == "All known roads"
    for swipe in (everything, place):
        middle = swipe.after.shape[1] // 2
        assert not changes_across(swipe.after[:, : middle - 5]) and changes_across(swipe.after[:, middle + 5 :])
        assert not changes_across(swipe.before)


def test_where_no_image_shows_anything_there_is_gray_and_one_image_stands_for_both(tmp_path):
    row = {"row": 0, "check": 1, "name": "main street", "state": "not seen", "length_m": 100.0}
    (_, place) = find_swipes(summary(row), [], [striped(tmp_path, "half", True, until=100, nodata=0)], PLANE)
    gray = place.after[:, :230]
    assert place.before is place.after and place.caption.startswith("Check 1: ")
    assert (gray == gray[0, 0]).all() and len(set(gray[0, 0])) == 1 and 200 < gray[0, 0, 0] < 250
