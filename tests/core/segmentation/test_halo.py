import numpy as np
import pytest
import torch
from torch import nn

from tests.core.support.towns import image_of
from training_core.geodata.pixel_codes import to_byte, to_mask
from training_core.geodata.rasters import Band
from training_core.geodata.tiling import tile_grid
from training_core.models.engines import NativeEngine
from training_core.models.loading import load_network
from training_core.segmentation.inference import Predictor
from training_core.segmentation.measured import (
    AGREEMENT,
    CORE_PX,
    SAMPLE_PX,
    SAMPLES,
    WIDEST_PX,
    middles,
    sufficient_halo_px,
)


class Looking(nn.Module):
    """Road is where the brightest pixel within a distance, along rows and columns, is brighter than the mean."""

    def __init__(self, distance_px):
        super().__init__()
        side_px = 2 * distance_px + 1
        down = nn.MaxPool2d((side_px, 1), stride=1, padding=(distance_px, 0))
        self.window = nn.Sequential(down, nn.MaxPool2d((1, side_px), stride=1, padding=(0, distance_px)))

    def forward(self, images):
        return 10 * self.window(images)


def predictor_of(unet):
    return Predictor(unet, NativeEngine("fp32"), (Band("gray"),))


def samples(share, size_px=320):
    """Dark ground with a share of bright pixels."""
    random = np.random.default_rng(0)
    for _ in range(2):
        values = np.where(random.random((1, size_px, size_px)) < share, 1.0, -1.0).astype("float32")
        yield values, np.ones((size_px, size_px), bool)


@pytest.mark.parametrize("distance_px, halo_px", [(0, 32), pytest.param(20, 32, marks=pytest.mark.slow), (40, 64)])
def test_the_halo_holds_the_context_that_matters(distance_px, halo_px):
    rare = 1 / (2 * distance_px + 1) ** 2  # so that about half of the pixels see a bright one
    assert sufficient_halo_px(predictor_of(Looking(distance_px)), samples(rare), 0.5) == halo_px


def test_what_lies_far_away_but_changes_nothing_needs_no_halo():
    """Where bright pixels are so many that everyone sees one near by, the farther ones do not count."""
    assert sufficient_halo_px(predictor_of(Looking(40)), samples(0.05), 0.5) == 32


def test_where_nothing_suffices_it_is_the_widest():
    class Total(nn.Module):
        def forward(self, images):
            return (images.mean(dim=(2, 3), keepdim=True) * 1e4).expand_as(images)

    halves = np.ones((1, 1344, 64), "float32")
    halves[:, 700:] = -1  # one part has the one sign, the other the other
    assert sufficient_halo_px(predictor_of(Total()), [(halves, np.ones((1344, 64), bool))], 0.5) == WIDEST_PX


def test_unknown_ground_and_tiny_images_do_not_count():
    known = np.zeros((200, 200), bool)
    assert sufficient_halo_px(predictor_of(Looking(40)), [(np.ones((1, 200, 200)), known)], 0.5) == 32
    assert sufficient_halo_px(predictor_of(Looking(40)), [(np.ones((1, 20, 20)), known[:20, :20])], 0.5) == 32
    assert sufficient_halo_px(predictor_of(Looking(40)), [], 0.5) == 32


def test_samples_are_the_middles_of_the_largest_images():
    columns = [np.broadcast_to(np.arange(width), (1, 40, width)) for width in (50, 3000, 2000, 1500)]
    found = list(middles((values, np.ones(values.shape[1:], bool)) for values in columns))
    assert [values.shape for values, _ in found] == [(1, 40, SAMPLE_PX)] * SAMPLES
    assert [values[0, 0, 0] for values, _ in found] == [(width - SAMPLE_PX) // 2 for width in (3000, 2000, 1500)]
    assert all(known.shape == values.shape[1:] for values, known in found)


@pytest.mark.parametrize(
    ("most_px", "count", "side_px"),
    [(1e9, 3, SAMPLE_PX), (4 * 3 * 800**2, 3, 800), (4 * 2 * 448**2, 2, 448), (4 * 448**2, 1, 448), (4 * 440**2, 0, 0)],
)
def test_samples_become_smaller_then_fewer_where_less_may_be_computed(most_px, count, side_px):
    image = np.zeros((1, 2000, 2000), np.uint8), np.ones((2000, 2000), bool)
    found = list(middles([image] * 4, most_px))
    assert [known.shape for _, known in found] == [(side_px, side_px)] * count
    assert sum(4 * known.size for _, known in found) <= most_px


@pytest.mark.slow
def test_a_trained_model_keeps_that_share_of_its_mask(learned, town):
    """On ground that was not sampled, in the tiles for which the halo was found."""
    unet, card = load_network(learned.model)
    predictor = Predictor(unet, NativeEngine("fp32"), card.bands)
    image = np.tile(image_of(town.truth, seed=5), (1, 4, 7))[:, :512, : CORE_PX + 256]
    known = np.ones(image.shape[1:], bool)
    with torch.inference_mode():
        whole = to_mask(to_byte(predictor.probability(image, known), known), card.threshold)
        same = total = 0
        for tile in tile_grid(known.shape[1], known.shape[0], CORE_PX, card.halo_px):
            column, row, width, height = tile.read_window
            window = np.s_[row : row + height, column : column + width]
            part = predictor.probability(image[(slice(None), *window)], known[window])[tile.core]
            mask = to_mask(to_byte(part, known[tile.destination]), card.threshold)
            same += (mask == whole[tile.destination]).sum()
            total += mask.size
    assert card.halo_px >= 32 and card.halo_px % 32 == 0
    assert same / total >= AGREEMENT
