import dataclasses

import numpy as np
import pytest
import torch

from tests.core.support.labeled import labeled_image
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.geodata.rasters import Band
from training_core.labels.training_images import split_for_validation
from training_core.learning.validation import MIN_BLOCKS, blocks_within, held_out_blocks, validate
from training_core.segmentation.inference import Predictor


class Echo:
    """An engine whose probability of road is the brightness, and whose second class is likelier where it is bright."""

    def __init__(self, channels=1):
        self.px, self._channels = 0, channels

    def probability(self, prepared, images):
        self.px += images[:, 0].numel()
        channels = [images[:, :1]] if self._channels == 1 else [images[:, :1], 1 - images[:, :1], images[:, :1]]
        return torch.cat(channels, dim=1)


@pytest.fixture
def image():
    """A wide image with a road along its middle, as bright as probability can tell, and some road that is not seen."""
    truth = np.full((256, 1024), BACKGROUND, np.uint8)
    truth[120:140] = ROAD
    values = (truth == ROAD).astype(np.float32)[None]
    values[:, 130:140] = 0
    return labeled_image(truth, values)


def predictor(engine):
    return Predictor(None, engine, ())


def test_all_held_out_pixels_and_no_others_are_scored(image):
    (split,) = split_for_validation([image], 0.25, 64, 0)
    blocks = held_out_blocks([split], 0)
    found = validate(predictor(Echo()), blocks)
    assert found.confusion.count == (split.validation != IGNORE).sum() and found.blocks == len(blocks)
    assert found.confusion.scores(0.5).recall == pytest.approx(0.5) and found.confusion.scores(0.5).precision == 1
    assert sum((split.validation[block.tile.destination] != IGNORE).sum() for block in blocks) == found.confusion.count


def test_every_beginning_of_the_blocks_is_a_fair_sample(image):
    (split,) = split_for_validation([image], 0.5, 32, 0)
    has_road = np.array(
        [(split.validation[block.tile.destination] == ROAD).any() for block in held_out_blocks([split], 3)]
    )
    assert has_road[0] and has_road.sum() >= 8
    shares = has_road.cumsum() / np.arange(1, len(has_road) + 1)
    assert np.abs(shares[7:] - has_road.mean()).max() < 0.1


def test_the_time_limit_leaves_the_fewest_and_the_same_first_blocks(image):
    (split,) = split_for_validation([image], 0.5, 32, 0)
    blocks = held_out_blocks([split], 0)
    few = validate(predictor(Echo()), blocks, limit_s=0.0)
    same = validate(predictor(Echo()), blocks[: few.blocks], fewest=few.blocks, limit_s=0.0)
    assert MIN_BLOCKS <= few.blocks < len(blocks) and few.px < sum(block.px for block in blocks)
    assert few.confusion.counts() == same.confusion.counts()


def test_blocks_within_a_number_of_pixels(image):
    (split,) = split_for_validation([image], 0.5, 32, 0)
    blocks = held_out_blocks([split], 0)
    most_px = sum(block.px for block in blocks[:10])
    assert blocks_within(blocks, most_px) == 10 and blocks_within(blocks, most_px - 1) == 9
    assert blocks_within(blocks, 0) == MIN_BLOCKS and blocks_within(blocks, 10**9) == len(blocks)
    assert blocks_within(blocks[:2], 0) == 2


def test_road_pixels_of_the_right_class_are_counted(image):
    (split,) = split_for_validation([image], 0.25, 64, 0)
    classes = np.zeros(image.training.shape, np.uint8)
    classes[120:135] = 2  # bright, and so recognized, down to row 130
    found = validate(predictor(Echo(3)), held_out_blocks([dataclasses.replace(split, classes=classes)], 0))
    assert found.class_total == ((split.validation == ROAD) & (classes == 2)).sum() > 0
    assert found.class_hits == pytest.approx(found.class_total * 2 / 3)


def test_images_are_normalized_each_by_its_own_bands(image):
    dark = dataclasses.replace(image, values=image.values * 0.1, bands=(Band("gray", 0.0, 0.1),), name="b.tif")
    splits = split_for_validation([image, dark], 0.25, 64, 0)
    assert validate(predictor(Echo()), held_out_blocks(splits, 0)).confusion.scores(0.5).recall == pytest.approx(0.5)
