"""How right a network is: completeness, correctness and F1 with 95 % intervals, from places that a person has judged.

Scope: numbers. Standard library only, so that QGIS shows them after each verdict. Independent of layers and words.

The sample is stratified (Olofsson et al., "Good practices for estimating area and assessing accuracy of land change",
Remote Sensing of Environment 148 (2014)). Stretches of the network are drawn with equal probability for each meter, so
their verdicts are independent, however the errors cluster. Their interval is that of Wilson ("Probable inference, the
law of succession, and statistical inference", JASA 22 (1927)) for the effective sample size, as Franco et al.,
"Comparative study of confidence intervals for proportions in complex sample surveys", J. Survey Statistics and
Methodology 7 (2019) recommend.

The length of missed roads comes from line intersect sampling: a segment of length l, at a random place of an area A and
in a random direction, crosses lines of total length M 2 l M / (pi A) times on average (Buffon's needle; de Vries,
"Sampling theory for forest inventory" (1986)). Its interval is a gamma interval for a weighted sum of counts (Fay and
Feuer, "Confidence intervals for directly standardized rates", Statistics in Medicine 16 (1997)) with half a crossing
of the largest weight more, as Jeffreys' prior has. Its variance allows for clusters of missed roads. Quantiles are
those of Wilson and Hilferty ("The distribution of chi-square", PNAS 17 (1931)).

The intervals of right and missed length are combined for their ratio by the method of variance estimates recovery
(Donner and Zou, "Closed-form confidence intervals for functions of the normal mean and standard deviation", Statistical
Methods in Medical Research 21 (2012)).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

SAMPLED, CROSSING = "sampled", "crossing"
# Of the normal distribution, for 95 %.
_Z = 1.959964
# An estimate needs this number of judged places of each kind, and of each stratum.
MIN_PLACES, MIN_OF_STRATUM = 10, 2
# A sample is enough once completeness and correctness are known to 3 points on average of both sides.
WANTED_MARGIN = 0.03


@dataclass(frozen=True)
class Place:
    """A place of the sample.

    Parameters
    ----------
    kind : str
        SAMPLED, a stretch of the network, or CROSSING, a straight transect.
    stratum : str
    size : float
        Size of the stratum: length of network in meters, or area in square meters.
    length_m : float
        Length of the transect.
    answer : int or None
        Of a stretch, 1 for right and 0 for wrong; of a transect, the number of missed roads that cross it. None if the
        person has not judged it.
    """

    kind: str
    stratum: str
    size: float
    length_m: float
    answer: Optional[int]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Accuracy:
    """How right a network is, and how far the sample is judged.

    The numbers are None as long as `needed` further places are needed for any estimate. `more` is how many further ones
    bring the margins of completeness and correctness to `WANTED_MARGIN`, about; it is 0 once they are there.
    """

    judged: int
    undecided: int
    needed: int
    completeness: Optional[Estimate] = None
    correctness: Optional[Estimate] = None
    f1: Optional[Estimate] = None
    right_m: Optional[Estimate] = None
    missed_m: Optional[Estimate] = None
    more: Optional[int] = None

    @property
    def is_enough(self) -> bool:
        """Whether completeness and correctness are known to `WANTED_MARGIN`."""
        return self.more == 0


@dataclass(frozen=True)
class Stratum:
    """The judged places of one stratum; see `Place`."""

    kind: str
    name: str
    size: float
    judged: Sequence[Place]

    @property
    def total(self) -> int:
        """Sum of the answers."""
        return sum(place.answer or 0 for place in self.judged)


def strata_of(places: Iterable[Place]) -> list[Stratum]:
    """Return the strata of a sample in the order of their first places."""
    found: dict[tuple[str, str, float], list[Place]] = {}
    for place in places:
        judged = found.setdefault((place.kind, place.stratum, place.size), [])
        if place.answer is not None:
            judged.append(place)
    return [Stratum(kind, name, size, judged) for (kind, name, size), judged in found.items()]


def estimate(places: Iterable[Place]) -> Accuracy:
    """Return how right a network is, from a sample of places.

    The sample has places of both kinds. All places of a stratum have its size, above 0.
    """
    places = list(places)
    strata = {kind: [each for each in strata_of(places) if each.kind == kind] for kind in (SAMPLED, CROSSING)}
    judged = sum(place.answer is not None for place in places)
    undecided, needed = len(places) - judged, sum(map(_needed, strata.values()))
    if needed:
        return Accuracy(judged, undecided, needed)
    length_m = sum(stratum.size for stratum in strata[SAMPLED])
    correctness = _proportion(strata[SAMPLED])
    right_m = Estimate(*(length_m * each for each in (correctness.value, correctness.low, correctness.high)))
    missed_m = _missed_m(strata[CROSSING])
    missed_per_right = _ratio(missed_m, right_m)
    # F1 is 2 R / (R + M + L) for the length of the network, L.
    others_m = Estimate(*(length_m + each for each in (missed_m.value, missed_m.low, missed_m.high)))
    others_per_right = _ratio(others_m, right_m)
    completeness, f1 = _inverted(missed_per_right, 1.0), _inverted(others_per_right, 2.0)
    # Margins shrink with the square root of the number of places, which are judged in the order of a mixed sample.
    margin = max(completeness.margin, correctness.margin)
    more = max(0, math.ceil(judged * ((margin / WANTED_MARGIN) ** 2 - 1)))
    unit = 10 ** max(0, len(str(more)) - 2)  # more than two digits would seem exact
    more = math.ceil(more / unit) * unit
    return Accuracy(judged, undecided, 0, completeness, correctness, f1, right_m, missed_m, more)


def _needed(strata: Sequence[Stratum]) -> int:
    """Return how many more places of one kind must be judged for an estimate."""
    of_strata = sum(max(0, MIN_OF_STRATUM - len(stratum.judged)) for stratum in strata)
    return max(of_strata, MIN_PLACES - sum(len(stratum.judged) for stratum in strata), 0)


def _proportion(strata: Sequence[Stratum]) -> Estimate:
    """Return the proportion of right length of all strata, with Wilson's interval for the effective sample size."""
    size = sum(stratum.size for stratum in strata)
    shares = [stratum.size / size for stratum in strata]
    counts = [(stratum.total, len(stratum.judged)) for stratum in strata]
    value = sum(share * right / judged for share, (right, judged) in zip(shares, counts))
    # Variances of strata in which all are right, or none, are not 0: each gets one place more, of the mean of all.
    prior = (sum(right for right, _ in counts) + 0.5) / (sum(judged for _, judged in counts) + 1)
    smooth = [(right + prior) / (judged + 1) for right, judged in counts]
    variance = sum(share**2 * p * (1 - p) / judged for share, p, (_, judged) in zip(shares, smooth, counts))
    mean = sum(share * p for share, p in zip(shares, smooth))
    effective = mean * (1 - mean) / variance
    center = (value + _Z**2 / (2 * effective)) / (1 + _Z**2 / effective)
    half = _Z / (1 + _Z**2 / effective) * math.sqrt(value * (1 - value) / effective + (_Z / (2 * effective)) ** 2)
    return Estimate(value, max(0.0, center - half), min(1.0, center + half))


def _missed_m(strata: Sequence[Stratum]) -> Estimate:
    """Return the length of missed roads in all strata, with its gamma interval."""
    total_m = variance = largest_m = 0.0
    for stratum in strata:
        # What one crossing on one transect of the stratum stands for, in meters.
        weight_m = [math.pi * stratum.size / (2 * len(stratum.judged) * place.length_m) for place in stratum.judged]
        crossed_m = [weight * (place.answer or 0) for weight, place in zip(weight_m, stratum.judged)]
        mean_m, count = sum(crossed_m) / len(crossed_m), len(crossed_m)
        squares = sum(each**2 for each in crossed_m)
        between = sum((each - mean_m) ** 2 for each in crossed_m) * count / (count - 1)
        total_m += sum(crossed_m)
        # Simulated intervals are too short with the variance between segments, and too long with that of clusters.
        variance += (squares + between) / 2
        largest_m = max(largest_m, *weight_m)
    more_m = 0.5 * largest_m
    mean, spread = total_m + more_m, variance + 2 * more_m**2
    shape = mean**2 / spread
    low, high = (_gamma_quantile(shape, z) * spread / mean for z in (-_Z, _Z))
    return Estimate(total_m, min(low, total_m), max(high, total_m))


def _gamma_quantile(shape: float, z: float) -> float:
    """Return the quantile of a gamma distribution of scale 1 at that of the normal distribution, z."""
    return shape * max(0.0, 1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))) ** 3


def _ratio(one: Estimate, other: Estimate) -> Estimate:
    """Return the ratio of two independent numbers that are not negative; infinite where the other may be 0."""

    def limit(bound: float, other_bound: float, sign: int) -> float:
        product, scale = one.value * other.value, other_bound * (2 * other.value - other_bound)
        if scale <= 0:
            return math.inf if sign > 0 else 0.0
        root = product**2 - bound * (2 * one.value - bound) * scale
        return max(0.0, product + sign * math.sqrt(max(0.0, root))) / scale

    value = one.value / other.value if other.value else math.inf
    return Estimate(value, limit(one.low, other.high, -1), limit(one.high, other.low, 1))


def _inverted(ratio: Estimate, factor: float) -> Estimate:
    """Return factor / (1 + ratio), between 0 and 1."""
    value, high, low = (min(1.0, factor / (1 + each)) for each in (ratio.value, ratio.low, ratio.high))
    return Estimate(value, low, high)
