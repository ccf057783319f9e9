"""Completeness and correctness from judged places: closed forms, coverage of intervals, and answers of people."""

import math

import numpy as np
import pytest

from benchmarks.accuracy_intervals import coverage, judged_verdicts
from training_core.errors import JobError
from training_core.jobs.accuracy import place_of
from training_core.jobs.accuracy_estimates import CROSSING, SAMPLED, Place, estimate


def places(right, wrong, *crossings, size_m=1000.0):
    return [
        *[Place(SAMPLED, "all", size_m, 20.0, 1)] * right,
        *[Place(SAMPLED, "all", size_m, 20.0, 0)] * wrong,
        *[Place(CROSSING, "all", 1e5, 50.0, each) for each in crossings],
    ]


def test_one_stratum_has_wilsons_interval_and_the_length_of_buffons_needle():
    """Wilson's limits of 18 in 20 by hand; 3 crossings on 15 transects of 50 m in 10 ha are pi / 2 * 1e5 * 0.2 / 50."""
    found = estimate(places(18, 2, *[1] * 3, *[0] * 12))
    assert found.correctness.value == 0.9
    z, n, p = 1.959964, 20, 0.9
    half = z * math.sqrt(p * (1 - p) / n + z**2 / 4 / n**2) / (1 + z**2 / n)
    assert found.correctness.margin == pytest.approx(half, rel=0.1)
    assert found.missed_m.value == pytest.approx(math.pi / 2 * 1e5 * 0.2 / 50)
    assert found.completeness.value == pytest.approx(900 / (900 + found.missed_m.value))
    p, c = found.correctness.value, found.completeness.value
    assert found.f1.value == pytest.approx(2 * p * c / (p + c))
    assert not found.is_enough and found.more > 0


def test_without_any_error_the_limits_are_below_one():
    found = estimate(places(60, 0, *[0] * 60, size_m=20_000.0))
    assert found.correctness.value == found.completeness.value == found.f1.value == 1
    assert 0.9 < found.correctness.low < 0.97 and 0.9 < found.completeness.low < 1


def test_too_few_places_give_the_number_needed():
    found = estimate([*places(4, 0, 0, 0), Place(SAMPLED, "all", 1000.0, 20.0, None)])
    assert (found.judged, found.undecided, found.needed, found.completeness) == (6, 1, 14, None)


@pytest.mark.parametrize(("is_stratified", "is_clustered"), [(False, False), (True, False), (True, True)])
def test_intervals_hold_the_truth(is_stratified, is_clustered):
    random, truth = np.random.default_rng(7), (0.9, 0.9)
    results = [(judged_verdicts(120, truth, is_stratified, is_clustered, random), truth) for _ in range(300)]
    held = coverage(results)[:3]
    assert all(0.91 <= each <= 0.99 for each in held)


GOOD = {"change": "sampled", "review": "accepted", "stratum": "likely", "stratum_size": 900.0, "length_m": 20.0}


@pytest.mark.parametrize(
    ("values", "answer"),
    [({}, 1), ({"review": "no"}, 0), ({"review": None}, None), ({"change": "crossing", "review": "2"}, 2)],
)
def test_answers_are_understood(values, answer):
    assert place_of({**GOOD, **values}).answer == answer


@pytest.mark.parametrize(
    "values",
    [
        {"review": "perhaps"},
        {"change": "crossing", "review": "accepted"},
        {"change": "crossing", "review": "1.5"},
        {"change": "lost"},
        {"stratum_size": float("nan")},
        {"stratum_size": -1},
        {"length_m": None},
    ],
)
def test_other_values_are_refused(values):
    with pytest.raises(JobError):
        place_of({**GOOD, **values})
