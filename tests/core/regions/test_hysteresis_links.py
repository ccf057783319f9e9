"""Hysteresis across parts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from tests.core.support.cities import raster_of
from training_core.regions.region_grid import Part
from training_core.regions.region_roads import border_patches, linked_pixels

NONE, LIKELY, SURE = 0, 110, 200  # bytes of probability; the thresholds are 102 and 127
EIGHT = np.ones((3, 3))


def linked(values, step):
    cores = [
        Part(row, column, min(step, values.shape[0] - row), min(step, values.shape[1] - column))
        for row in range(0, values.shape[0], step)
        for column in range(0, values.shape[1], step)
    ]

    parts = [values[core.row : core.row + core.height, core.column : core.column + core.width] for core in cores]
    patches = [border_patches(raster_of(part), core, 0.8) for part, core in zip(parts, cores)]
    return cores, linked_pixels(patches)


def test_a_likely_road_is_linked_to_a_sure_one_two_parts_away_or_not_at_all():
    values = np.zeros((8, 30), np.uint8)
    values[4, :] = LIKELY
    values[4, 29] = SURE
    _, pixels = linked(values, 10)
    assert [x for x, y in pixels.tolist() if y == 4 and x < 20] == [0, 9, 10, 19]
    values[[4, 7], 29] = LIKELY, SURE
    assert linked(values, 10)[1][:, 0].tolist() == [29]


@settings(max_examples=60, deadline=None)
@given(arrays(np.uint8, (17, 23), elements=st.sampled_from([NONE, NONE, LIKELY, LIKELY, SURE])), st.integers(3, 9))
def test_links_are_those_of_the_undivided_image(values, step):
    labels, _ = ndimage.label(values >= LIKELY, EIGHT)
    wanted = np.isin(labels, np.unique(labels[values >= SURE])) & (labels > 0)
    cores, pixels = linked(values, step)
    border = np.zeros(values.shape, bool)
    for core in cores:
        inside = np.zeros(values.shape, bool)
        inside[core.row : core.row + core.height, core.column : core.column + core.width] = True
        border |= inside & ~ndimage.binary_erosion(inside, EIGHT)
    assert pixels.tolist() == [[x, y] for y, x in np.argwhere(border & wanted).tolist()]
