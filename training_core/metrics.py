"""Pixel scores: how well a road probability matches true roads.

Knows arrays of probability and truth; knows nothing of files, networks or lines. A truth of 255 counts nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt

from .labels import BACKGROUND, ROAD

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
        level = min(int(np.ceil(threshold * (_LEVELS - 1) - 1e-9)), _LEVELS - 1)
        hits, false_alarms = self._road[level:].sum(), self._other[level:].sum()
        return scores_of(float(hits), float(false_alarms), float(self._road.sum() - hits))

    def best_threshold(self) -> float:
        """Return the threshold with the best F1; of equal ones the middle, which is furthest from doing harm."""
        f1 = np.array([scores.f1 for scores in self.sweep()])
        best = np.flatnonzero(f1 == f1.max())
        return float(self.thresholds[best[len(best) // 2]])


def relaxed_scores(mask: np.ndarray, truth: np.ndarray, tolerance_m: float, pixel_m: tuple[float, float]) -> Scores:
    """Return scores that forgive a small shift (Mnih, 2013): a pixel counts where its match is near.

    Precision is the share of predicted pixels with true road within the tolerance, recall the share of true pixels
    with predicted road within it, F1 their harmonic mean, and IoU what that F1 would be as intersection over union.
    A predicted pixel that is ignored counts nowhere, but true pixels may find their match in it.

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
    is_road, counted = truth == ROAD, mask & ((truth == ROAD) | (truth == BACKGROUND))
    if not is_road.any() or not counted.any():
        return scores_of(0.0, float(counted.sum()), float(is_road.sum()))
    sampling = (pixel_m[1], pixel_m[0])
    to_truth = distance_transform_edt(~is_road, sampling=sampling)
    to_mask = distance_transform_edt(~mask, sampling=sampling)
    precision = float((to_truth[counted] <= tolerance_m).mean())
    recall = float((to_mask[is_road] <= tolerance_m).mean())
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Scores(iou=f1 / (2 - f1), f1=f1, precision=precision, recall=recall)
