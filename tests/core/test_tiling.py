import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training_core.engines import Engine
from training_core.imagery import Band
from training_core.inference import NO_DATA, Predictor, predict_tiles, to_byte, to_mask
from training_core.model import Architecture, build_network
from training_core.tiling import EXACT_HALO_PX, halo_px, overhead, tile_grid

sizes = st.integers(1, 3000)


@given(sizes, sizes, st.integers(1, 32), st.integers(0, 20))
def test_cores_cover_every_pixel_once_and_tiles_begin_at_the_stride(width, height, core, halo):
    core_px, halo_px_ = 32 * core, 32 * halo
    covered = np.zeros((height, width), np.uint8)
    for tile in tile_grid(width, height, core_px, halo_px_):
        covered[tile.destination] += 1
        column, row, read_width, read_height = tile.read_window
        assert column % 32 == 0 and row % 32 == 0
        assert column >= 0 and column + read_width <= width and row >= 0 and row + read_height <= height
        assert tile.left == min(halo_px_, tile.column) and tile.right == min(halo_px_, width - tile.column - tile.width)
    assert (covered == 1).all()


def test_overhead_is_what_the_halo_costs():
    assert overhead(tile_grid(1000, 1000, 1000, 64)) == 1.0
    assert overhead(tile_grid(2048, 1024, 1024, 128)) == pytest.approx((1024 + 128) / 1024)


def test_halo_words_and_numbers():
    assert halo_px("exact") == EXACT_HALO_PX and halo_px("100") == 128 and halo_px("0") == 0
    assert halo_px("auto") % 32 == 0


class Reader:
    """Reads windows of an array as an image does."""

    def __init__(self, values):
        self.values = values

    def __call__(self, column, row, width, height):
        window = np.s_[row : row + height, column : column + width]
        return self.values[(slice(None), *window)], np.ones((height, width), bool)


@pytest.fixture(scope="module")
def predictor():
    torch.manual_seed(0)
    network = build_network(Architecture(in_channels=1)).eval()
    return Predictor(network, Engine("native", "fp32"), (Band("gray", 128.0, 60.0),))


def stitched(predictor, values, core_px, halo):
    result = np.zeros(values.shape[1:], np.float32)
    read = Reader(values)
    for tile in tile_grid(values.shape[2], values.shape[1], core_px, halo):
        result[tile.destination] = predictor.probability(*read(*tile.read_window))[tile.core]
    return result


def test_with_the_exact_halo_no_seam_shows_and_with_less_it_does(predictor):
    values = np.random.default_rng(0).integers(0, 255, (1, 77, 1250)).astype("uint8")
    whole = predictor.probability(values, np.ones(values.shape[1:], bool))
    assert np.abs(stitched(predictor, values, 640, EXACT_HALO_PX) - whole).max() < 1e-5
    assert np.abs(stitched(predictor, values, 640, 64) - whole).max() > 1e-5


def test_a_single_pixel_has_a_probability(predictor):
    assert stitched(predictor, np.full((1, 1, 1), 9, "uint8"), 512, 128).shape == (1, 1)


def test_tiles_come_in_order_and_pieces_without_data_are_not_computed(predictor):
    values = np.full((1, 64, 96), 100, "uint8")

    def read(column, row, width, height):
        known = np.ones((height, width), bool)
        known[:, : max(0, 32 - column)] = False
        return values[:, row : row + height, column : column + width], known

    tiles = list(tile_grid(96, 64, 32, 0))
    results = list(predict_tiles(predictor, read, tiles))
    assert [tile for tile, _ in results] == tiles
    for tile, probability in results:
        assert (probability == NO_DATA).all() == (tile.column == 0)


def test_bytes_and_masks_keep_no_data():
    probability = to_byte(np.array([[0.0, 0.5, 1.0, 0.7]]), np.array([[True, True, True, False]]))
    np.testing.assert_array_equal(probability, [[0, 127, 254, NO_DATA]])
    np.testing.assert_array_equal(to_mask(probability, 0.5), [[0, 1, 1, NO_DATA]])
