"""Traces of steps: the activity of the main thread at every moment, by phase, layer and operation.

A step is cut into pieces that follow each other without a gap: operations, and the Python code between them. Operations
are those of a step that was recorded with its costs (`operation_costs`); calls within them belong to them. Layers are
the modules whose forward is under way. In the backward pass, a layer is that of the operation whose gradient is
computed, by autograd's sequence numbers.

Scope: events of one thread. Independent of the model, and of conclusions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Optional

from torch import nn
from torch.autograd.profiler import record_function

from .operation_costs import OperationCost

PHASE_MARK, LAYER_MARK = "roadseg.phase:", "roadseg.layer:"
# The layer of operations of the model outside of its parts.
MODEL = "model"
# Autograd's name for the computation of one gradient, which carries the sequence number of its forward operation.
_GRADIENT = "autograd::engine::evaluate_function: "
# Adds a gradient to that of a parameter, right after the operation that computed it.
_ACCUMULATION = "AccumulateGrad"


def mark_phase(name: str) -> None:
    """Mark the end of a phase for a profiler that is recording."""
    with record_function(PHASE_MARK + name):
        pass


@contextmanager
def marked_layers(model: nn.Module) -> Iterator[None]:
    """Mark the forward of each of a model's modules for a profiler, within the context."""
    open_marks: list[record_function] = []

    def enter(name: str) -> None:
        mark = record_function(LAYER_MARK + name)
        mark.__enter__()
        open_marks.append(mark)

    def leave(*_: Any) -> None:
        open_marks.pop().__exit__(None, None, None)

    with ExitStack() as stack:
        for path, module in model.named_modules():
            stack.callback(module.register_forward_pre_hook(lambda *_, name=path or MODEL: enter(name)).remove)
            stack.callback(module.register_forward_hook(leave, always_call=True).remove)
        yield


@dataclass(frozen=True)
class Event:
    """An event of the profiler on the main thread, in nanoseconds since 1970.

    Its sequence is autograd's number, negative or huge without one.
    """

    name: str
    begin_ns: int
    end_ns: int
    sequence: int = -1


@dataclass(frozen=True)
class Piece:
    """A part of a step: an operation, or Python code, which has no name. Outside of the model it has no layer."""

    name: str
    phase: str
    layer: str
    begin_ns: int
    end_ns: int
    cost: Optional[OperationCost] = None

    @property
    def duration_s(self) -> float:
        """Wall-clock time."""
        return (self.end_ns - self.begin_ns) / 1e9


@dataclass(frozen=True)
class TracedStep:
    """One step: its phases in order, as (name, begin, end) in nanoseconds since 1970, and its pieces."""

    phases: tuple[tuple[str, int, int], ...]
    pieces: tuple[Piece, ...]

    @property
    def duration_s(self) -> float:
        """Wall-clock time."""
        return (self.phases[-1][2] - self.phases[0][1]) / 1e9


def events_of(profiler: Any) -> list[Event]:
    """Return the events of the thread that marked phases, by begin; of those that begin at once, the longest first."""
    events = profiler.profiler.kineto_results.events()
    marks = [event.start_thread_id() for event in events if event.name().startswith(PHASE_MARK)]
    found = [
        Event(event.name(), event.start_ns(), event.end_ns(), event.sequence_nr())
        for event in events
        if marks and event.start_thread_id() == marks[0]
    ]
    return sorted(found, key=lambda event: (event.begin_ns, -event.end_ns))


def traced_steps(events: Sequence[Event], last_phase: str, costs: Sequence[OperationCost]) -> list[TracedStep]:
    """Cut events, sorted as by `events_of`, into steps and pieces, with the costs of the operations of one step.

    A step ends with the last phase. Events before its first end are left out, since their step began before.
    """
    marks = [(event.name.removeprefix(PHASE_MARK), event.end_ns) for event in events
             if event.name.startswith(PHASE_MARK)]  # fmt: skip
    ends = [number for number, (name, _) in enumerate(marks) if name == last_phase]
    steps = []
    for before, last in zip(ends, ends[1:]):
        numbers = range(before + 1, last + 1)
        phases = tuple((marks[number][0], marks[number - 1][1], marks[number][1]) for number in numbers)
        begin_ns, end_ns = phases[0][1], phases[-1][2]
        inside = [event for event in events if begin_ns <= event.begin_ns and event.end_ns <= end_ns]
        steps.append(TracedStep(phases, tuple(_pieces(inside, phases, costs))))
    return steps


class _Layers:
    """Layers of events: that of the module, or in the backward pass that of the forward operation."""

    def __init__(self) -> None:
        self._of_sequence: dict[int, str] = {}
        self._last_gradient = ""

    def within(self, event: Event, outer: str) -> str:
        """Return the layer of events within an event, in the layer `outer`."""
        if event.name.startswith(LAYER_MARK):
            return event.name.removeprefix(LAYER_MARK)
        if event.name.startswith(_GRADIENT):
            if _ACCUMULATION not in event.name:
                self._last_gradient = self._of_sequence.get(event.sequence, outer)
            return self._last_gradient
        if event.sequence >= 0 and "Backward" not in event.name:
            self._of_sequence[event.sequence] = outer
        return outer


def _pieces(
    events: Sequence[Event], phases: Sequence[tuple[str, int, int]], costs: Sequence[OperationCost]
) -> Iterator[Piece]:
    """Yield the pieces of a step, in order and without gaps."""
    # Costs by name of their operation, the first one last. In-place and other operations share a queue: autograd adds
    # gradients in place unless they are recorded.
    queues: dict[str, list[OperationCost]] = defaultdict(list)
    for cost in reversed(costs):
        queues[cost.name.rstrip("_")].append(cost)
    layers = _Layers()
    stack: list[tuple[int, str]] = []  # the end of each event that is under way, and the layer of events within it
    cuts = iter(phases)
    phase, at_ns, until_ns = next(cuts)

    def python_until(end_ns: int) -> Iterator[Piece]:
        nonlocal phase, at_ns, until_ns
        while at_ns < end_ns:
            begin_ns, at_ns = at_ns, min(end_ns, until_ns)
            yield Piece("", phase, stack[-1][1] if stack else "", begin_ns, at_ns)
            if at_ns == until_ns:
                phase, _, until_ns = next(cuts, (phase, at_ns, end_ns))

    for event in events:
        while stack and stack[-1][0] <= event.begin_ns:
            yield from python_until(stack[-1][0])
            stack.pop()
        if event.begin_ns < at_ns:
            continue  # within an operation
        yield from python_until(event.begin_ns)
        layer = layers.within(event, stack[-1][1] if stack else "")
        queue = queues.get(event.name.rstrip("_"))
        if not queue:
            stack.append((event.end_ns, layer))
            continue
        yield Piece(event.name, phase, layer, event.begin_ns, event.end_ns, queue.pop())
        at_ns = event.end_ns
    while stack:
        yield from python_until(stack[-1][0])
        stack.pop()
    yield from python_until(phases[-1][2])
