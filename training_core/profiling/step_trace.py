"""Traces of steps: a table of the time in each operation, by phase and layer, from the events of PyTorch's profiler.

The events of a step are a tree: the step, its parts and the modules of the model, which are marked here, and PyTorch's
operations in them. Time in none of the recorded operations is that of Python. In the backward pass, an operation
belongs to the layer of the operation whose gradient it computes, by autograd's sequence numbers.

Scope: events of one thread. Independent of the model, and of conclusions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd
from torch import nn
from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

from .operation_costs import OperationCost
from .profile import Kind, Phase

_STEP, _PART, _LAYER = "roadseg.step", "roadseg.part:", "roadseg.layer:"
# The layer of operations of the model outside of its modules, and of those before the model.
MODEL, INPUT = "model", "input"
# Autograd's name for the computation of one gradient, which carries the sequence number of its forward operation.
_GRADIENT = "autograd::engine::evaluate_function: "
# Adds a gradient to that of a parameter, right after the operation that computed it.
_ACCUMULATION = "AccumulateGrad"
# In place of the number of an operation.
PYTHON = -1


@dataclass(frozen=True)
class _Part:
    """A part of a step that is marked: its phase and layer, and those of what follows up to the next one."""

    phase: str
    layer: str
    phase_after: str
    layer_after: str


WAITING, TRAINED_MODEL, INFERENCE, LOSS, OPTIMIZER = "waiting", "trained model", "inference", "loss", "optimizer"
_PARTS = {
    WAITING: _Part(Phase.WAITING, Phase.WAITING, Phase.FORWARD, INPUT),
    TRAINED_MODEL: _Part(Phase.FORWARD, MODEL, Phase.FORWARD, Kind.LOSS),
    INFERENCE: _Part(Phase.FORWARD, MODEL, Phase.CONVERSION, Phase.CONVERSION),
    LOSS: _Part(Phase.FORWARD, Kind.LOSS, Phase.BACKWARD, Kind.LOSS),
    OPTIMIZER: _Part(Phase.OPTIMIZER_STEP, Kind.OPTIMIZER, Phase.OPTIMIZER_STEP, Kind.OPTIMIZER),
}


def marked_step() -> record_function:
    """Mark a step for a profiler, within the context."""
    return record_function(_STEP)


def marked(part: str) -> record_function:
    """Mark a part of a step for a profiler, within the context: WAITING, LOSS and so on."""
    return record_function(_PART + part)


@contextmanager
def profiled(model: nn.Module | None) -> Iterator[profile]:
    """Profile what is computed within the context; modules of the model, if it is one of PyTorch, are marked."""
    open_marks: list[record_function] = []

    def enter(name: str) -> None:
        mark = record_function(_LAYER + name)
        mark.__enter__()
        open_marks.append(mark)

    def leave(*_: Any) -> None:
        open_marks.pop().__exit__(None, None, None)

    with ExitStack() as stack:
        for path, module in model.named_modules() if model else ():
            stack.callback(module.register_forward_pre_hook(lambda *_, name=path or MODEL: enter(name)).remove)
            stack.callback(module.register_forward_hook(leave, always_call=True).remove)
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            yield profiler


def trace_of(profiler: profile, costs: Sequence[OperationCost], operations: Sequence[OperationCost]) -> pd.DataFrame:
    """Return the time in each operation of the profiled steps, and that of Python between them.

    Parameters
    ----------
    costs
        Those of the operations of one step, in order.
    operations
        The same ones, each once; the table has their places here.

    Returns
    -------
    pandas.DataFrame
        In the order of time: step (from 0), phase, layer, operation (PYTHON without one), time_s, and begin_s, seconds
        since 1970.
    """
    numbers = {operation: number for number, operation in enumerate(operations)}
    rows = [
        (number, *row) for number, step in enumerate(_steps_of(profiler)) for row in _Walk(costs, numbers).rows_of(step)
    ]
    return pd.DataFrame(rows, columns=["step", "phase", "layer", "operation", "time_s", "begin_s"])


@dataclass
class _Event:
    """An event of the profiler with those within it, in nanoseconds since 1970, and autograd's sequence number."""

    name: str
    begin_ns: int
    end_ns: int
    sequence: int
    inner: list[_Event]

    @property
    def duration_s(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9


def _steps_of(profiler: profile) -> list[_Event]:
    """Return the steps as trees of events; `profiler.events()` makes them ten times as slowly."""
    found = profiler.profiler.kineto_results.events()
    threads = [event.start_thread_id() for event in found if event.name() == _STEP]
    events = [
        _Event(event.name(), event.start_ns(), event.end_ns(), event.sequence_nr(), [])
        for event in found
        if threads and event.start_thread_id() == threads[0]
    ]
    steps, outer = [], list[_Event]()
    for event in sorted(events, key=lambda event: (event.begin_ns, -event.end_ns)):
        while outer and outer[-1].end_ns <= event.begin_ns:
            outer.pop()
        if outer:
            outer[-1].inner.append(event)
        if outer or event.name == _STEP:
            outer.append(event)
        if event.name == _STEP:
            steps.append(event)
    return steps


class _Walk:
    """A walk through the events of a step."""

    def __init__(self, costs: Sequence[OperationCost], numbers: dict[OperationCost, int]) -> None:
        # Operations by name, the first one last. In-place and other operations share a queue: autograd adds gradients
        # in place unless they are recorded.
        self._queues: dict[str, list[int]] = defaultdict(list)
        for cost in reversed(costs):
            self._queues[cost.name.rstrip("_")].append(numbers[cost])
        self._layer_of_sequence: dict[int, str] = {}
        self._last_gradient = ""

    def rows_of(self, step: _Event) -> Iterator[tuple[str, str, int, float, float]]:
        """Yield phase, layer, operation, seconds and begin of each piece of a step."""
        phase, layer, at_ns = Phase.WAITING, Phase.WAITING, step.begin_ns
        for event in step.inner:
            part = _PARTS.get(event.name.removeprefix(_PART)) if event.name.startswith(_PART) else None
            yield phase, layer, PYTHON, (event.begin_ns - at_ns) / 1e9, at_ns / 1e9
            if part:
                phase, layer = part.phase, part.layer
            yield from self._within(event, phase, layer)
            if part:
                phase, layer = part.phase_after, part.layer_after
            at_ns = event.end_ns
        yield phase, layer, PYTHON, (step.end_ns - at_ns) / 1e9, at_ns / 1e9

    def _within(self, event: _Event, phase: str, layer: str) -> Iterator[tuple[str, str, int, float, float]]:
        layer, begin_s = self._layer(event, layer), event.begin_ns / 1e9
        queue = self._queues.get(event.name.rstrip("_"))
        if queue:  # what happens within an operation belongs to it
            yield phase, layer, queue.pop(), event.duration_s, begin_s
            return
        yield phase, layer, PYTHON, event.duration_s - sum(inner.duration_s for inner in event.inner), begin_s
        for inner in event.inner:
            yield from self._within(inner, phase, layer)

    def _layer(self, event: _Event, outer: str) -> str:
        """Return the layer of what happens within an event, which itself lies in the layer `outer`."""
        if event.name.startswith(_LAYER):
            return event.name.removeprefix(_LAYER)
        if event.name.startswith(_GRADIENT):
            if _ACCUMULATION not in event.name:
                self._last_gradient = self._layer_of_sequence.get(event.sequence, outer)
            return self._last_gradient or outer
        if event.sequence >= 0 and "Backward" not in event.name:
            self._layer_of_sequence[event.sequence] = outer
        return outer
