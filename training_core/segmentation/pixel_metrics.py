"""Pixel scores: how well a road probability matches true roads.

Knows arrays of probability and truth; knows nothing of files, networks or lines. A truth of 255 counts nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from scipy.ndimage import distance_transform_edt

from ..geodata.pixel_codes import BACKGROUND, ROAD, lowest_byte

_LEVELS = 255  # bytes of probability from 0 to 254; 255 is no data


@dataclass(frozen=True)
class Scores:
    """Precision, recall, F1 and intersection over union, from 0 to 1.

    Where there is neither truth nor prediction, all are 1; where only one of both is empty, all are 0.
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
    """Return the scores that follow from counts of pixels."""
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
    """Counts of road and other pixels by predicted probability: every threshold's scores from one pass.

    Pieces of an image may be added in any order.
    """

    def __init__(self) -> None:
        self._road = np.zeros(_LEVELS, dtype=np.int64)
        self._other = np.zeros(_LEVELS, dtype=np.int64)

    def add(self, probability: np.ndarray, truth: np.ndarray) -> None:
        """Count a piece.

        Parameters
        ----------
        probability : ndarray, uint8
            0 to 254 for 0 to 1; 255, no data, counts nowhere.
        truth : ndarray of the same shape, uint8
            0 no road, 1 road, 255 to be ignored.
        """
        self._road += np.bincount(probability[truth == ROAD], minlength=256)[:_LEVELS]
        self._other += np.bincount(probability[truth == BACKGROUND], minlength=256)[:_LEVELS]

    def __add__(self, other: "Confusion") -> "Confusion":
        both = Confusion()
        both._road, both._other = self._road + other._road, self._other + other._other
        return both

    def counts(self) -> list[list[int]]:
        """Return the counts of road and of other pixels by byte of probability; see `from_counts`."""
        return [self._road.tolist(), self._other.tolist()]

    @classmethod
    def from_counts(cls, counts: list[list[int]]) -> "Confusion":
        """Return what has these counts.

        Raises
        ------
        ValueError
            These are no counts.
        """
        confusion = cls()
        table = np.array(counts, dtype=np.int64)
        if table.shape != (2, _LEVELS):
            raise ValueError("These are no counts by probability.")
        confusion._road, confusion._other = table
        return confusion

    @property
    def count(self) -> int:
        """Number of pixels counted."""
        return int(self._road.sum() + self._other.sum())

    @property
    def road_share(self) -> float:
        """Share of the counted pixels that truly are road; 0 where none was counted."""
        return float(self._road.sum() / max(1, self.count))

    @property
    def thresholds(self) -> np.ndarray:
        """The thresholds of `sweep`, from 0 to 1."""
        return np.arange(_LEVELS) / (_LEVELS - 1)

    def sweep(self) -> list[Scores]:
        """Return the scores at each of `thresholds`."""
        hits = self._road[::-1].cumsum()[::-1]
        false_alarms = self._other[::-1].cumsum()[::-1]
        misses = self._road.sum() - hits
        return [scores_of(*map(float, counts)) for counts in zip(hits, false_alarms, misses)]

    def scores(self, threshold: float) -> Scores:
        """Return the scores where a pixel is road from this probability on."""
        level = lowest_byte(threshold)
        hits, false_alarms = self._road[level:].sum(), self._other[level:].sum()
        return scores_of(float(hits), float(false_alarms), float(self._road.sum() - hits))

    def best_threshold(self) -> float:
        """Return the threshold with the best F1; of equal ones the middle, which is furthest from doing harm."""
        f1 = np.array([scores.f1 for scores in self.sweep()])
        best = np.flatnonzero(f1 == f1.max())
        return float(self.thresholds[best[len(best) // 2]])


@dataclass(frozen=True)
class RelaxedCounts:
    """Counts of pixels that match within a tolerance; those of several images add up.

    Parameters
    ----------
    predicted, correct : int
        Predicted pixels where the truth is known, and those of them with true road near.
    true, found : int
        True pixels, and those of them with predicted road near.
    """

    predicted: int = 0
    correct: int = 0
    true: int = 0
    found: int = 0

    def __add__(self, other: "RelaxedCounts") -> "RelaxedCounts":
        return RelaxedCounts(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    @property
    def precision(self) -> float:
        """Share of the predicted pixels that are correct; 1 where there is none to find and none is predicted."""
        return self.correct / self.predicted if self.predicted else float(not self.true)

    @property
    def recall(self) -> float:
        """Share of the true pixels that are found; 1 where there is none to find and none is predicted."""
        return self.found / self.true if self.true else float(not self.predicted)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def scores(self) -> RelaxedScores:
        """The scores that follow."""
        return RelaxedScores(self.f1, self.precision, self.recall)


@dataclass(frozen=True)
class RelaxedMatches:
    """Which pixels match within a tolerance; all are (height, width), bool. See RelaxedCounts for what each is."""

    predicted: np.ndarray
    correct: np.ndarray
    true: np.ndarray
    found: np.ndarray

    def window(self, part: tuple[slice, slice]) -> "RelaxedMatches":
        """Return those of some rows and columns."""
        return RelaxedMatches(*(getattr(self, each.name)[part] for each in fields(self)))

    def counts(self, where: np.ndarray | slice = slice(None)) -> RelaxedCounts:
        """Return their counts, of all pixels or of those where a (height, width) array of bool is true."""
        return RelaxedCounts(*(int(getattr(self, part.name)[where].sum()) for part in fields(self)))


def relaxed_matches(
    mask: np.ndarray, truth: np.ndarray, tolerance_m: float, pixel_m: tuple[float, float]
) -> RelaxedMatches:
    """Return matches that forgive a small shift: a pixel counts where its match is within a tolerance (Mnih, 2013).

    A predicted pixel whose truth is ignored counts nowhere, but true pixels may find their match in it.

    Parameters
    ----------
    mask : ndarray (height, width), bool
        Predicted road.
    truth : ndarray (height, width), uint8
        0 no road, 1 road, 255 to be ignored.
    tolerance_m : float
        In meters on the ground.
    pixel_m : tuple of float
        Ground size of a pixel along columns and rows.
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
    """All that is counted on a piece of ground; those of several pieces add up."""

    confusion: Confusion = field(default_factory=Confusion)
    relaxed: RelaxedCounts = RelaxedCounts()

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.confusion + other.confusion, self.relaxed + other.relaxed)

    def scores(self, threshold: float) -> "GroundScores":
        """Return the scores; the relaxed ones are those of the threshold that they were counted with."""
        confusion = self.confusion
        return GroundScores(confusion.count, confusion.road_share, confusion.scores(threshold), self.relaxed.scores)


@dataclass(frozen=True)
class GroundScores:
    """How well a piece of ground was predicted.

    Parameters
    ----------
    pixels : int
        Pixels whose truth is known.
    road_share : float
        Share of them that truly are road.
    pixel : Scores
    relaxed : RelaxedScores
    """

    pixels: int
    road_share: float
    pixel: Scores
    relaxed: RelaxedScores
