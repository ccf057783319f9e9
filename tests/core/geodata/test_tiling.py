import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training_core.geodata.pixel_codes import NO_DATA
from training_core.geodata.rasters import Band
from training_core.geodata.tiling import tile_count, tile_grid
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import NativeEngine
from training_core.segmentation.inference import (
    SYMMETRIES,
    Predictor,
    padded_size,
    predict_pieces,
    predict_tiles,
    read_piece,
    turned,
    turned_back,
)

sizes = st.integers(1, 3000)
EXACT_PX = 288  # of a ResNet18-UNet, as test_receptive_field measures it


@given(sizes, sizes, st.integers(1, 32), st.integers(0, 20), st.data())
def test_tiles_of_a_window_cover_just_that_in_one_size_which_is_not_too_large(width, height, core, halo, data):
    column, row = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    window_width = data.draw(st.integers(1, width - column))
    window = (column, row, window_width, data.draw(st.integers(1, height - row)))
    tiles = list(tile_grid(width, height, 32 * core, 32 * halo, window))
    covered = np.zeros((height, width), np.uint8)
    for tile in tiles:
        covered[tile.destination] += 1
        left, top, read_width, read_height = tile.read_window
        assert left % 32 == 0 and top % 32 == 0
        assert left >= 0 and left + read_width <= width and top >= 0 and top + read_height <= height
        assert tile.left >= min(32 * halo, tile.column) and tile.top >= min(32 * halo, tile.row)
        assert tile.right >= min(32 * halo, width - tile.column - tile.width)
        assert tile.bottom >= min(32 * halo, height - tile.row - tile.height)
    assert (covered[row : row + window[3], column : column + window_width] == 1).all()
    assert covered.sum() == window_width * window[3]
    assert tile_count(width, height, 32 * core, 32 * halo, window) == len(tiles)
    sizes_ = {padded_size(tile.read_window[:1:-1]) for tile in tiles}
    assert len(sizes_) == 1 and max(max(sizes_)) <= 32 * (core + 2 * halo)


class Reader:
    """Reads windows of an array as an image does."""

    def __init__(self, values):
        self.values = values

    def __call__(self, column, row, width, height):
        window = np.s_[row : row + height, column : column + width]
        return self.values[(slice(None), *window)], np.ones((height, width), bool)


def predictor_of(encoder):
    torch.manual_seed(0)
    unet = build_network(Architecture(encoder=encoder, in_channels=1)).eval()
    return Predictor(unet, NativeEngine("fp32"), (Band("gray", 128.0, 60.0),))


@pytest.fixture(scope="module")
def predictor():
    return predictor_of("resnet18")


def whole(predictor, values):
    return predictor.probability(values, np.ones(values.shape[1:], bool))


def stitched(predictor, values, core_px, halo):
    result = np.zeros(values.shape[1:], np.float32)
    read = Reader(values)
    for tile in tile_grid(values.shape[2], values.shape[1], core_px, halo):
        result[tile.destination] = predictor.probability(*read(*tile.read_window))[tile.core]
    return result


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 255, (1, height, width)).astype("float32")


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 900), st.integers(1, 70), st.integers(1, 12), st.booleans(), st.integers(0, 99))
def test_with_the_exact_halo_no_seam_shows_whatever_the_size(predictor, long, short, core, is_tall, seed):
    values = noise(long, short, seed) if is_tall else noise(short, long, seed)
    assert np.abs(stitched(predictor, values, 32 * core, EXACT_PX) - whole(predictor, values)).max() < 1e-5


def test_tiles_come_in_order_and_pieces_without_data_are_not_computed(predictor):
    values = np.full((1, 64, 96), 100, "uint8")

    def read(column, row, width, height):
        known = np.ones((height, width), bool)
        known[:, : max(0, 32 - column)] = False
        return values[:, row : row + height, column : column + width], known

    tiles = list(tile_grid(96, 64, 32, 0))
    results = list(predict_tiles(predictor, read, tiles))
    assert [tile for tile, _ in results] == tiles
    for tile, found in results:
        assert (found.probability == NO_DATA).all() == (tile.column == 0)


def test_pieces_of_one_size_are_computed_together_and_give_the_same(predictor):
    """Of several images, too: here three with tiles of two sizes."""
    images = [noise(64, 96, 1), noise(64, 96, 2), noise(40, 96, 3)]
    pieces = [
        read_piece(tile, Reader(image), predictor.bands, source=number)
        for number, image in enumerate(images)
        for tile in tile_grid(96, image.shape[1], 64, 0)
    ]
    alone = {(piece.source, piece.tile): found.probability for piece, found in predict_pieces(predictor, pieces, 0)}
    together = list(predict_pieces(predictor, pieces, 10**6))
    assert [piece for piece, _ in together] == pieces
    for piece, found in together:
        assert np.abs(found.probability.astype(int) - alone[piece.source, piece.tile]).max() <= 1  # of 254


def test_looking_from_all_sides_gives_the_mean_and_the_same_from_any(predictor):
    all_sides = Predictor(predictor.model, predictor.engine, predictor.bands, SYMMETRIES)
    values = noise(64, 96)
    mean = np.mean(
        [turned_back(whole(predictor, turned(values, symmetry)), symmetry) for symmetry in SYMMETRIES], axis=0
    )
    np.testing.assert_allclose(whole(all_sides, values), mean, atol=1e-5)
    turned_values = np.ascontiguousarray(turned(values, 5))
    np.testing.assert_allclose(whole(all_sides, turned_values), turned(mean, 5), atol=1e-5)
