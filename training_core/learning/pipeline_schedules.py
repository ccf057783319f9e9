"""Forecast of a pipeline: how long a step takes by a schedule, how long stages wait (the bubble), and the speed-up.

Scope: times of stages, and the orders of GPipe (Huang et al., 2019) and 1F1B (Narayanan et al., 2019) as
torch.distributed.pipelining has them. Handing over takes no time here. Independent of what the stages compute.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ..jobs.processes import GPIPE, ONE_F_ONE_B

SCHEDULES = (GPIPE, ONE_F_ONE_B)
_FORWARD, _BACKWARD = "forward", "backward"


@dataclass(frozen=True)
class Forecast:
    """What is expected of a pipeline.

    Parameters
    ----------
    step_s : float
        Time of a step.
    speed_up : float
        Against one process that computes all stages.
    bubble : float
        Share of the step in which a stage waits, in the mean over all stages.
    imbalance : float
        Time of the slowest stage against the mean; 1 where they are equal.
    """

    step_s: float
    speed_up: float
    bubble: float
    imbalance: float


def forecast(forward_s: Sequence[float], backward_s: Sequence[float], batches: int, schedule: str) -> Forecast:
    """Return what is expected of a pipeline.

    Parameters
    ----------
    forward_s, backward_s : sequence of float
        Time of each stage for a micro-batch.
    batches : int
        Micro-batches of a step.
    schedule : str
        One of SCHEDULES.
    """
    stages, of_stage_s = len(forward_s), [sum(times) for times in zip(forward_s, backward_s)]
    step_s = _step_s([forward_s, backward_s], batches, schedule)
    work_s = batches * sum(of_stage_s)
    return Forecast(
        step_s=step_s,
        speed_up=work_s / step_s,
        bubble=1 - work_s / (stages * step_s),
        imbalance=max(of_stage_s) * stages / sum(of_stage_s),
    )


def in_flight(stage: int, stages: int, batches: int, schedule: str) -> int:
    """Return for how many micro-batches a stage keeps activations at most.

    Parameters
    ----------
    stage, stages : int
        Its number, from 0, and how many there are.
    batches : int
        Micro-batches of a step.
    schedule : str
        One of SCHEDULES.
    """
    return batches if schedule == GPIPE else min(batches, stages - stage)


def _order(stage: int, stages: int, batches: int, schedule: str) -> list[tuple[str, int]]:
    """Return what a stage computes in a step: forward or backward, and of which micro-batch."""
    early = in_flight(stage, stages, batches, schedule)
    order = [(_FORWARD, number) for number in range(early)]
    for number in range(batches):
        order.append((_BACKWARD, number))
        if early + number < batches:
            order.append((_FORWARD, early + number))
    return order


def _step_s(times_s: Sequence[Sequence[float]], batches: int, schedule: str) -> float:
    """Return the time of a step, by letting each stage do what is next as soon as it can."""
    stages = len(times_s[0])
    waiting = [deque(_order(stage, stages, batches, schedule)) for stage in range(stages)]
    free_s, done_s = [0.0] * stages, {}
    while any(waiting):
        for stage, queue in enumerate(waiting):
            while queue and (needed := _needed(stage, stages, *queue[0])) in (None, *done_s):
                kind, number = queue.popleft()
                began_s = max(free_s[stage], done_s.get(needed, 0.0))
                free_s[stage] = began_s + times_s[kind == _BACKWARD][stage]
                done_s[stage, kind, number] = free_s[stage]
    return max(free_s)


def _needed(stage: int, stages: int, kind: str, number: int) -> tuple[int, str, int] | None:
    """Return what must be done before, on the stage before or behind."""
    if kind == _FORWARD:
        return (stage - 1, _FORWARD, number) if stage else None
    return (stage + 1, _BACKWARD, number) if stage + 1 < stages else (stage, _FORWARD, number)
