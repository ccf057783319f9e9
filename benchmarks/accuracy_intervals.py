"""How often the 95 % intervals of Check accuracy hold the truth, by simulation.

Rows of `verdicts` simulate the answers of a stratified sample; missed roads are crossed one by one, or in clusters of
up to three. Rows of `lines` draw samples of random lines with false and missed ones, and count what transects cross.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import shapely

from training_core.comparison.accuracy_sample import cells_in, draw_sample
from training_core.jobs.accuracy import LENGTH, STRATUM, STRATUM_SIZE
from training_core.jobs.accuracy_estimates import CROSSING, SAMPLED, Accuracy, Place, estimate
from training_core.jobs.review import CHANGE
from training_core.networks.lines import make_lines

RESULT = Path(__file__).parent / "results" / "accuracy_intervals.csv"
NETWORK_M, AREA_M2, TRANSECT_M = 20_000.0, 1e6, 100.0
NAMES = ("completeness", "correctness", "f1")


def judged_verdicts(
    count: int, truth: tuple[float, float], is_stratified: bool, is_clustered: bool, random: np.random.Generator
) -> Accuracy:
    """Return the estimates from simulated answers for a completeness and correctness."""
    completeness, correctness = truth
    missed_m = correctness * NETWORK_M * (1 - completeness) / completeness
    # Fractions of length, of what is false, of area, and of what is missed, and the places of either kind.
    lengths, false, areas, missed = (
        ((0.3, 0.7), (0.78, 0.22), (0.08, 0.92), (0.45, 0.55)) if is_stratified else ((1.0,),) * 4
    )
    shares = ((0.5, 0.5), (0.25, 0.75)) if is_stratified else ((1.0,),) * 2
    places = []
    for number, (length, part, share) in enumerate(zip(lengths, false, shares[0])):
        right = random.random(round(count / 2 * share)) >= (1 - correctness) * part / length
        places += [Place(SAMPLED, str(number), length * NETWORK_M, 20.0, int(each)) for each in right]
    for number, (area, part, share) in enumerate(zip(areas, missed, shares[1])):
        mean = 2 * TRANSECT_M * missed_m * part / (math.pi * area * AREA_M2)
        transects = max(2, round(count / 2 * share))
        crossings = random.poisson(mean / 1.5 if is_clustered else mean, transects)
        if is_clustered:
            crossings = [random.choice([1, 2, 3], size=each, p=[0.6, 0.3, 0.1]).sum() for each in crossings]
        places += [Place(CROSSING, str(number), area * AREA_M2, TRANSECT_M, int(each)) for each in crossings]
    return estimate(places)


def judged_lines(
    count: int, truth: tuple[float, float], seed: int, random: np.random.Generator
) -> tuple[Accuracy, tuple[float, float]]:
    """Return the estimates from a drawn sample of random lines, and the true completeness and correctness of these."""
    completeness, correctness = truth
    area = shapely.box(0, 0, 1000, 1000)
    town = np.random.default_rng(seed)
    begin, angle = town.random((400, 2)) * 1000, town.random(400) * math.pi
    step = 80 * np.column_stack([np.cos(angle), np.sin(angle)])
    shapes = shapely.intersection(shapely.linestrings(np.stack([begin, begin + step], axis=1)), area)
    shares = np.array([correctness, correctness * (1 - completeness) / completeness, 1 - correctness])
    right, missed, _ = np.cumsum(shares / shares.sum())
    position = (np.arange(400) + 0.5) / 400
    is_right, is_missed = position < right, (position >= right) & (position < missed)
    network, lost = shapes[~is_missed], shapes[is_missed]
    # False lines have a lower probability, with exceptions.
    probability = np.clip(np.where(is_right[~is_missed], 0.8, 0.5) + town.normal(0, 0.15, len(network)), 0, 1)
    cells = cells_in(area)
    is_weak = shapely.dwithin(shapely.points(cells.centers), shapely.union_all(lost[::2]), 10.0)
    sample = draw_sample(make_lines(network), probability, area, cells, is_weak, count, (20.0, TRANSECT_M), random)
    good, gone = shapely.union_all(shapes[is_right]), shapely.STRtree(lost)
    places = sample.geometry.to_numpy()
    on_road = shapely.dwithin(shapely.line_interpolate_point(places, 0.5, normalized=True), good, 1e-6)
    crossings = np.bincount(gone.query(places, predicate="intersects")[0], minlength=len(places))
    answers = np.where(sample[CHANGE] == SAMPLED, on_road, crossings)
    columns = zip(*(sample[name] for name in (CHANGE, STRATUM, STRATUM_SIZE, LENGTH)), answers)
    right_m, missed_m = shapely.length(shapes[is_right]).sum(), shapely.length(lost).sum()
    true = (right_m / (right_m + missed_m), right_m / shapely.length(network).sum())
    return estimate([Place(*row[:4], int(row[4])) for row in columns]), true


def coverage(results: list[tuple[Accuracy, tuple[float, float]]]) -> list[float]:
    """Return how often each interval holds the truth, and the mean margin of completeness and correctness."""
    held, margins = [], []
    for accuracy, (completeness, correctness) in results:
        true = (completeness, correctness, 2 * completeness * correctness / (completeness + correctness))
        found = [getattr(accuracy, name) for name in NAMES]
        held.append([each.low <= value <= each.high for each, value in zip(found, true)])
        margins.append([each.margin for each in found[:2]])
    return [*np.mean(held, axis=0), *np.mean(margins, axis=0)]


def main(repetitions: int = 2000, of_lines: int = 500) -> None:
    random = np.random.default_rng(1)
    header = ("simulated", "strata", "clusters", "places", "true", "repetitions", *NAMES, "margin_c", "margin_p")
    with RESULT.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        sizes = list(itertools.product((30, 60, 120, 240), (0.7, 0.9, 0.97)))
        for (strata, clusters), (count, true) in itertools.product(((0, 0), (1, 0), (0, 1), (1, 1)), sizes):
            truth = (true, true)
            made = [
                (judged_verdicts(count, truth, bool(strata), bool(clusters), random), truth) for _ in range(repetitions)
            ]
            found = [f"{each:.3f}" for each in coverage(made)]
            table.writerow(("verdicts", strata, clusters, count, true, repetitions, *found))
        for count, true in itertools.product((60, 240), (0.7, 0.9, 0.97)):
            made_of_lines = [judged_lines(count, (true, true), seed, random) for seed in range(of_lines)]
            found = [f"{each:.3f}" for each in coverage(made_of_lines)]
            table.writerow(("lines", 1, 0, count, true, of_lines, *found))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
