"""A profile: the machine's limits, the breakdown of training and inference steps, and advice; its JSON document.

Scope: what a profile holds. Independent of how it is measured and shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

# Kinds of operations, as a breakdown names them.
CONVOLUTION, NORMALIZATION, ACTIVATION = "convolution", "batch normalization", "activation"
POOLING, UPSAMPLING, ADDITION = "pooling", "upsampling", "addition"
LOSS, OPTIMIZER, COPY = "loss", "optimizer", "copy and reorder"
PYTHON, OTHER = "Python", "other"
KINDS = (
    CONVOLUTION,
    NORMALIZATION,
    ACTIVATION,
    POOLING,
    UPSAMPLING,
    ADDITION,
    LOSS,
    OPTIMIZER,
    COPY,
    PYTHON,
    OTHER,
)
# Phases of a step; those of inference are the first two and the last two.
WAITING, FORWARD, BACKWARD, OPTIMIZER_STEP = "waiting for data", "forward", "backward", "optimizer"
VALIDATION, CONVERSION, OTHER_PHASE, UNACCOUNTED = "validation", "conversion to bytes", "other", "unaccounted"
# What bounds a row of a breakdown in the roofline model.
COMPUTE, MEMORY, CACHE = "compute", "memory", "cache"


@dataclass(frozen=True)
class Row:
    """A row of a breakdown: what a part of a step takes, a step.

    Parameters
    ----------
    time_s : float
        In a typical step: the mean over the middle half of the steps by their time.
    share : float
        Of the step, from 0 to 1.
    spread_s : float
        Interquartile range over the steps.
    flop : float, optional
        Floating-point operations; None where they are not counted.
    bytes : float, optional
        Least memory traffic: each tensor that is read or written, once.
    roof_share : float, optional
        Time that the machine would need at its measured limits, as a share of the time it took. Above 1 where a limit
        was measured too low, or the data were in a faster cache.
    bound : str
        Which limit that is: COMPUTE, MEMORY or CACHE; empty without one.
    """

    name: str
    calls: float
    time_s: float
    share: float
    spread_s: float = 0.0
    flop: Optional[float] = None
    bytes: Optional[float] = None
    roof_share: Optional[float] = None
    bound: str = ""

    @property
    def intensity(self) -> Optional[float]:
        """Arithmetic intensity in FLOP a byte, where both are known."""
        return self.flop / self.bytes if self.flop and self.bytes else None


@dataclass(frozen=True)
class LayerRow(Row):
    """A layer: a module of the model by its path, such as `encoder.layer1.0.conv1`, or input, loss or optimizer.

    Parameters
    ----------
    forward_s, backward_s : float
        Parts of the time.
    """

    forward_s: float = 0.0
    backward_s: float = 0.0


@dataclass(frozen=True)
class PrimitiveRow(Row):
    """A primitive: all calls of one operation on tensors of the same shapes.

    Parameters
    ----------
    kind, phase : str
        Kind of operation, and the phase in which it is called.
    shape : str
        Of its tensors, inputs before outputs: `4x64x48x48 64x64x3x3`.
    layout : str
        Of the first tensor in memory: `channels last`, `contiguous` or `strided`.
    dtype : str
        Of the first tensor: `fp32`, `bf16` and so on.
    implementation : str
        What oneDNN or OpenVINO chose, such as `brgconv:avx512_core_bf16`; empty for kernels of PyTorch itself.
    reorder_s : float
        Time of reorders between memory layouts within it.
    """

    kind: str = OTHER
    phase: str = ""
    shape: str = ""
    layout: str = ""
    dtype: str = ""
    implementation: str = ""
    reorder_s: float = 0.0


@dataclass(frozen=True)
class Span:
    """What a thread did at a time of the step.

    Parameters
    ----------
    thread : str
        `main thread` or `data thread`.
    begin_s, duration_s : float
        From the beginning of the step.
    """

    thread: str
    name: str
    kind: str
    layer: str
    begin_s: float
    duration_s: float


@dataclass(frozen=True)
class ThreadLoad:
    """How busy a thread was over one step.

    Parameters
    ----------
    busy : tuple of float
        Share of each interval that it ran on a processor, from 0 to 1.
    """

    name: str
    busy: tuple[float, ...]
    interval_s: float


@dataclass(frozen=True)
class TimeLine:
    """One step as it went, with its phases as (name, begin, end) in seconds.

    Parameters
    ----------
    phases : tuple of (str, float, float)
    loads : tuple of ThreadLoad
        Empty where the system does not tell.
    """

    phases: tuple[tuple[str, float, float], ...] = ()
    spans: tuple[Span, ...] = ()
    loads: tuple[ThreadLoad, ...] = ()


@dataclass(frozen=True)
class MemoryCurve:
    """Bytes of tensors that are alive over one step, beyond those at its beginning.

    Parameters
    ----------
    bytes : tuple of int
        After each operation.
    phases : tuple of (str, int)
        Each phase with the index of its last operation.
    base_bytes : int
        Of parameters, gradients and optimizer state.
    """

    bytes: tuple[int, ...] = ()
    phases: tuple[tuple[str, int], ...] = ()
    base_bytes: int = 0

    def peaks(self) -> dict[str, int]:
        """Return the peak by phase, in bytes."""
        peaks, begin = {}, 0
        for phase, end in self.phases:
            peaks[phase] = max(self.bytes[begin : end + 1], default=0)
            begin = end + 1
        return peaks


@dataclass(frozen=True)
class Counters:
    """What the system counted, a step.

    Parameters
    ----------
    page_faults : float, optional
        Minor page faults: memory that the process got anew.
    system_share : float, optional
        Share of the process' processor time that the system took, for page faults and the like.
    stolen_share : float, optional
        Share of the processor time of all cores that other processes or other virtual machines took.
    busy_share : float, optional
        Processor time of the process, as a share of that of its threads.
    waits : float, optional
        Involuntary context switches.
    """

    page_faults: Optional[float] = None
    system_share: Optional[float] = None
    stolen_share: Optional[float] = None
    busy_share: Optional[float] = None
    waits: Optional[float] = None


@dataclass(frozen=True)
class Run:
    """The breakdown of a step with one engine and one precision.

    Parameters
    ----------
    what : str
        training or inference.
    threads, batch_size, size_px : int
        Threads, images a step, side of an image.
    step_s : float
        Wall-clock time of a typical step that was profiled; that of training with its share of validations.
    spread_s : float
        Interquartile range.
    steps : int
        How many were measured.
    primitives : tuple of PrimitiveRow
        Each breakdown sorted by time, the longest first; phases in their order. The rows of `phases`, of `kinds` and
        of `layers` add up to the step, with a row `unaccounted`.
    unaccounted_share : float
        Share of the step that no phase covers.
    overhead_share : float
        Time that profiling adds to a step, as a share of it.
    time_line : TimeLine
        Not part of the document; the trace holds it.
    options : dict
        Options of the step that advice may change: batch_size, chip_px, recompute and so on.
    plain_s : float
        The median step without the profiler, with its share of validations.
    """

    what: str
    engine: str
    precision: str
    threads: int
    batch_size: int
    size_px: int
    step_s: float
    spread_s: float
    steps: int
    phases: tuple[Row, ...]
    kinds: tuple[Row, ...]
    layers: tuple[LayerRow, ...]
    primitives: tuple[PrimitiveRow, ...]
    unaccounted_share: float = 0.0
    overhead_share: float = 0.0
    counters: Counters = Counters()
    memory: MemoryCurve = MemoryCurve()
    time_line: TimeLine = TimeLine()
    options: Mapping[str, Any] = field(default_factory=dict)
    plain_s: float = 0.0

    @property
    def name(self) -> str:
        """What it is, in words: `training, native bf16`."""
        return f"{self.what}, {self.engine} {self.precision}"

    @property
    def images_per_s(self) -> float:
        """Images of `size_px` a second."""
        return self.batch_size / (self.plain_s or self.step_s)


@dataclass(frozen=True)
class Rate:
    """A limit of the machine with a number of threads.

    Parameters
    ----------
    per_s : float
        FLOP (or INT8 operations) or bytes a second.
    """

    threads: int
    per_s: float


@dataclass(frozen=True)
class Limits:
    """The machine's limits, as measured.

    Parameters
    ----------
    convolution, matrix : dict of str to tuple of Rate
        Peak by number format: fp32, bf16, int8; a format that cannot be measured is left out.
    bandwidth : dict of str to tuple of Rate
        Of memory: triad (STREAM), read, copy.
    cache_per_s : float
        Bytes a second of a triad within half of the last-level cache, with all threads.
    cache_bytes : int
        Last-level cache; 0 where unknown.
    parallel_region_s : float
        Time to start an OpenMP region with all threads.
    machine : dict of str to str, int, float or None
        Facts by name: cores, threads a core (SMT), NUMA nodes, governor, huge pages, allocator, container limits,
        frequency idle and under load; None where the system does not tell.
    """

    convolution: Mapping[str, tuple[Rate, ...]]
    matrix: Mapping[str, tuple[Rate, ...]]
    bandwidth: Mapping[str, tuple[Rate, ...]]
    cache_per_s: float
    cache_bytes: int
    parallel_region_s: float
    machine: Mapping[str, Any] = field(default_factory=dict)

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
    """What a piece of advice really brought.

    Parameters
    ----------
    before_s, after_s : float
        Time of an image without and with it, measured in turns.
    """

    before_s: float
    after_s: float

    @property
    def gain(self) -> float:
        """Share of the time that it saves; negative where it costs time."""
        return 1 - self.after_s / self.before_s


@dataclass(frozen=True)
class Advice:
    """What to change, why, and what it would bring.

    Parameters
    ----------
    rule : str
        Name of the rule, such as `small batch`.
    run : str
        Name of the run it is about.
    evidence : str
        What was measured.
    remedy : str
        What to do.
    gain : float
        Estimated share of the time that it would save (Amdahl's law), from 0 to 1.
    options : dict
        Options of the job that apply it; empty where none does.
    link : str
        Page of the guide and heading, such as `guide.md#where-the-time-goes`.
    trial : Trial, optional
    """

    rule: str
    run: str
    evidence: str
    remedy: str
    gain: float
    options: Mapping[str, Any] = field(default_factory=dict)
    link: str = ""
    trial: Optional[Trial] = None


@dataclass(frozen=True)
class LossTime:
    """How long a loss takes with its gradient, for the logits of one training step.

    Parameters
    ----------
    ratio : float
        To the time of RoadSeg's.
    """

    name: str
    time_s: float
    ratio: float


@dataclass(frozen=True)
class Profile:
    """A profile of this machine.

    Parameters
    ----------
    runs : tuple of Run
        The first one is the main one.
    losses : tuple of LossTime
        RoadSeg's first.
    options : dict
        The job's fields.
    """

    hardware: str
    limits: Limits
    runs: tuple[Run, ...]
    advice: tuple[Advice, ...] = ()
    losses: tuple[LossTime, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
