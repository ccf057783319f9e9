"""Pixel metrics of a road probability: IoU, F1, precision and recall, exact and relaxed, and threshold sweeps.

Scope: arrays of probability and truth. Independent of files, models and lines. Pixels with truth IGNORE do not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from scipy.ndimage import distance_transform_edt

from ..geodata.pixel_codes import BACKGROUND, CERTAIN, ROAD, lowest_byte

_LEVELS = CERTAIN + 1  # of probability as bytes
_MAX_COUNT = 10**15  # so that sums of counts are exact


@dataclass(frozen=True)
class Scores:
    """Precision, recall, F1 and intersection over union, from 0 to 1.

    With neither true nor predicted road, all are 1; with only one of both, all are 0.
    """

    iou: float
    f1: float
    precision: float
    recall: float


@dataclass(frozen=True)
class RelaxedScores:
    """F1, precision and recall within a tolerance, from 0 to 1."""

    f1: float
    precision: float
    recall: float


def scores_of(hits: float, false_alarms: float, misses: float) -> Scores:
    """Return the scores for counts of pixels: `hits`, `false_alarms` and `misses`, from 0."""
    if not hits + false_alarms + misses:
        return Scores(1.0, 1.0, 1.0, 1.0)
    if not hits:
        return Scores(0.0, 0.0, 0.0, 0.0)
    return Scores(
        iou=hits / (hits + false_alarms + misses),
        f1=2 * hits / (2 * hits + false_alarms + misses),
        precision=hits / (hits + false_alarms),
        recall=hits / (hits + misses),
    )


class Confusion:
    """Histograms of predicted probability over road and background: the confusion matrix at every threshold.

    Pieces of images may be added in any order.
    """

    def __init__(self) -> None:
        self._road = np.zeros(_LEVELS, dtype=np.int64)
        self._other = np.zeros(_LEVELS, dtype=np.int64)

    def add(self, probability: np.ndarray, truth: np.ndarray) -> None:
        """Count a piece: (...) uint8 probability bytes and BACKGROUND, ROAD or IGNORE in the (...) uint8 truth.

        NO_DATA and IGNORE do not count.
        """
        self._road += np.bincount(probability[truth == ROAD], minlength=256)[:_LEVELS]
        self._other += np.bincount(probability[truth == BACKGROUND], minlength=256)[:_LEVELS]

    def __add__(self, other: "Confusion") -> "Confusion":
        both = Confusion()
        both._road, both._other = self._road + other._road, self._other + other._other
        return both

    def counts(self) -> list[list[int]]:
        """Return the counts of road and of background pixels by byte of probability, to store; see `from_counts`."""
        return [self._road.tolist(), self._other.tolist()]

    @classmethod
    def from_counts(cls, counts: list[list[int]]) -> "Confusion":
        """Return the confusion with some counts; see `counts`.

        Raises ValueError if the counts have another shape or type, or are out of any range.
        """
        confusion = cls()
        table = np.array(counts)
        is_table = table.shape == (2, _LEVELS) and table.dtype.kind == "i"
        if not is_table or table.min() < 0 or table.max() > _MAX_COUNT:
            raise ValueError("These are no counts by probability.")
        confusion._road, confusion._other = table
        return confusion

    @property
    def count(self) -> int:
        """Number of pixels counted."""
        return int(self._road.sum() + self._other.sum())

    @property
    def road_share(self) -> float:
        """Share of true road among the counted pixels; 0 if none was counted."""
        return float(self._road.sum() / max(1, self.count))

    @property
    def thresholds(self) -> np.ndarray:
        """The thresholds of `sweep`, from 0 to 1: (255,) float64."""
        return np.arange(_LEVELS) / (_LEVELS - 1)

    def sweep(self) -> list[Scores]:
        """Return the scores at each of `thresholds`."""
        # Sums from each byte of probability up: the pixels that reach it as a threshold.
        hits = self._road[::-1].cumsum()[::-1]
        false_alarms = self._other[::-1].cumsum()[::-1]
        misses = self._road.sum() - hits
        return [scores_of(*map(float, counts)) for counts in zip(hits, false_alarms, misses)]

    def scores(self, threshold: float) -> Scores:
        """Return the scores at a threshold."""
        level = lowest_byte(threshold)
        hits, false_alarms = self._road[level:].sum(), self._other[level:].sum()
        return scores_of(float(hits), float(false_alarms), float(self._road.sum() - hits))

    def best_threshold(self) -> float:
        """Return the threshold with the best F1; of equal ones the median, which is the most robust."""
        f1 = np.array([scores.f1 for scores in self.sweep()])
        best = np.flatnonzero(f1 == f1.max())
        return float(self.thresholds[best[len(best) // 2]])

    def ranking(self) -> float:
        """Return the area under the ROC curve: how often road is likelier than other ground; 0.5 without either."""
        below = self._other.cumsum() - self._other / 2
        pairs = float(self._road.sum()) * float(self._other.sum())
        return float((self._road * below).sum()) / pairs if pairs else 0.5

    def robust_threshold(self, tolerance: float) -> float:
        """Return the threshold nearest to 0.5 of those whose F1 is within a tolerance of the best."""
        f1 = np.array([scores.f1 for scores in self.sweep()])
        as_good = self.thresholds[f1 >= f1.max() - tolerance]
        return float(as_good[np.abs(as_good - 0.5).argmin()])


@dataclass(frozen=True)
class RelaxedCounts:
    """Counts of pixels that match within a tolerance (buffer); those of several images add up.

    `predicted` are predicted road pixels whose truth is known, and `correct` those within the tolerance of true road.
    `true` are true road pixels, and `found` those within the tolerance of predicted road.
    """

    predicted: int = 0
    correct: int = 0
    true: int = 0
    found: int = 0

    def __add__(self, other: "RelaxedCounts") -> "RelaxedCounts":
        return RelaxedCounts(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    @property
    def precision(self) -> float:
        """Share of the predicted pixels that are correct; 1 with neither true nor predicted road."""
        return self.correct / self.predicted if self.predicted else float(not self.true)

    @property
    def recall(self) -> float:
        """Share of the true pixels that are found; 1 with neither true nor predicted road."""
        return self.found / self.true if self.true else float(not self.predicted)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def scores(self) -> RelaxedScores:
        """F1, precision and recall."""
        return RelaxedScores(self.f1, self.precision, self.recall)


@dataclass(frozen=True)
class RelaxedMatches:
    """Pixels that match within a tolerance; all are (height, width) bool. See `RelaxedCounts`."""

    predicted: np.ndarray
    correct: np.ndarray
    true: np.ndarray
    found: np.ndarray

    def window(self, part: tuple[slice, slice]) -> "RelaxedMatches":
        """Return the matches in some rows and columns."""
        return RelaxedMatches(*(getattr(self, each.name)[part] for each in fields(self)))

    def counts(self, where: np.ndarray | slice = slice(None)) -> RelaxedCounts:
        """Count the matches everywhere, or in a mask, (height, width) bool."""
        return RelaxedCounts(*(int(getattr(self, part.name)[where].sum()) for part in fields(self)))


def relaxed_matches(
    mask: np.ndarray, truth: np.ndarray, tolerance_m: float, pixel_m: tuple[float, float]
) -> RelaxedMatches:
    """Match pixels within a tolerance, for relaxed precision and recall (Mnih, 2013), which forgive a small shift.

    The mask is (height, width) bool and the truth (height, width) uint8. A predicted pixel whose truth is IGNORE does
    not count but true pixels may match it. `pixel_m` is the size of a pixel on the ground along columns and along rows.
    """
    is_true, counted = truth == ROAD, mask & ((truth == ROAD) | (truth == BACKGROUND))
    sampling = (pixel_m[1], pixel_m[0])
    return RelaxedMatches(
        predicted=counted,
        correct=counted & (_distance_m(is_true, sampling) <= tolerance_m),
        true=is_true,
        found=is_true & (_distance_m(mask, sampling) <= tolerance_m),
    )


def _distance_m(target: np.ndarray, sampling: tuple[float, float]) -> np.ndarray:
    """Return each pixel's distance to the nearest target pixel; infinite where there is no target."""
    if not target.any():
        return np.full(target.shape, np.inf)
    return distance_transform_edt(~target, sampling=sampling)


@dataclass(frozen=True)
class Tally:
    """All counts in an area; those of several areas add up."""

    confusion: Confusion = field(default_factory=Confusion)
    relaxed: RelaxedCounts = RelaxedCounts()

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.confusion + other.confusion, self.relaxed + other.relaxed)

    def scores(self, threshold: float) -> "GroundScores":
        """Return the scores at a threshold; the relaxed ones are at the threshold they were counted with."""
        confusion = self.confusion
        return GroundScores(confusion.count, confusion.road_share, confusion.scores(threshold), self.relaxed.scores)


@dataclass(frozen=True)
class GroundScores:
    """The scores in an area, its pixels with a known truth, and the fraction of true road among them."""

    pixels: int
    road_share: float
    pixel: Scores
    relaxed: RelaxedScores
