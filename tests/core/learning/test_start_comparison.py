import numpy as np
import pytest

from tests.core.support.labeled import labeled_image
from tests.core.support.towns import SIDE_PX, true_roads
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.learning.start_comparison import label_shift, relaxed_f1
from training_core.learning.validation import held_out_blocks

SEEN = np.where(true_roads(), 200, 20).astype(np.uint8)


def blocks_with(truth, block_px=96):
    """Return all blocks of a town with labels, and what a model that knows its roads sees in each."""
    image = labeled_image(np.full_like(truth, IGNORE), np.zeros((1, *truth.shape)), validation=truth, block_px=block_px)
    blocks = held_out_blocks([image], 0)
    return blocks, [SEEN[block.tile.destination] for block in blocks]


def moved(down, right):
    truth = np.full((SIDE_PX, SIDE_PX), IGNORE, np.uint8)
    rows, columns = (slice(max(0, by), SIDE_PX + min(0, by)) for by in (down, right))
    before = tuple(slice(max(0, -by), SIDE_PX - max(0, by)) for by in (down, right))
    truth[rows, columns] = np.where(true_roads(), ROAD, BACKGROUND).astype(np.uint8)[before]
    return truth


@pytest.mark.parametrize("shift", [(0, 0), (5, -3), (-24, 18)])
def test_labels_beside_the_roads_are_found_and_compared_where_they_belong(shift):
    blocks, seen = blocks_with(moved(*shift))
    assert label_shift(blocks, seen) == shift
    assert relaxed_f1(blocks, [each >= 100 for each in seen], shift) > 0.97
    assert relaxed_f1(blocks, [each >= 100 for each in seen], (0, 0)) < 0.9 or shift == (0, 0)


def within(rows, columns, truth):
    """Return the labels of a window alone."""
    labels = np.full_like(truth, IGNORE)
    labels[rows, columns] = truth[rows, columns]
    return labels


@pytest.mark.parametrize(
    "truth",
    {
        "of too little road": within(slice(90, 108), slice(60, 78), moved(10, 12)),
        "within the tolerance of a drawing": moved(2, 1),
        "farther off than is looked for": moved(45, 0),
        "inverted": np.where(true_roads(), BACKGROUND, ROAD).astype(np.uint8),
        "anywhere": np.random.default_rng(0).integers(0, 2, (SIDE_PX, SIDE_PX), np.uint8),
        "no road at all": np.full((SIDE_PX, SIDE_PX), BACKGROUND, np.uint8),
    }.values(),
)
def test_other_labels_are_not_offset(truth):
    assert label_shift(*blocks_with(truth)) == (0, 0)
