"""Scaling: the time of a training step by the number of ranks, from what one rank and its network take.

Gradients are summed by slices, as `gradient_exchange` does: each rank receives its slice from all others, adds these up
and sends the sum to all others. So each sends 2 (n - 1) / n of the gradients' bytes, as in an all-reduce by ring
(Patarasuk and Yuan 2009). All wait for the slowest.

Scope: closed forms, and their fit to measurements. Independent of models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from training_core.distributed.gradient_exchange import bucket_bytes
from training_core.distributed.parallel_record import expected_maximum


@dataclass(frozen=True)
class StepTime:
    """The time of a step in which every rank computes as much, whatever their number (weak scaling).

    Parameters
    ----------
    compute_s : float
        What one rank computes by itself: forward, backward, optimizer.
    value_bytes : int
        Of a gradient's value on its way: 4, or 2 where it is compressed to BF16.
    rounds : int
        Batches that a rank computes in a step, each of whose gradients it sends; `compute_s` is that of all of them.
    packing_s_per_byte : float
        Of the gradients, for what does not depend on the number of ranks: copying them together, adding them up.
    handling_s_per_byte : float
        Of what a rank sends, for its processor to send as much and to receive as much.
    latency_s : float
        Of a message, whatever its size.
    link_bytes_per_s : float
        What the network takes from a rank.
    spread : float
        Standard deviation of a rank's `compute_s` from step to step, as a share of it; taken to be normal, and
        independent between ranks.
    overlap : float
        Share of `compute_s` in which gradients already travel, those of the last bucket excepted. What the processor
        does for them takes time all the same.
    """

    compute_s: float
    gradient_values: int
    value_bytes: int = 4
    rounds: int = 1
    packing_s_per_byte: float = 0.0
    handling_s_per_byte: float = 0.0
    latency_s: float = 0.0
    link_bytes_per_s: float = math.inf
    spread: float = 0.0
    overlap: float = 0.0

    @property
    def gradient_bytes(self) -> float:
        """The size of the gradients on their way."""
        return self.gradient_values * self.value_bytes

    def sent_bytes(self, ranks: int) -> float:
        """Return what each rank sends: slices of its gradients in each round, and the sums in the end."""
        return (self.rounds + 1) * (ranks - 1) / ranks * self.gradient_bytes

    def buckets(self, ranks: int) -> int:
        """Return in how many parts the gradients travel, compressed or not."""
        return max(1, round(4 * self.gradient_values / bucket_bytes(ranks)))

    def messages(self, ranks: int) -> int:
        """Return in how many messages a rank sends that."""
        return (self.rounds + 1) * (ranks - 1) * self.buckets(ranks)

    def slowest_s(self, ranks: int) -> float:
        """Return how long the slowest rank is expected to compute."""
        return self.compute_s * (1 + self.spread * expected_maximum(ranks))

    def handling_s(self, ranks: int) -> float:
        """Return what the processors do for the exchange."""
        if ranks == 1:
            return 0.0
        packing_s = self.rounds * self.gradient_bytes * self.packing_s_per_byte
        sending_s = self.sent_bytes(ranks) * self.handling_s_per_byte
        return packing_s + sending_s + self.messages(ranks) * self.latency_s

    def communication_s(self, ranks: int) -> float:
        """Return what the exchange adds to a step: handling the bytes, and waiting for those still on their way."""
        handling_s = self.handling_s(ranks)
        hidden_s = self.overlap * self.compute_s * (1 - 1 / self.buckets(ranks))
        late_s = self.sent_bytes(ranks) / self.link_bytes_per_s - handling_s - hidden_s
        return handling_s + max(0.0, late_s)

    def step_s(self, ranks: int) -> float:
        """Return the seconds of a step."""
        return self.slowest_s(ranks) + self.communication_s(ranks)

    def efficiency(self, ranks: int) -> float:
        """Return the share of the time of a step that one rank by itself would need, from 0 to 1."""
        return self.compute_s / self.step_s(ranks)

    def speed_up(self, ranks: int) -> float:
        """Return how many times as fast as one rank all together learn from as many chips."""
        return ranks * self.efficiency(ranks)


def fit_costs(amounts: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Fit what each of several things costs to how long they took together, by non-negative least squares.

    Parameters
    ----------
    amounts : ndarray (measurements, things), float64
        Such as bytes and messages.
    seconds : ndarray (measurements,), float64
        Relative errors count, so that short measurements tell as much as long ones.

    Returns
    -------
    ndarray (things,), float64
        Seconds of one of each, at least 0.
    """
    relative = amounts / seconds[:, None]
    scale = relative.max(axis=0)  # numbers of bytes and of messages are far apart
    return nnls(relative / scale, np.ones(len(relative)))[0] / scale
