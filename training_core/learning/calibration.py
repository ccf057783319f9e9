"""Calibration: scale and shift of a model's logits with which its probability of road is the share of road.

Networks are overconfident: a fine-tune on its training labels, a starter on unknown ground. The threshold by image, the
links between roads and the probabilities of lines rely on calibrated probability.

Scope: counts by probability, and weights. Independent of how a model was trained.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from scipy.optimize import minimize

from ..geodata.pixel_codes import CERTAIN
from ..models.architectures import HEAD
from ..segmentation.pixel_metrics import Confusion

# Probabilities are bytes: beyond these bounds they say no more.
_LEAST = 1e-3
# A slight preference for logits as they are: few held-out blocks say little of other ground, and labels that the model
# tells apart perfectly would give an infinite scale.
_AS_IT_IS = 1e-3


def fit_calibration(confusions: Iterable[Confusion]) -> tuple[float, float]:
    """Return scale and shift of the logits with which the probability fits best (Platt scaling).

    They minimize the cross-entropy (Platt, "Probabilistic outputs for support vector machines", 1999), in which each
    confusion has the same weight. Without road or background in them, or if the model takes background for road rather
    than road, nothing is to be scaled: 1 and 0.
    """
    shares = [np.array(each.counts(), dtype=float) / max(1, each.count) for each in confusions]
    road, other = np.sum(shares, axis=0)
    if not (road.any() and other.any()):
        return 1.0, 0.0
    probability = np.clip(np.arange(len(road)) / CERTAIN, _LEAST, 1 - _LEAST)
    logits = np.log(probability / (1 - probability))

    def cost(line: np.ndarray) -> float:
        scaled = logits * line[0] + line[1]
        cross_entropy = (road * np.logaddexp(0, -scaled) + other * np.logaddexp(0, scaled)).sum() / (road + other).sum()
        return float(cross_entropy + _AS_IT_IS * ((line[0] - 1) ** 2 + line[1] ** 2))

    scale, shift = minimize(cost, [1.0, 0.0]).x
    return (float(scale), float(shift)) if scale > 0 else (1.0, 0.0)


def with_scaled_logits(weights: dict[str, torch.Tensor], scale: float, shift: float) -> dict[str, torch.Tensor]:
    """Return weights, (...), any dtype, by name, with the logits of road scaled, then shifted."""
    scaled = {f"{HEAD}.{name}": weights[f"{HEAD}.{name}"].clone() for name in ("weight", "bias")}
    for values in scaled.values():
        values[0] *= scale
    scaled[f"{HEAD}.bias"][0] += shift
    return {**weights, **scaled}
