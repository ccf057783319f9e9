"""A profile: the machine's limits, the breakdown of training and inference steps, and advice; and its JSON document.

Each field of the dataclasses is a member of the document, and its type checks documents of unknown origin. The members
of the first run stand at the top level, so that a script finds `step_s` or `layers` at once.

Scope: the content of a profile. Independent of how it is measured and shown.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

import numpy as np
import pandas as pd

from ..errors import JobError, shown, without_passwords
from ..jobs.json_fields import CONTROL_CHARACTERS, PRINTABLE, Key, Range, parse_file, read

FORMAT = "roadseg-profile-1"
MAX_BYTES = 50_000_000
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

    WAITING, FORWARD, BACKWARD, OPTIMIZER = "waiting for data", "forward", "backward", "optimizer"
    CONVERSION = "conversion to bytes"


class Bound:
    """Limits that bound a row of a breakdown in the roofline model."""

    COMPUTE, MEMORY, CACHE = "compute", "memory", "cache"


# The breakdowns of a run, and the row of the time that the other rows of one leave.
BREAKDOWNS = ("phases", "kinds", "layers", "primitives")
UNACCOUNTED = "unaccounted"


@dataclass(frozen=True)
class Row:
    """A row of a breakdown: a phase, a kind of operation, a layer by its path in the model, or a primitive.

    It took `time_s` in a typical step: the mean over the middle half of the steps by their time. That is a `share` of
    the step, with an interquartile range of `spread_s` over the steps. `flop` are floating-point operations, None where
    they are not counted; `bytes` the least memory traffic: each tensor that is read or written, once.

    The bound is the limit: COMPUTE, MEMORY or CACHE; empty without one. `roof_share` is the time that the machine would
    need at its measured limits, divided by the time it took. It is above 1 where a limit was measured too low, or the
    data were in a faster cache.

    Primitives alone have the rest. A primitive is all calls of one operation on tensors of the same shapes, such as
    `4x64x48x48 64x64x3x3`: inputs stand before outputs. The layout, such as `channels last`, and the dtype, such as
    `bf16`, are those of the first tensor. The implementation is the choice of oneDNN or OpenVINO, such as
    `brgconv:avx512_core_bf16`; it is empty for kernels of PyTorch itself.
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
    kind: Text = ""
    phase: Text = ""
    shape: Text = ""
    layout: Text = ""
    dtype: Text = ""
    implementation: Text = ""

    @property
    def intensity(self) -> Optional[float]:
        """Arithmetic intensity in FLOP a byte, where both are known."""
        return self.flop / self.bytes if self.flop and self.bytes else None


_NUMBERS = ("time_s", "share", "flop", "bytes", "roof_share")


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table with a column for each field; None is NaN among numbers."""
    columns = [each.name for each in dataclasses.fields(Row)]
    return pd.DataFrame([vars(row) for row in rows], columns=columns).astype(dict.fromkeys(_NUMBERS, float))


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
    layers: tuple[Row, ...]
    primitives: tuple[Row, ...]
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


Rates = Mapping[Text, tuple[Rate, ...]]


@dataclass(frozen=True)
class Limits:
    """The machine's limits, as measured; 0 where unknown.

    Peaks of convolutions and matrix products are by number format: fp32, bf16, int8; one that cannot be measured is
    left out. The bandwidth of memory is that of triad (STREAM) and read; `cache_per_s` that of a triad within
    half of the last-level cache. Starting an OpenMP region takes `parallel_region_s`. Facts of the machine are by name,
    see `machine_facts`; None where the system does not provide it.
    """

    convolution: Rates
    matrix: Rates
    bandwidth: Rates
    cache_per_s: Amount
    cache_bytes: Size
    parallel_region_s: Amount
    machine: Mapping[Text, Any] = field(default_factory=dict)

    def peak(self, dtype: str) -> float:
        """Return the best FLOP a second in a number format, of convolutions or matrix products; 0 where unmeasured."""
        rates = (*self.convolution.get(dtype, ()), *self.matrix.get(dtype, ()))
        return max((rate.per_s for rate in rates), default=0)

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


def to_document(profile: Profile) -> dict[str, Any]:
    """Return a profile as it is written to JSON."""
    document = {name: _plain(value) for name, value in vars(profile).items() if name not in ("runs", "options")}
    runs = []
    for run in profile.runs:
        members = {name: _plain(value) for name, value in vars(run).items() if name != "options"}
        runs.append({**members, "step_options": _plain(run.options, without_passwords)})
    options = _plain(profile.options, without_passwords)
    return {"format": FORMAT, **document, "options": options, **(runs[0] if runs else {}), "further_runs": runs[1:]}


def from_document(document: Any) -> Profile:
    """Return the profile in a document; unknown members are ignored.

    Raises ValueError if the document is not of a profile, or a member is missing, of the wrong type, or out of its
    range.
    """
    if not isinstance(document, dict):
        raise ValueError(f"the document is {shown(document)}, not an object")
    if document.get("format") != FORMAT:
        raise ValueError(f"its format is {shown(document.get('format'))}, not {FORMAT}")
    further = document.get("further_runs", [])
    runs = [document, *(further if isinstance(further, list) else [further])]
    if "what" not in document and not further:  # nothing but the limits could be measured
        runs = []
    return read(Profile, {**document, "runs": runs})


def read_profile(path: str) -> Profile:
    """Return the profile in a file of unknown origin.

    Raises JobError if it cannot be read, is not a regular file, is far too large, or is not a profile.
    """
    remedy = "Choose a profile (JSON) that Profile this computer has written."
    try:
        return from_document(parse_file(path, MAX_BYTES))
    except OSError as error:
        raise JobError(f"The profile {path} cannot be read ({error.strerror}).", remedy) from error
    except ValueError as error:  # also of a path with a null character
        reason = "it is not text" if isinstance(error, UnicodeDecodeError) else str(error).rstrip(".")
        raise JobError(f"{path} is not a profile, or is damaged: {reason}.", remedy) from error


def _printable(text: str) -> str:
    return CONTROL_CHARACTERS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _plain(value: Any, text: Callable[[str], str] = _printable) -> Any:
    """Return a value as JSON holds it; `text` cleans its texts. Paths in options may be in any encoding."""
    if isinstance(value, Row):  # few rows have all members
        return {name: _plain(member) for name, member in vars(value).items() if member not in ("", None)}
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {text(str(name)): _plain(member, text) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, text) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
