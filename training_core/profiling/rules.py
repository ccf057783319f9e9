"""Rules of advice: each looks for one trouble of the machine or of the step, and estimates what a change gains.

A fact about the machine that is unknown triggers no rule.

Scope: one function a rule, each with its threshold. Independent of which findings a reader gets (`advice`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

from .. import jobs
from ..jobs import INFERENCE, TRAINING
from ..models.engines import ENGINES
from ..models.engines import TRAINING as TRAINING_ENGINES
from ..models.openvino_model import CLEAR_WIN
from ..reports.quantities import percent, seconds
from .profile import Advice, Bound, Kind, Limits, Phase, PrimitiveRow, Row, Run

# A smaller estimate is not worth a reader's time, and cannot be distinguished from noise.
MIN_GAIN = 0.01
# Processor time of a minor page fault of 4 KiB, in a virtual machine: 1.3 to 1.5 us, and 0.3 us to give the page back
# (KVM, AMD EPYC of 2024; 256 MiB written once, median of 9 in three processes). On bare metal it is a fifth of that,
# and the system's share of the processor time limits the estimate.
FAULT_S = 1.8e-6
# With glibc as it is, faults took a third of the training time; RoadSeg's setting leaves a fifth of them, which must
# not fire.
FAULT_SHARE = 0.02
# Below, they are processes of the system itself.
STOLEN_SHARE = 0.05
# Clocks of all cores are lower than those of one by 10 to 15 % by design; below that they are throttled.
CLOCK_SHARE = 0.8
# A governor that saves power and does not raise the clock under load by more than noise.
RAISED, SAVING_GOVERNORS = 1.05, ("powersave", "conservative")
# oneDNN's last resorts; its optimized kernels are named jit, brgconv, brg_conv, brgemm, or by a library.
_LAST_RESORTS = ("ref", "simple", "gemm")
LAST_RESORT_SHARE = 0.02
# Doubling the batch halves this part: below, it gains less than 2.5 %, and takes twice the memory.
STARTING_SHARE = 0.05
# The data thread draws chips while others compute: a wait is its delay, and small ones come by chance.
WAITING_SHARE = 0.03
# With activations it takes a tenth of a BF16 step where convolutions reach 80 % of their peak, and by itself a quarter
# with AMX: from a tenth on, freezing it saves more than 2 %.
NORMALIZATION_SHARE = 0.1
# By passes over the activations in memory: live batch normalization takes 3 forward (statistics; read, write) and 5
# backward, frozen one 2 and 4. Freezing saves this fraction of its time where memory bounds it.
FROZEN_SAVES = 1 - (2 + 4) / (3 + 5)
_LABELS = {field.name: field.option.label for field in jobs.Profile.option_fields()}


@dataclass(frozen=True)
class Context:
    """What a rule knows in addition to the run that it is about; the engines could be used here, measured or not."""

    runs: tuple[Run, ...]
    limits: Limits
    engines_at_hand: tuple[str, ...] = ()

    def others(self, run: Run) -> list[Run]:
        """Return the other runs of the same task, training or inference."""
        return [other for other in self.runs if other is not run and other.what == run.what]

    def fact(self, name: str) -> Optional[float]:
        """Return a number among the facts about the machine, or None where it is unknown."""
        value = self.limits.machine.get(name)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


Rule = Callable[[Run, Context], Optional[Advice]]


def advice_of(
    run: Run, rule: str, gain: Optional[float], evidence: str, remedy: str, options: Optional[Mapping[str, Any]] = None
) -> Optional[Advice]:
    """Return advice on a run, or None where the gain, the fraction of the time that it would save, is too small.

    A gain of None cannot be estimated, which the evidence then says.
    """
    if gain is None:
        evidence = f"{evidence} The effect of a change is unknown until it is measured."
    elif gain < MIN_GAIN:
        return None
    return Advice(rule, run.name, evidence, remedy, min(gain or 0.0, 1.0), options or {})


def share_of(rows: Iterable[Row], name: str) -> float:
    """Return the share of the row of a name; 0 without one."""
    return sum(row.share for row in rows if row.name == name)


def named(option: str) -> str:
    """Return an option of the job in words: `batch size (batch_size)`, `threads`."""
    label = _LABELS[option][0].lower() + _LABELS[option][1:]
    return label if label == option else f"{label} ({option})"


def limited_instructions(run: Run, context: Context) -> Optional[Advice]:
    """Find instruction sets that a variable takes away from the process."""
    limit = context.limits.machine.get("instruction_sets_limited_by")
    if not limit:
        return None
    return advice_of(
        run,
        "limited instruction sets",
        None,
        f"The variables {limit} take instruction sets of the processor away.",
        "Unset them, and profile again.",
    )


def too_many_threads(run: Run, context: Context) -> Optional[Advice]:
    """Find more threads than a container's quota, the physical cores, or one NUMA node have room for."""
    quota, cores, nodes = context.fact("container_cores"), context.fact("cores"), context.fact("numa_nodes") or 1
    if quota is not None and run.threads > max(quota, 1):
        return _fewer_threads(
            run,
            context,
            "container quota",
            max(int(quota), 1),
            f"{run.threads} threads share a container's quota of {quota:g} cores, and all wait when it is spent.",
            "no more than the quota, unless you can raise it",
        )
    if cores is not None and run.threads > cores:
        return _fewer_threads(
            run,
            context,
            "threads beyond cores",
            int(cores),
            f"{run.threads} threads run on {cores:g} physical cores (SMT): two threads share the units of a core.",
            "one a core",
        )
    if cores is not None and 2 <= nodes <= cores and run.threads > cores // nodes:
        return _fewer_threads(
            run,
            context,
            "threads across NUMA nodes",
            int(cores // nodes),
            f"{run.threads} threads run across {nodes:g} NUMA nodes of {cores // nodes:g} cores each, and read memory "
            "of the other nodes.",
            "those of one node, and bind the process to it (numactl --cpunodebind=0 --membind=0)",
        )
    return None


def _fewer_threads(run: Run, context: Context, rule: str, threads: int, evidence: str, words: str) -> Optional[Advice]:
    """Advise fewer threads; their gain is estimated where the peak was measured with both numbers."""
    remedy, options = f"Set {named('threads')} to {threads}: {words}.", {"threads": threads}
    peaks = {rate.threads: rate.per_s for rate in context.limits.convolution.get(run.precision, ())}
    few, many = peaks.get(threads, 0.0), peaks.get(run.threads, 0.0)
    if not few > many > 0:
        return advice_of(run, rule, None, evidence, remedy, options)
    evidence += (
        f" Convolutions peak at {few / 1e9:,.0f} GFLOP/s with {threads} threads, and {many / 1e9:,.0f} with "
        f"{run.threads}."
    )
    gain = share_of(run.kinds, Kind.CONVOLUTION) * (1 - many / few)
    return advice_of(run, rule, gain if gain >= MIN_GAIN else None, evidence, remedy, options)


def page_faults(run: Run, context: Context) -> Optional[Advice]:
    """Find memory that goes back to the system and is faulted in again at each step."""
    faults, system = run.counters.page_faults, run.counters.system_share
    if faults is None or system is None:
        return None
    share = min(faults * FAULT_S / (run.threads * run.step_s), system)
    if share < FAULT_SHARE:
        return None
    facts = context.limits.machine
    is_kept: Optional[bool] = facts.get("keeps_freed_memory")
    kept = {None: "", True: ", which keeps freed memory", False: ", which gives freed memory back"}
    evidence = (
        f"{faults:,.0f} page faults a step; allocator: {facts.get('allocator') or 'unknown'}{kept[is_kept]}. "
        f"The estimate takes {1e6 * FAULT_S:g} us a fault, spread over {run.threads} threads, but no more than the "
        f"system's share of the processor time ({percent(system)})."
    )
    remedy = (
        "Keep freed memory in the process, as RoadSeg's own setting of glibc does"
        + (", which is not in effect here: " if is_kept is False else ": ")
        + "start without a preloaded allocator (LD_PRELOAD), with MALLOC_TRIM_THRESHOLD_=1099511627776 and "
        "MALLOC_MMAP_MAX_=0."
    )
    if is_kept:
        remedy = (
            "Freed memory is kept already, but for large blocks when recomputing, which are given back on purpose: "
            f"see {named('recompute')}."
        )
    return advice_of(run, "page faults", share, evidence, remedy)


def busy_neighbor(run: Run, context: Context) -> Optional[Advice]:
    """Find other processes or virtual machines on the same cores."""
    stolen, cpus = run.counters.stolen_share, context.fact("cpus") or context.fact("cores")
    if stolen is None:
        return None
    idle = 1 - run.threads / cpus if cpus and run.threads < cpus else 0.0
    lost = stolen - idle  # what the cores that no thread of the run needs cannot absorb
    if lost < STOLEN_SHARE:
        return None
    return advice_of(
        run,
        "busy neighbor",
        lost,
        f"Other processes or virtual machines took {percent(stolen)} of the processor time, of which "
        f"{percent(lost)} were missing here.",
        f"Close other programs and profile again, or leave them cores: lower {named('threads')}. All figures of this "
        "profile are those of a busy machine.",
    )


def low_clock(run: Run, context: Context) -> Optional[Advice]:
    """Find a clock that falls under load, or is not raised."""
    idle, load = context.fact("frequency_idle_mhz"), context.fact("frequency_load_mhz")
    governor = context.limits.machine.get("governor")
    if idle is None or load is None:
        return None
    saves_power = any(name in SAVING_GOVERNORS for name in (governor or "").split(", "))
    if not (load < CLOCK_SHARE * idle or (saves_power and load < RAISED * idle)):
        return None
    is_saving = governor not in (None, "", "performance")
    return advice_of(
        run,
        "low clock",
        None,
        f"The clock is {load:,.0f} MHz under load and {idle:,.0f} MHz idle; governor: {governor or 'unknown'}.",
        ("Set the governor to performance (cpupower frequency-set -g performance), and see" if is_saving else "See")
        + " to cooling and to the power limits.",
    )


def faster_choice(run: Run, context: Context) -> Optional[Advice]:
    """Find another engine or precision that was measured clearly faster."""
    fastest = min(context.others(run), key=_pixel_s, default=run)
    if _pixel_s(fastest) >= CLEAR_WIN * _pixel_s(run):
        return None
    chosen = {"engine": fastest.engine, "precision": fastest.precision}
    options = {name: value for name, value in chosen.items() if value != getattr(run, name)}
    image_px = run.size_px**2
    return advice_of(
        run,
        "a faster " + " and ".join(options),
        1 - _pixel_s(fastest) / _pixel_s(run),
        f"Measured: an image takes {seconds(image_px * _pixel_s(run))} with {run.engine} in {run.precision}, and "
        f"{seconds(image_px * _pixel_s(fastest))} with {fastest.engine} in {fastest.precision}.",
        "Set " + " and ".join(f"{named(name)} to {value}" for name, value in options.items()) + ".",
        options,
    )


def untried_engine(run: Run, context: Context, engine: str) -> Optional[Advice]:
    """Find an engine that is installed but was not measured."""
    is_able = run.what != TRAINING or engine in TRAINING_ENGINES
    measured = {run.engine, *(other.engine for other in context.others(run))}
    if not is_able or engine in measured or engine not in context.engines_at_hand:
        return None
    return advice_of(
        run,
        "an engine to try",
        None,
        f"The engine {engine} is installed, and was not measured for {run.what}.",
        f"Try it, or set {named('engine')} to {engine}.",
        {"engine": engine},
    )


def last_resorts(run: Run, context: Context) -> Optional[Advice]:
    """Find convolutions for which oneDNN found none of its optimized implementations."""
    rows = [row for row in run.primitives if _is_last_resort(row)]
    share = sum(row.share for row in rows)
    if share < LAST_RESORT_SHARE:
        return None
    worst = max(rows, key=lambda row: row.time_s)
    return advice_of(
        run,
        "reference implementation",
        None,
        f"oneDNN computes convolutions that take {percent(share)} of the step by an implementation of last resort; "
        f"the largest: {worst.name} {worst.shape} {worst.implementation}.",
        f"Profile the other precision and the other engines (set {named('precision')} and {named('engine')} to all).",
    )


def small_step(run: Run, context: Context) -> Optional[Advice]:
    """Find time to start threads and in Python, which a larger batch or tile spreads over more pixels."""
    calls = sum(row.calls for row in run.primitives)
    starting = calls * context.limits.parallel_region_s / run.step_s if run.threads > 1 else 0.0
    python = share_of(run.kinds, Kind.PYTHON)
    if starting + python < STARTING_SHARE:
        return None
    evidence = (
        f"{calls:,.0f} operations a step, each of which starts {run.threads} threads in "
        f"{1e6 * context.limits.parallel_region_s:.1f} us, take an estimated {percent(starting)} of the step for that; "
        f"Python takes {percent(python)}."
    )
    tile_px = run.options.get("tile_px")
    if run.what == INFERENCE and tile_px:
        # Four times the pixels: a quarter of the starts for each.
        larger = f"{named('tile_px')} to {2 * tile_px}"
        remedy = f"Set the {larger}, which takes about four times the memory."
        return advice_of(run, "small tiles", 0.75 * (starting + python), evidence, remedy, {"tile_px": 2 * tile_px})
    batch_size = 2 * _batch_size(run)
    remedy = (
        f"Set the {named('batch_size')} to {batch_size}, or the {named('chip_px')} higher; that takes about twice the "
        "memory. Fewer but larger steps change the training."
    )
    return advice_of(run, "small batch", (starting + python) / 2, evidence, remedy, {"batch_size": batch_size})


def data_starving(run: Run, context: Context) -> Optional[Advice]:
    """Find steps that wait for the thread that draws chips or reads tiles."""
    share = share_of(run.phases, Phase.WAITING)
    if share < WAITING_SHARE:
        return None
    items = "chips" if run.what == TRAINING else "tiles"
    # One core is a small enough part of several to be left to the data thread.
    options = {"threads": run.threads - 1} if run.threads >= 4 else {}
    return advice_of(
        run,
        "data thread starving",
        share,
        f"The step waits {percent(share)} of its time ({seconds(share * run.step_s)}) for the data thread, which "
        f"prepares {items}.",
        "Keep the images on a local disk as tiled GeoTIFFs, uncompressed or with a fast compression"
        + (f", and set {named('threads')} to {options['threads']}: a core for the data thread." if options else "."),
        options,
    )


def normalization_bound_by_memory(run: Run, context: Context) -> Optional[Advice]:
    """Find batch normalization that moves activations through memory, in training."""
    share = share_of(run.kinds, Kind.NORMALIZATION)
    rows = [row for row in run.primitives if row.kind == Kind.NORMALIZATION]
    bound_s = sum(row.time_s for row in rows if row.bound in (Bound.MEMORY, Bound.CACHE))
    is_bound = bound_s > 0.5 * sum(row.time_s for row in rows)
    is_live = run.what == TRAINING and run.options.get("batch_norm") == "live"
    if share < NORMALIZATION_SHARE or not is_bound or not is_live:
        return None
    return advice_of(
        run,
        "batch normalization",
        share * FROZEN_SAVES,
        f"Batch normalization takes {percent(share)} of the step and is bound by memory. The estimate counts passes "
        "over the activations: 8 if live, 6 if frozen.",
        f"Set {named('batch_norm')} to frozen. This changes the training, and needs a base model trained on such "
        "images: in RoadSeg's own trials it scored better with one seed and worse with others.",
        {"batch_norm": "frozen"},
    )


def recomputing(run: Run, context: Context) -> Optional[Advice]:
    """Find activations that are computed a second time in the backward pass."""
    # The job's choice, auto for lack of memory; no where nothing is recomputed, whatever the choice.
    choice, share = run.options.get("recompute", "no"), share_of(run.phases, Phase.FORWARD)
    if run.what != TRAINING or choice == "no":
        return None
    evidence = (
        "Activations are recomputed in the backward pass, which takes about as long as the forward pass: "
        f"{percent(share)} of the step. The backward pass takes {percent(share_of(run.phases, Phase.BACKWARD))} in all."
    )
    if choice == "yes":
        remedy = f"Set {named('recompute')} to auto: activations are then kept if the memory suffices."
        return advice_of(run, "recomputing", share, evidence, remedy, {"recompute": "auto"})
    halved = {"batch_size": _batch_size(run) // 2, "accumulation": 2 * run.options.get("accumulation", 1)}
    remedy = (
        f"The memory would not suffice otherwise. Halve the {named('batch_size')} and double the "
        f"{named('accumulation')}, which learns the same, or lower the {named('chip_px')}."
    )
    return advice_of(run, "recomputing", share, evidence, remedy, halved if _batch_size(run) > 1 else {})


# Training and inference run on the same machine, so what is said about it is said once.
MACHINE_RULES: tuple[Rule, ...] = (limited_instructions, too_many_threads, page_faults, busy_neighbor, low_clock)
STEP_RULES: tuple[Rule, ...] = (
    faster_choice,
    *(partial(untried_engine, engine=name) for name in ENGINES),
    last_resorts,
    small_step,
    data_starving,
    normalization_bound_by_memory,
    recomputing,
)


def _pixel_s(run: Run) -> float:
    """Return the time of a pixel, in which runs of different batches and sizes compare."""
    return run.step_s / (run.batch_size * run.size_px**2)


def _is_last_resort(row: PrimitiveRow) -> bool:
    name = row.implementation.removeprefix("x64:").replace("_", ":").split(":")[0]
    return row.kind == Kind.CONVOLUTION and name in _LAST_RESORTS


def _batch_size(run: Run) -> int:
    """Return the images of a forward pass; with accumulation, a step has more."""
    return run.options.get("batch_size", run.batch_size)
