import numpy as np
import pytest

from training_core.segmentation.inference import SYMMETRIES, turned, turned_back


@pytest.mark.parametrize("symmetry", SYMMETRIES)
def test_what_is_turned_can_be_turned_back(symmetry):
    array = np.arange(2 * 3 * 5).reshape(2, 3, 5)
    np.testing.assert_array_equal(turned_back(turned(array, symmetry), symmetry), array)
    assert np.shares_memory(turned(array, symmetry), array)


def test_there_are_eight_of_them_and_the_first_changes_nothing():
    array = np.arange(9).reshape(3, 3)
    assert len({turned(array, symmetry).tobytes() for symmetry in SYMMETRIES}) == 8
    np.testing.assert_array_equal(turned(array, 0), array)
