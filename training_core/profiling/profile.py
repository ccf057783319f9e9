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
    """Phases of a step; those of inference are the first two and the last."""

    WAITING, FORWARD, BACKWARD, OPTIMIZER_STEP = "waiting for data", "forward", "backward", "optimizer"
    CONVERSION = "conversion to bytes"


# The row of the time that the other rows of a breakdown leave.
UNACCOUNTED = "unaccounted"


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
    `brgconv:avx512_core_bf16`; it is empty for kernels of PyTorch itself.
    """

    kind: Text = Kind.OTHER
    phase: Text = ""
    shape: Text = ""
    layout: Text = ""
    dtype: Text = ""
    implementation: Text = ""


@dataclass(frozen=True)
class Counters:
    """Counters of the system: minor page faults (new memory) in a step, and shares of the processors' time.

    `system_share` is the fraction of the process' processor time that the system took, for page faults and the like.
    `stolen_share` is the fraction of all cores' time that other processes or virtual machines took.
    """

    page_faults: Optional[Amount] = None
    system_share: Optional[Amount] = None
    stolen_share: Optional[Amount] = None


@dataclass(frozen=True)
class Run:
    """The breakdown of a step of training or inference with one engine and one precision.

    Each breakdown is sorted by time, the longest first, but phases are in their order. The rows of `phases`, of `kinds`
    and of `layers` add up to the step, with a row UNACCOUNTED.

    A typical step with the profiler takes `step_s` by the wall clock, with an interquartile range of `spread_s`. The
    median step without it takes `plain_s`, to which the profiler adds the fraction `overhead_share`. Options are those
    that advice may change: batch_size, chip_px, recompute and so on.
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

    def peak_share(self, limits: Limits) -> float:
        """Return the floating-point operations of a step, as a fraction of the machine's peak in its time."""
        peak = limits.peak(self.precision)
        return sum(row.flop or 0.0 for row in self.primitives) / (self.step_s * peak) if peak else 0.0


@dataclass(frozen=True)
class Rate:
    """A limit of the machine with a number of threads: FLOP (or INT8 operations) or bytes a second."""

    threads: Count
    per_s: Positive


@dataclass(frozen=True)
class Limits:
    """The machine's limits, as measured; 0 where unknown.

    Peaks of convolutions and matrix products are by number format: fp32, bf16, int8; one that cannot be measured is
    left out. The bandwidth of memory is that of triad (STREAM) and read; `cache_per_s` that of a triad within
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

    def least_s(self, flop: float, bytes_: float, dtype: str) -> tuple[float, str]:
        """Return the shortest time that the machine can need for an operation, and what bounds it.

        This is the roofline model (Williams et al., 2009): the machine needs at least the time for the floating-point
        operations in the format `dtype` at the measured peak, and that for the bytes at the measured bandwidth; the
        longer one bounds it. Half of the last-level cache holds the bytes of small operations. The time is 0 and the
        bound empty where no limit is known.
        """
        peak = self.peak(dtype)
        is_cached = bytes_ <= self.cache_bytes / 2 and self.cache_per_s > self.memory_per_s
        per_s, where = (self.cache_per_s, Bound.CACHE) if is_cached else (self.memory_per_s, Bound.MEMORY)
        compute_s, transfer_s = flop / peak if peak else 0.0, bytes_ / per_s if per_s else 0.0
        if not compute_s and not transfer_s:
            return 0.0, ""
        return (compute_s, Bound.COMPUTE) if compute_s >= transfer_s else (transfer_s, where)


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

    The gain is 0 where it is unknown. Evidence is the measurement, and the remedy the change, which options of the job
    apply, or none.
    """

    rule: Text
    run: Text
    evidence: Text
    remedy: Text
    gain: Signed
    options: Mapping[str, Any] = field(default_factory=dict)
    trial: Optional[Trial] = None


@dataclass(frozen=True)
class Profile:
    """A profile of this machine; the first run is the main one."""

    hardware: Text
    limits: Limits
    runs: tuple[Run, ...]
    advice: tuple[Advice, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[Text, Text] = field(default_factory=dict)
    warnings: tuple[Text, ...] = ()
