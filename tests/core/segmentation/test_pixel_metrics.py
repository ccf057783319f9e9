import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from training_core.segmentation.pixel_metrics import Confusion, Scores, Tally, relaxed_matches


def relaxed_counts(*arguments):
    return relaxed_matches(*arguments).counts()


truths = arrays(np.uint8, (8, 9), elements=st.sampled_from([0, 1, 255]))
probabilities = arrays(np.uint8, (8, 9), elements=st.integers(0, 255))
masks = arrays(bool, (8, 9))


def confusion_of(probability, truth):
    confusion = Confusion()
    confusion.add(np.asarray(probability, np.uint8), np.asarray(truth, np.uint8))
    return confusion


def test_scores_by_hand():
    # predicted: three, two of them true; true: four; one pixel is ignored
    confusion = confusion_of([254, 200, 140, 100, 0, 254], [1, 1, 0, 1, 1, 255])
    assert confusion.scores(0.5) == Scores(iou=2 / 5, f1=4 / 7, precision=2 / 3, recall=2 / 4)
    assert confusion.count == 5


def test_no_road_at_all_is_found_perfectly_only_by_predicting_none():
    assert confusion_of([0, 0], [0, 0]).scores(0.5).f1 == 1
    assert confusion_of([254, 0], [0, 0]).scores(0.5).f1 == 0
    assert confusion_of([0, 0], [1, 0]).scores(0.5).f1 == 0


@given(probabilities, truths, st.integers(0, 254))
def test_scores_equal_their_definition_at_every_threshold(probability, truth, level):
    mask, known = probability >= level, (truth != 255) & (probability != 255)
    hits, union = (mask & (truth == 1) & known).sum(), ((mask | (truth == 1)) & known).sum()
    assert confusion_of(probability, truth).scores(level / 254).iou == pytest.approx(hits / union if union else 1)


@given(probabilities, truths, st.integers(0, 8))
def test_pieces_add_up_to_the_whole(probability, truth, row):
    pieces = confusion_of(probability[:row], truth[:row])
    pieces.add(probability[row:], truth[row:])
    assert pieces.sweep() == confusion_of(probability, truth).sweep()
    apart = confusion_of(probability[:row], truth[:row]) + confusion_of(probability[row:], truth[row:])
    assert apart.sweep() == pieces.sweep()


def test_a_shift_within_the_tolerance_is_forgiven_and_beyond_it_is_not():
    truth, mask = np.zeros((20, 20), np.uint8), np.zeros((20, 20), bool)
    truth[:, 5] = 1
    mask[:, 8] = True
    assert relaxed_counts(mask, truth, 1.5, (0.5, 0.5)).f1 == 1
    assert relaxed_counts(mask, truth, 1.4, (0.5, 0.5)).f1 == 0
    assert relaxed_counts(mask, truth, 1.5, (1.0, 0.1)).f1 == 0  # the shift is along columns


@given(masks, truths)
def test_a_tolerance_of_nothing_gives_the_strict_scores_and_more_is_never_worse(mask, truth):
    strict = confusion_of(np.where(mask, 254, 0), truth).scores(0.5)
    exact, near = (relaxed_counts(mask & (truth != 255), truth, tolerance_m, (1.0, 1.0)) for tolerance_m in (0, 2))
    assert (exact.precision, exact.recall) == pytest.approx((strict.precision, strict.recall))
    assert near.precision >= exact.precision and near.recall >= exact.recall


def test_empty_truth_and_empty_prediction():
    nothing, some = np.zeros((3, 3), bool), np.ones((3, 3), bool)
    assert relaxed_counts(nothing, nothing.astype(np.uint8), 1, (1, 1)).f1 == 1
    assert relaxed_counts(some, nothing.astype(np.uint8), 1, (1, 1)).f1 == 0
    assert relaxed_counts(nothing, some.astype(np.uint8), 1, (1, 1)).f1 == 0


@given(masks, truths, masks)
def test_parts_of_an_image_add_up_to_all_of_it(mask, truth, where):
    matches = relaxed_matches(mask, truth, 1.5, (1.0, 1.0))
    assert matches.counts(where) + matches.counts(~where) == matches.counts()


def test_a_tally_by_hand():
    probability = np.array([[254, 0, 0, 200, 30, 255]], np.uint8)
    truth = np.array([[1, 0, 0, 0, 255, 255]], np.uint8)
    mask = (probability >= 127) & (probability != 255)
    piece = Tally(confusion_of(probability, truth), relaxed_counts(mask, truth, 2.0, (1.0, 1.0)))
    scores = (piece + piece + Tally()).scores(0.5)
    assert (scores.pixels, scores.road_share) == (8, 0.25)
    assert scores.pixel == Scores(iou=0.5, f1=2 / 3, precision=0.5, recall=1.0)
    assert (scores.relaxed.precision, scores.relaxed.recall) == (0.5, 1.0)  # the false alarm is three pixels off
    assert Tally().scores(0.5).road_share == 0
