"""Scaling: the time of a training step by the number of ranks, from what one rank and its network take.

A rank's gradients are summed by shares: each rank receives its share of every other one's gradients, adds them up, and
sends the sum to all others. So each sends 2 (n - 1) / n of the gradients' bytes in 2 (n - 1) messages, as in an
all-reduce by ring (Patarasuk and Yuan 2009). All wait for the slowest.

Scope: closed forms, and their fit to measurements. Independent of how gradients are exchanged, and of models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid
from scipy.optimize import nnls
from scipy.special import ndtr


@dataclass(frozen=True)
class StepTime:
    """The time of a step in which every rank computes as much, whatever their number (weak scaling).

    Parameters
    ----------
    compute_s : float
        What one rank computes by itself: forward, backward, optimizer.
    gradient_values : int
    value_bytes : int
        Of a gradient's value on its way: 4, or 2 where it is compressed to BF16.
    latency_s : float
        Of a message.
    link_bytes_per_s : float
        What the network takes from a rank.
    handled_bytes_per_s : float
        What a rank's own processor manages to copy, send, receive and sum, of the bytes that it sends.
    spread : float
        Standard deviation of a rank's `compute_s` from step to step, as a share of it; taken to be normal, and
        independent between ranks.
    overlap : float
        For how long gradients already travel while the rank still computes, as a share of `compute_s`. What its
        processor does for them takes its time all the same.
    """

    compute_s: float
    gradient_values: int
    value_bytes: int = 4
    latency_s: float = 0.0
    link_bytes_per_s: float = math.inf
    handled_bytes_per_s: float = math.inf
    spread: float = 0.0
    overlap: float = 0.0

    def sent_bytes(self, ranks: int) -> float:
        """Return what each rank sends."""
        return 2 * (ranks - 1) / ranks * self.gradient_values * self.value_bytes

    def slowest_s(self, ranks: int) -> float:
        """Return how long the slowest rank is expected to compute."""
        return self.compute_s * (1 + self.spread * expected_maximum(ranks))

    def communication_s(self, ranks: int) -> float:
        """Return what the exchange adds to a step: handling the bytes, and waiting for those still on their way."""
        handled_s = self.sent_bytes(ranks) / self.handled_bytes_per_s
        traveling_s = 2 * (ranks - 1) * self.latency_s + self.sent_bytes(ranks) / self.link_bytes_per_s
        return handled_s + max(0.0, traveling_s - handled_s - self.overlap * self.compute_s)

    def step_s(self, ranks: int) -> float:
        """Return the seconds of a step."""
        return self.slowest_s(ranks) + self.communication_s(ranks)

    def efficiency(self, ranks: int) -> float:
        """Return the share of the time of a step that one rank by itself would need, from 0 to 1."""
        return self.compute_s / self.step_s(ranks)

    def speed_up(self, ranks: int) -> float:
        """Return how many times as fast as one rank all together learn from as many chips."""
        return ranks * self.efficiency(ranks)


def expected_maximum(count: int) -> float:
    """Return the expected maximum of so many independent standard normal values: 0 for one, 0.564 for two."""
    values = np.linspace(-9, 9, 3601)
    density = np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi)
    return float(trapezoid(values * count * density * ndtr(values) ** (count - 1), values))


def fit_transfer(
    messages: Sequence[float], sent_bytes: Sequence[float], seconds: Sequence[float]
) -> tuple[float, float]:
    """Fit the latency and the throughput of a network to exchanges of several sizes, by least squares.

    Parameters
    ----------
    messages : sequence of float
        That each rank sent, one after the other.
    sent_bytes : sequence of float
    seconds : sequence of float
        Relative errors count, so that small messages tell the latency.

    Returns
    -------
    latency_s : float
        Of a message, at least 0.
    bytes_per_s : float
        Infinite where more bytes took no longer.
    """
    columns = np.column_stack([messages, sent_bytes]) / np.asarray(seconds, dtype=np.float64)[:, None]
    scale = columns.max(axis=0)  # numbers of messages and of bytes are far apart
    latency_s, s_per_byte = nnls(columns / scale, np.ones(len(columns)))[0] / scale
    return float(latency_s), float(1 / s_per_byte) if s_per_byte else math.inf
