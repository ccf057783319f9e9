from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import training_core.learning.chips
import training_core.system.large_arrays
from tests.core.support.labeled import labeled_image
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.learning.chips import ChipSampler, prefetch

MARK = 1000.0


def image(training, values=None, bands=1, known=None):
    """An image of given labels; where no values are given, it shows a mark wherever there is road."""
    training = np.asarray(training, np.uint8)
    height, width = training.shape
    if values is None:
        values = np.broadcast_to(np.where(training == ROAD, MARK, 0), (bands, height, width)).astype(np.float32)
    return labeled_image(training, values, **({} if known is None else {"known": known}))


def with_road(height=200, width=300, row=90):
    training = np.zeros((height, width), np.uint8)
    training[row : row + 6] = ROAD
    return training


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=30, deadline=None)
def test_image_and_label_are_turned_together(seed):
    training = with_road()
    training[20:40, 130:133] = ROAD  # so that no turn or mirror image is like another
    chips, labels = ChipSampler([image(training, bands=2)], 64, seed).batch(0, 8)
    for chip, label in zip(chips, labels):
        for band in chip:
            np.testing.assert_array_equal(band > MARK / 3, label == ROAD)


def test_all_eight_symmetries_are_drawn():
    rows, columns = np.mgrid[:64, :64]
    values = np.stack([rows, columns]).astype(np.float32) * 100
    training = with_road(64, 64, 30)
    chips, _ = ChipSampler([image(training, values)], 64, 0).batch(0, 100)
    seen = set()
    for chip in chips:
        down, across = chip[:, -1, 0] - chip[:, 0, 0], chip[:, 0, -1] - chip[:, 0, 0]
        seen.add((*np.sign(np.rint(down / 3000)), *np.sign(np.rint(across / 3000))))
    assert len(seen) == 8


def test_of_very_many_pixels_all_parts_are_still_drawn(monkeypatch):
    monkeypatch.setattr(training_core.learning.chips, "MAX_CENTERS", 50)
    monkeypatch.setattr(training_core.system.large_arrays, "STRIP_PX", 5000)
    training = with_road(400, 300, 0)
    training[394:] = ROAD
    sampler = ChipSampler([image(training)], 32, 0)
    _, labels = sampler.batch(0, 600)
    road = labels[(labels == ROAD).any(axis=(1, 2))]
    assert 0.5 <= len(road) / 600 < 0.65 and (labels == BACKGROUND).all(axis=(1, 2)).any()
    values = np.broadcast_to(np.arange(400, dtype=np.float32)[:, None] * 100, (1, 400, 300))
    chips, _ = ChipSampler([image(training, values)], 32, 0).batch(0, 600)
    middle = chips.mean(axis=(1, 2, 3))
    assert np.histogram(middle, bins=8, range=(0, 40_000))[0].min() > 20


def test_half_of_the_chips_have_road_near_their_center():
    training = np.zeros((2000, 2000), np.uint8)
    training[1000:1004, 1000:1004] = ROAD
    _, labels = ChipSampler([image(training)], 64, 0).batch(0, 400)
    near = np.array([(label[15:50, 15:50] == ROAD).any() for label in labels])
    assert 0.4 < near.mean() < 0.6


def test_the_rest_is_drawn_from_all_labeled_ground_and_nowhere_else():
    training = np.full((1000, 1000), IGNORE, np.uint8)
    training[100:200, 100:200] = BACKGROUND
    training[800:900, 800:900] = BACKGROUND
    training[850, 850] = ROAD
    _, labels = ChipSampler([image(training)], 64, 0).batch(0, 400)
    assert all((label != IGNORE).any() for label in labels)
    without_road = np.mean([(label == BACKGROUND).any() and not (label == ROAD).any() for label in labels])
    assert 0.25 < without_road < 0.55


def test_images_are_drawn_by_what_is_labeled_in_them():
    large, small = with_road(400, 400), with_road(100, 400)
    values = [np.full((1, *training.shape), mark, np.float32) for training, mark in ((large, 5000), (small, -5000))]
    chips, _ = ChipSampler([image(large, values[0]), image(small, values[1])], 64, 0).batch(0, 400)
    from_large = (chips.mean(axis=(1, 2, 3)) > 0).mean()
    assert 0.55 < from_large < 0.75  # half of them by road, 1 : 1; half by labels, 4 : 1


@pytest.mark.parametrize("shape", [(20, 200), (200, 20), (20, 20), (1, 1), (63, 64)])
def test_an_image_smaller_than_a_chip_is_padded_with_what_is_ignored(shape):
    training = np.zeros(shape, np.uint8)
    training[0, 0] = ROAD
    chips, labels = ChipSampler([image(training)], 64, 0).batch(0, 10)
    assert chips.shape == (10, 1, 64, 64)
    inside = min(shape[0], 64) * min(shape[1], 64)
    for chip, label in zip(chips, labels):
        assert (label != IGNORE).sum() == inside
        np.testing.assert_array_equal(chip[0] > MARK / 3, label == ROAD)


def test_chips_at_an_edge_are_moved_inside():
    training = np.zeros((200, 200), np.uint8)
    training[0, 0] = training[-1, -1] = ROAD
    _, labels = ChipSampler([image(training)], 64, 0).batch(0, 100)
    assert (labels != IGNORE).all()


def test_a_batch_is_its_number_whatever_was_drawn_before():
    images = [image(with_road()), image(with_road(100, 100, 20))]
    sampler = ChipSampler(images, 64, 7)
    batches = [sampler.batch(number, 3) for number in range(6)]
    assert len({chips.tobytes() for chips, _ in batches}) == 6
    assert any((ChipSampler(images, 64, 8).batch(number, 3)[0] != batches[number][0]).any() for number in range(3))
    for number in (4, 0, 4):
        chips, labels = ChipSampler(images, 64, 7).batch(number, 3)
        np.testing.assert_array_equal(chips, batches[number][0])
        np.testing.assert_array_equal(labels, batches[number][1])


def test_a_chip_is_the_same_with_or_without_others():
    sampler = ChipSampler([image(with_road()), image(with_road(100, 100, 20))], 64, 7)
    chips, labels = sampler.batch(2, 6)
    own_chips, own_labels = sampler.batch(2, 6, assigned=[1, 4])
    np.testing.assert_array_equal(own_chips, chips[[1, 4]])
    np.testing.assert_array_equal(own_labels, labels[[1, 4]])
    no_chips, same_labels = sampler.batch(2, 6, [1, 4], has_images=False)
    assert no_chips.shape == (0, *chips.shape[1:])
    np.testing.assert_array_equal(same_labels, own_labels)


def test_batches_drawn_ahead_are_the_same():
    expected = ChipSampler([image(with_road())], 64, 3)
    with closing(prefetch(ChipSampler([image(with_road())], 64, 3), 2, first=5)) as batches:
        for number in range(5, 15):
            for found, same in zip(next(batches), expected.batch(number, 2)):
                np.testing.assert_array_equal(found, same)
