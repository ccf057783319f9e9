"""Traces of steps: a table of the time in each operation, by phase and layer, from the events of PyTorch's profiler.

The events of a step are a tree: the step, its phases and the modules of the model, which are marked here, and PyTorch's
operations in them. Time in none of the recorded operations is that of Python. In the backward pass, an operation
belongs to the layer of the operation whose gradient it computes, by autograd's sequence numbers.

Scope: events of one thread. Independent of the model, and of conclusions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pandas as pd
from torch import nn
from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

from .operation_costs import OperationCost
from .profile import Kind, Phase

_STEP, _END, _LAYER = "roadseg.step", "roadseg.end of ", "roadseg.layer:"
# The layer of operations of the model outside of its modules.
MODEL = "model"
# The layers of operations outside of the model, by phase where they have another name than that.
_AROUND = {Phase.FORWARD: "input and output", Phase.BACKWARD: Kind.LOSS}
# Autograd's name for the computation of one gradient, which carries the sequence number of its forward operation.
_GRADIENT = "autograd::engine::evaluate_function: "
# Adds a gradient to that of a parameter, right after the operation that computed it.
_ACCUMULATION = "AccumulateGrad"
# In place of the number of an operation.
PYTHON = -1
COLUMNS = ["step", "phase", "layer", "operation", "time_s", "begin_s"]


def marked_step() -> record_function:
    """Mark a step for a profiler, within the context."""
    return record_function(_STEP)


def marked_layer(name: str) -> record_function:
    """Mark a layer for a profiler, within the context."""
    return record_function(_LAYER + name)


def end_phase(phase: str) -> None:
    """Mark that what the step did since the last such mark, or since it began, belongs to a phase."""
    with record_function(_END + phase):
        pass


@contextmanager
def profiled(model: nn.Module | None) -> Iterator[profile]:
    """Profile what is computed within the context; modules of the model, if it is one of PyTorch, are marked."""
    open_marks: list[record_function] = []

    def enter(name: str) -> None:
        open_marks.append(marked_layer(name))
        open_marks[-1].__enter__()

    def leave(*_: Any) -> None:
        open_marks.pop().__exit__(None, None, None)

    with ExitStack() as stack:
        for path, module in model.named_modules() if model else ():
            stack.callback(module.register_forward_pre_hook(lambda *_, name=path or MODEL: enter(name)).remove)
            stack.callback(module.register_forward_hook(leave, always_call=True).remove)
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            yield profiler


def trace_of(profiler: profile, costs: Sequence[OperationCost]) -> pd.DataFrame:
    """Return the time in each operation of the profiled steps, and that of Python between them.

    `costs` are those of the operations of one step, in order. The table is in the order of time. Its columns are step
    (from 0), phase, layer, operation (its place in `costs`, or PYTHON), time_s, and begin_s, seconds since 1970.
    """
    # `profiler.events()` has the same tree, but makes it ten times as slowly.
    roots = profiler.profiler.kineto_results.experimental_event_tree()
    steps = [event for event in roots if event.name == _STEP]
    rows = [(number, *row) for number, step in enumerate(steps) for row in _Walk(costs).rows_of(step)]
    return pd.DataFrame(rows, columns=COLUMNS)


class _Walk:
    """A walk through the events of a step."""

    def __init__(self, costs: Sequence[OperationCost]) -> None:
        # Operations by name, the first one last. In-place and other operations share a queue: autograd adds gradients
        # in place unless they are recorded.
        self._queues: dict[str, list[int]] = defaultdict(list)
        for number in reversed(range(len(costs))):
            self._queues[costs[number].name.rstrip("_")].append(number)
        self._layer_of_sequence: dict[int, str] = {}
        self._last_gradient = ""

    def rows_of(self, step: Any) -> Iterator[tuple[str, str, int, float, float]]:
        """Yield phase, layer, operation, seconds and begin of each piece of a step."""
        ends = [event.name.removeprefix(_END) for event in step.children if event.name.startswith(_END)]
        at_ns, passed = step.start_time_ns, 0
        for event in step.children:
            phase = ends[min(passed, len(ends) - 1)]
            layer = _AROUND.get(phase, phase)
            yield phase, layer, PYTHON, (event.start_time_ns - at_ns) / 1e9, at_ns / 1e9
            for row in self._within(event, layer):
                yield phase, *row
            passed += event.name.startswith(_END)
            at_ns = event.end_time_ns
        yield phase, layer, PYTHON, (step.end_time_ns - at_ns) / 1e9, at_ns / 1e9

    def _within(self, event: Any, layer: str) -> Iterator[tuple[str, int, float, float]]:
        layer, begin_s = self._layer(event, layer), event.start_time_ns / 1e9
        queue = self._queues.get(event.name.rstrip("_"))
        if queue:  # what happens within an operation belongs to it
            yield layer, queue.pop(), event.duration_time_ns / 1e9, begin_s
            return
        inner_ns = sum(inner.duration_time_ns for inner in event.children)
        yield layer, PYTHON, (event.duration_time_ns - inner_ns) / 1e9, begin_s
        for inner in event.children:
            yield from self._within(inner, layer)

    def _layer(self, event: Any, outer: str) -> str:
        """Return the layer of what happens within an event, which itself lies in the layer `outer`."""
        sequence = getattr(event.extra_fields, "sequence_number", -1)
        if event.name.startswith(_LAYER):
            return event.name.removeprefix(_LAYER)
        if event.name.startswith(_GRADIENT):
            if _ACCUMULATION not in event.name:
                self._last_gradient = self._layer_of_sequence.get(sequence, outer)
            return self._last_gradient or outer
        if sequence >= 0 and "Backward" not in event.name:
            self._layer_of_sequence[sequence] = outer
        return outer
