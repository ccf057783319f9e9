"""Windows of an image hold the values of its file, and their cache is bounded."""

import numpy as np
import pytest
import rasterio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.support.towns import SIDE_PX
from training_core.live import image_windows
from training_core.live.image_windows import ImageWindows

PLACE = st.integers(-70, SIDE_PX + 70)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(column=PLACE, row=PLACE, width=st.integers(1, 250), height=st.integers(1, 250))
def test_a_window_holds_what_the_file_holds_and_beyond_it_nothing(desk, column, row, width, height):
    values, known = desk.windows.read(column, row, width, height)
    with rasterio.open(desk.town.raster) as dataset:
        whole = dataset.read()
    padded = np.zeros((3, SIDE_PX + 800, SIDE_PX + 800), dtype=whole.dtype)
    padded[:, 400 : 400 + SIDE_PX, 400 : 400 + SIDE_PX] = whole
    there = np.zeros(padded.shape[1:], dtype=bool)
    there[400 : 400 + SIDE_PX, 400 : 400 + SIDE_PX] = True
    window = np.s_[400 + row : 400 + row + height, 400 + column : 400 + column + width]
    np.testing.assert_array_equal(known, there[window])
    np.testing.assert_array_equal(values, padded[(slice(None), *window)])


@pytest.mark.parametrize("max_bytes", [1, 1 << 20])
def test_the_cache_is_bounded_and_what_it_holds_is_not_read_again(desk, monkeypatch, max_bytes):
    monkeypatch.setattr(image_windows, "SQUARE_PX", 64)
    monkeypatch.setattr(image_windows, "MAX_BYTES", max_bytes)
    reads = []

    class Counted:
        grid, own_grid, name, indexes, dtype = desk.grid, desk.grid, "counted", [1, 2, 3], np.dtype(np.uint8)

        def read(self, *window):
            reads.append(window)
            return np.ones((3, window[3], window[2]), dtype=np.uint8), np.ones((window[3], window[2]), dtype=bool)

    windows = ImageWindows(Counted())
    for _ in range(3):
        windows.read(0, 0, SIDE_PX, SIDE_PX)
    assert len(reads) == (9 if max_bytes > 9 * 4 * 64 * 64 else 27)
