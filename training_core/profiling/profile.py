"""A profile: the machine's limits, the breakdown of training and inference steps, and advice.

Each field is a member of the JSON document, and its type checks it when read.

Scope: the content of a profile. Independent of how it is measured and shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from ..jobs.json_fields import PRINTABLE, Key, Range

# Types of members of the document. No machine has larger or smaller numbers; their products would be infinite.
_MAX, _MIN = 1e18, 1e-12
Text = Annotated[str, PRINTABLE]
Amount = Annotated[float, Range(0, _MAX)]
Positive = Annotated[float, Range(_MIN, _MAX)]
# Estimates and differences of two measured times.
Signed = Annotated[float, Range(-_MAX, _MAX)]
Count = Annotated[int, Range(1, _MAX)]
Size = Annotated[int, Range(0, _MAX)]


class Kind:
    """Kinds of operations, as a breakdown names them."""

    CONVOLUTION, NORMALIZATION, ACTIVATION = "convolution", "batch normalization", "activation"
    POOLING, UPSAMPLING, ADDITION = "pooling", "upsampling", "addition"
    LOSS, OPTIMIZER, COPY = "loss", "optimizer", "copy and reorder"
    PYTHON, OTHER = "Python", "other"


class Phase:
    """Phases of a step; those of inference are the first two and the last two."""

    WAITING, FORWARD, BACKWARD, OPTIMIZER_STEP = "waiting for data", "forward", "backward", "optimizer"
    VALIDATION, CONVERSION, UNACCOUNTED = "validation", "conversion to bytes", "unaccounted"


class Bound:
    """Limits that bound a row of a breakdown in the roofline model."""

    COMPUTE, MEMORY, CACHE = "compute", "memory", "cache"


@dataclass(frozen=True)
class Row:
    """A row of a breakdown: the cost of a part of a step.

    It took `time_s` in a typical step: the mean over the middle half of the steps by their time. That is a `share` of
    the step, with an interquartile range of `spread_s` over the steps. `flop` are floating-point operations, None where
    they are not counted; `bytes` the least memory traffic: each tensor that is read or written, once.

    The bound is the limit: COMPUTE, MEMORY or CACHE; empty without one. `roof_share` is the time that the machine would
    need at its measured limits, divided by the time it took. It is above 1 where a limit was measured too low, or the
    data were in a faster cache.
    """

    name: Text
    calls: Amount
    time_s: Signed
    share: Signed
    spread_s: Amount = 0.0
    flop: Optional[Amount] = None
    bytes: Optional[Amount] = None
    roof_share: Optional[Amount] = None
    bound: Text = ""

    @property
    def intensity(self) -> Optional[float]:
        """Arithmetic intensity in FLOP a byte, where both are known."""
        return self.flop / self.bytes if self.flop and self.bytes else None


@dataclass(frozen=True)
class LayerRow(Row):
    """A layer: a module of the model by its path, such as `encoder.layer1.0.conv1`, or input, loss or optimizer."""

    forward_s: Amount = 0.0
    backward_s: Amount = 0.0


@dataclass(frozen=True)
class PrimitiveRow(Row):
    """A primitive: all calls of one operation on tensors of the same shapes, such as `4x64x48x48 64x64x3x3`.

    Shapes of inputs stand before those of outputs. The layout, such as `channels last`, and the dtype, such as `bf16`,
    are those of the first tensor. The implementation is the choice of oneDNN or OpenVINO, such as
    `brgconv:avx512_core_bf16`; it is empty for kernels of PyTorch itself. Its time includes that of reorders between
    memory layouts.
    """

    kind: Text = Kind.OTHER
    phase: Text = ""
    shape: Text = ""
    layout: Text = ""
    dtype: Text = ""
    implementation: Text = ""
    reorder_s: Amount = 0.0


@dataclass(frozen=True)
class Span:
    """An activity of the main thread or the data thread, in seconds from the beginning of the step."""

    thread: str
    name: str
    kind: str
    layer: str
    begin_s: float
    duration_s: float


@dataclass(frozen=True)
class ThreadLoad:
    """How busy a thread was over one step: the fraction of each interval, from 0 to 1, that it ran on a processor."""

    name: str
    busy: tuple[float, ...]
    interval_s: float


@dataclass(frozen=True)
class TimeLine:
    """The course of one step, with its phases as (name, begin, end) in seconds; loads where the system has them."""

    phases: tuple[tuple[str, float, float], ...] = ()
    spans: tuple[Span, ...] = ()
    loads: tuple[ThreadLoad, ...] = ()


@dataclass(frozen=True)
class MemoryCurve:
    """Bytes of tensors that are alive after each operation of a step, beyond those at its beginning.

    Each phase has the index of its last operation. The base is that of parameters, gradients and optimizer state.
    """

    bytes: tuple[Annotated[int, Range(-_MAX, _MAX)], ...] = ()
    phases: tuple[tuple[Text, Size], ...] = ()
    base_bytes: Size = 0

    def peaks(self) -> dict[str, int]:
        """Return the peak by phase, in bytes."""
        peaks: dict[str, int] = {}
        begin = 0
        for phase, end in self.phases:
            peaks[phase] = max(self.bytes[begin : end + 1], default=0)
            begin = end + 1
        return peaks


@dataclass(frozen=True)
class Counters:
    """Counters of the system, per step: minor page faults (new memory), and waits (involuntary context switches).

    `system_share` is the fraction of the process' processor time that the system took, for page faults and the like.
    `stolen_share` is the fraction of all cores' time that other processes or virtual machines took. `busy_share` is the
    process' processor time as a fraction of the time of its threads.
    """

    page_faults: Optional[Amount] = None
    system_share: Optional[Amount] = None
    stolen_share: Optional[Amount] = None
    busy_share: Optional[Amount] = None
    waits: Optional[Amount] = None


@dataclass(frozen=True)
class Run:
    """The breakdown of a step of training or inference with one engine and one precision.

    Each breakdown is sorted by time, the longest first, but phases are in their order. The rows of `phases`, of `kinds`
    and of `layers` add up to the step, with a row `unaccounted`. A step of training includes its part of validations.

    A typical step with the profiler takes `step_s` by the wall clock, with an interquartile range of `spread_s`. The
    median step without it takes `plain_s`, to which the profiler adds the fraction `overhead_share`. The time line is
    in the trace, not in the document. Options are those that advice may change: batch_size, chip_px, recompute and so
    on.
    """

    what: Text
    engine: Text
    precision: Text
    threads: Count
    batch_size: Count
    size_px: Count
    step_s: Positive
    spread_s: Amount
    steps: Size
    phases: tuple[Row, ...]
    kinds: tuple[Row, ...]
    layers: tuple[LayerRow, ...]
    primitives: tuple[PrimitiveRow, ...]
    unaccounted_share: Signed = 0.0
    overhead_share: Signed = 0.0
    counters: Counters = Counters()
    memory: MemoryCurve = MemoryCurve()
    time_line: TimeLine = TimeLine()
    options: Annotated[Mapping[str, Any], Key("step_options")] = field(default_factory=dict)
    plain_s: Amount = 0.0

    @property
    def name(self) -> str:
        """Its name: `training, native bf16`."""
        return f"{self.what}, {self.engine} {self.precision}"

    @property
    def images_per_s(self) -> float:
        """Images of `size_px` per second."""
        return self.batch_size / (self.plain_s or self.step_s)


@dataclass(frozen=True)
class Rate:
    """A limit of the machine with a number of threads: FLOP (or INT8 operations) or bytes a second."""

    threads: Count
    per_s: Positive


@dataclass(frozen=True)
class Limits:
    """The machine's limits, as measured; 0 where unknown.

    Peaks of convolutions and matrix products are by number format: fp32, bf16, int8; one that cannot be measured is
    left out. The bandwidth of memory is that of triad (STREAM), read and copy; `cache_per_s` that of a triad within
    half of the last-level cache. Starting an OpenMP region takes `parallel_region_s`. Facts of the machine are by name,
    see `system.machine`; None where the system does not provide it.
    """

    convolution: Mapping[Text, tuple[Rate, ...]]
    matrix: Mapping[Text, tuple[Rate, ...]]
    bandwidth: Mapping[Text, tuple[Rate, ...]]
    cache_per_s: Amount
    cache_bytes: Size
    parallel_region_s: Amount
    machine: Mapping[Text, Any] = field(default_factory=dict)

    def peak(self, dtype: str) -> float:
        """Return the best FLOP a second in a number format, of convolutions or matrix products; 0 where unmeasured."""
        return max(
            (rate.per_s for peaks in (self.convolution, self.matrix) for rate in peaks.get(dtype, ())), default=0
        )

    @property
    def memory_per_s(self) -> float:
        """The best bytes a second of memory."""
        return max((rate.per_s for rates in self.bandwidth.values() for rate in rates), default=0)


@dataclass(frozen=True)
class Trial:
    """The measured effect of a piece of advice: the time of an image without and with it, measured in turns."""

    before_s: Positive
    after_s: Positive

    @property
    def gain(self) -> float:
        """Fraction of the time that it saves; negative where it costs time."""
        return 1 - self.after_s / self.before_s


@dataclass(frozen=True)
class Advice:
    """A change, its reason, and its estimated gain: the fraction of the time that it would save (Amdahl's law).

    Evidence is the measurement, and the remedy the change. Options of the job apply it, or none. The link is to a page
    of the guide and a heading, such as `guide.md#where-the-time-goes`.
    """

    rule: Text
    run: Text
    evidence: Text
    remedy: Text
    gain: Signed
    options: Mapping[str, Any] = field(default_factory=dict)
    link: Text = ""
    trial: Optional[Trial] = None


@dataclass(frozen=True)
class LossTime:
    """How long a loss takes with its gradient, for the logits of one training step; also as a ratio to RoadSeg's."""

    name: Text
    time_s: Amount
    ratio: Amount


@dataclass(frozen=True)
class Profile:
    """A profile of this machine: the first run is the main one, and RoadSeg's is the first of the losses."""

    hardware: Text
    limits: Limits
    runs: tuple[Run, ...]
    advice: tuple[Advice, ...] = ()
    losses: tuple[LossTime, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[Text, Text] = field(default_factory=dict)
    warnings: tuple[Text, ...] = ()
