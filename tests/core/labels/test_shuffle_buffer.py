"""The shuffle buffer: which parts of many images are at hand for a batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.labeled import labeled_image
from training_core.geodata.pixel_codes import BACKGROUND, ROAD
from training_core.labels.labeled_images import ImagePart
from training_core.labels.training_images import BATCHES_PER_EXCHANGE, ITEMS_AT_HAND, ShuffleBuffer
from training_core.learning.chips import ChipSampler, source_of


def image(value, name="image.tif", px=40):
    training = np.full((px, px), BACKGROUND, np.uint8)
    training[px // 2] = ROAD
    return labeled_image(training, np.full((1, px, px), value, np.float32), name=name)


def parts_of(count):
    grid = image(0).grid
    return [ImagePart(f"{number}.tif", {1: "band 1"}, 1.0, grid) for number in range(count)]


def buffer_of(count, seed=0, read=lambda part: image(0, part.path)):
    return ShuffleBuffer(parts_of(count), read, seed)


@given(st.integers(1, 30), st.integers(0, 5))
@settings(deadline=None)
def test_each_part_has_its_turn_once_in_a_round(count, seed):
    buffer = buffer_of(count, seed)
    newest = [buffer.at_hand(turn * BATCHES_PER_EXCHANGE)[-1].name for turn in range(2 * count)]
    assert sorted(newest[:count]) == sorted(newest[count:]) == sorted(part.path for part in parts_of(count))


def test_what_is_at_hand_depends_on_the_batch_alone():
    walked = buffer_of(30)
    for batch in range(78):
        there = walked.at_hand(batch)
        assert len(there) == min(ITEMS_AT_HAND, 1 + batch // BATCHES_PER_EXCHANGE)
    jumped = buffer_of(30).at_hand(77)
    names, others = ([image.name for image in each] for each in (jumped, buffer_of(30, seed=1).at_hand(77)))
    assert [image.name for image in there] == names != others


def test_parts_at_hand_stand_for_all_and_those_without_labels_for_nothing():
    buffer = buffer_of(30, read=lambda part: image(0) if int(part.path[0]) % 2 else None)
    late = 20 * BATCHES_PER_EXCHANGE
    assert buffer.weight(0) == 30 and buffer.weight(late) == 30 / ITEMS_AT_HAND
    assert 0 < len(buffer.at_hand(late)) < ITEMS_AT_HAND


def test_chips_are_drawn_from_the_others_as_often_as_there_are_more_of_them():
    # Two images in memory and eighteen others, all alike: one chip in ten is of those in memory.
    sampler = ChipSampler([image(1.0)] * 2, 32, 0, buffer_of(18, read=lambda part: source_of(image(-1.0))))
    chips = np.concatenate([sampler.batch(number, 20)[0] for number in range(100)])
    in_memory = np.mean([chip.mean() > 0 for chip in chips])
    assert in_memory == pytest.approx(0.1, abs=0.03)
