"""Bytes of probability: how they come about, and which reach a threshold."""

import numpy as np
import pytest

from training_core.geodata.pixel_codes import CERTAIN, NO_DATA, lowest_byte, reaches, to_byte, to_mask

BYTES = np.arange(256, dtype=np.uint8)


@pytest.mark.parametrize("decimals", [6, 8, 17])
def test_a_byte_reaches_the_threshold_that_stands_for_it_though_rounded(decimals):
    for byte in range(CERTAIN + 1):
        threshold = round(byte / CERTAIN, decimals)
        assert lowest_byte(threshold) == byte
        np.testing.assert_array_equal(reaches(BYTES, threshold), (byte <= BYTES) & (BYTES <= CERTAIN))


def test_bytes_and_the_numbers_that_they_stand_for_reach_the_same_thresholds_and_no_data_none():
    for percent in range(101):
        exact = np.array([100 * byte >= percent * CERTAIN for byte in range(CERTAIN + 1)])
        np.testing.assert_array_equal(reaches(BYTES[: CERTAIN + 1], percent / 100), exact)
        np.testing.assert_array_equal(reaches(BYTES[: CERTAIN + 1] / np.float32(CERTAIN), percent / 100), exact)
    assert not reaches(np.array([NO_DATA], dtype=np.uint8), 0.0).any()
    assert not reaches(np.array([np.nan], dtype=np.float32), 0.0).any()


def test_probability_becomes_bytes_and_a_mask():
    probability = to_byte(np.array([[0.0, 0.5, 1.0, 0.7]]), np.array([[True, True, True, False]]))
    np.testing.assert_array_equal(probability, [[0, 127, 254, NO_DATA]])
    np.testing.assert_array_equal(to_mask(probability, 0.5), [[0, 1, 1, NO_DATA]])
