"""Advice on a profile: what to change, with evidence, the largest gain first; and trials of it.

A fact about the machine that is unknown leads to no advice.

Scope: the rules, which findings a reader gets, and the order of trials. Independent of how a step is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Optional

from .. import jobs
from ..errors import Cancelled, RoadSegError
from ..events import Reporter
from ..jobs import INFERENCE, TRAINING
from ..models.engines import ENGINES
from ..models.engines import TRAINING as TRAINING_ENGINES
from ..models.openvino_model import CLEAR_WIN
from ..reports.quantities import percent, seconds
from .profile import Advice, Bound, Kind, Limits, Phase, Row, Run, Trial, frame_of

# Nobody would read more. The smallest estimates are left out; some places are kept for advice without an estimate,
# since a container's quota can cost more than everything that can be estimated.
MAX_PIECES, MAX_UNKNOWN = 8, 4
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
_LAST_RESORT = r"^(?:x64:)?(?:ref|simple|gemm)(?![a-z])"
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
TURNS = 2
_LABELS = {each.name: each.option.label for each in jobs.Profile.option_fields()}
# Seconds for an image with some of a run's options changed; with none, of the run as it is. For images of another size
# than the run's, in proportion to their pixels.
Measure = Callable[[Mapping[str, Any]], float]


def advise(runs: Sequence[Run], limits: Limits, engines_at_hand: Iterable[str] = ()) -> tuple[Advice, ...]:
    """Return advice on the first run of each task, training and inference; the other runs serve for comparison.

    Gains are estimated one by one from the run's own numbers (Amdahl's law), and do not add up. The largest come first.
    Gains of 0 are unknown and come last; all others are at least `MIN_GAIN`. Engines at hand could be used here,
    measured or not.
    """
    pieces: list[tuple[Hashable, Advice]] = []
    for run in list({run.what: run for run in reversed(runs)}.values())[::-1]:
        others = [other for other in runs if other is not run and other.what == run.what]
        # Training and inference run on the same machine, so what is said about it is said once. Advice with the same
        # options asks for the same change.
        pieces += [(piece.rule, piece) for piece in (*_of_threads(run, limits), *_of_machine(run, limits))]
        of_step = (
            *_of_engines(run, others, engines_at_hand),
            *_of_size(run, limits),
            *_of_training(run),
            *_of_data(run),
        )
        pieces += [((run.name, str(piece.options or piece.rule)), piece) for piece in of_step]
    largest: dict[Hashable, Advice] = {}
    for key, piece in sorted(pieces, key=lambda each: -each[1].gain):
        largest.setdefault(key, piece)
    unknown = [piece for piece in largest.values() if not piece.gain][:MAX_UNKNOWN]
    estimated = [piece for piece in largest.values() if piece.gain][: MAX_PIECES - len(unknown)]
    return (*estimated, *unknown)


def trials_of(
    advice: Sequence[Advice], measures: Mapping[str, Measure], reporter: Reporter, turns: int = TURNS
) -> tuple[Advice, ...]:
    """Try the advice that options apply; the remedy names the error of a failure.

    Measures are functions by name of the run: options changed in, seconds per image out, or a RoadSegError. They are
    called without and with the options, in turns, of which the medians count.
    """
    results = []
    for number, piece in enumerate(advice):
        reporter.progress(number / len(advice), f"Trying: {piece.rule}")
        if piece.options and piece.run in measures:
            try:
                times_s: list[tuple[float, float]] = []
                for _ in range(turns):
                    reporter.check_cancelled()
                    before_s = measures[piece.run]({})
                    reporter.check_cancelled()
                    times_s.append((before_s, measures[piece.run](piece.options)))
                piece = replace(piece, trial=Trial(*map(median, zip(*times_s))))
            except Cancelled:
                raise
            except RoadSegError as error:
                piece = replace(piece, remedy=f"{piece.remedy} Could not be tried: {error}")
        results.append(piece)
    return tuple(results)


def _named(option: str) -> str:
    """Return an option of the job in words: `batch size (batch_size)`, `threads`."""
    label = _LABELS[option][0].lower() + _LABELS[option][1:]
    return label if label == option else f"{label} ({option})"


def _share(rows: Iterable[Row], name: str) -> float:
    return sum(row.share for row in rows if row.name == name)


def _found(
    run: Run, rule: str, gain: Optional[float], evidence: str, remedy: str, options: Optional[Mapping[str, Any]] = None
) -> Iterator[Advice]:
    """Yield advice, unless its gain is too small; one of None cannot be estimated, which the evidence then says."""
    if gain is None:
        evidence = f"{evidence} The effect of a change is unknown until it is measured."
    if gain is None or gain >= MIN_GAIN:
        yield Advice(rule, run.name, evidence, remedy, min(gain or 0.0, 1.0), options or {})


def _fact(limits: Limits, name: str) -> Optional[float]:
    """Return a number among the facts about the machine, or None where it is unknown."""
    value = limits.machine.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _of_threads(run: Run, limits: Limits) -> Iterator[Advice]:
    """Find more threads than a container's quota, the physical cores, or one NUMA node have room for."""
    quota, cores, nodes = (_fact(limits, name) for name in ("container_cores", "cores", "numa_nodes"))
    per_node = cores // (nodes or 1) if cores else None
    if quota and run.threads > max(quota, 1):
        rule, threads = "container quota", max(int(quota), 1)
        evidence = f"{run.threads} threads share a container's quota of {quota:g} cores, and all wait when it is spent."
        words = "no more than the quota, unless you can raise it"
    elif cores and run.threads > cores:
        rule, threads = "threads beyond cores", int(cores)
        evidence = (
            f"{run.threads} threads run on {cores:g} physical cores (SMT): two threads share the units of a core."
        )
        words = "one a core"
    elif nodes and per_node and run.threads > per_node:
        rule, threads = "threads across NUMA nodes", int(per_node)
        evidence = (
            f"{run.threads} threads run across {nodes:g} NUMA nodes of {per_node:g} cores each, and read memory of the "
            "other nodes."
        )
        words = "those of one node, and bind the process to it (numactl --cpunodebind=0 --membind=0)"
    else:
        return
    remedy = f"Set {_named('threads')} to {threads}: {words}."
    yield from _found(run, rule, None, evidence, remedy, {"threads": threads})


def _of_machine(run: Run, limits: Limits) -> Iterator[Advice]:
    """Find what takes instruction sets, processor time or clock cycles away from the process."""
    limit = limits.machine.get("instruction_sets_limited_by")
    if limit:
        evidence = f"The variables {limit} take instruction sets of the processor away."
        yield from _found(run, "limited instruction sets", None, evidence, "Unset them, and profile again.")
    yield from _page_faults(run, limits)
    stolen, cpus = run.counters.stolen_share or 0.0, _fact(limits, "cpus") or _fact(limits, "cores")
    # The share that cores without a thread of the run cannot absorb.
    lost = stolen - max(0.0, 1 - run.threads / cpus if cpus else 0.0)
    if lost >= STOLEN_SHARE:
        evidence = (
            f"Other processes or virtual machines took {percent(stolen)} of the processor time, of which "
            f"{percent(lost)} were missing here."
        )
        remedy = (
            f"Close other programs and profile again, or leave them cores: lower {_named('threads')}. All figures of "
            "this profile are those of a busy machine."
        )
        yield from _found(run, "busy neighbor", lost, evidence, remedy)
    idle, load = _fact(limits, "frequency_idle_mhz"), _fact(limits, "frequency_load_mhz")
    governor = limits.machine.get("governor") or "unknown"
    saves_power = any(name in SAVING_GOVERNORS for name in governor.split(", "))
    if idle and load and (load < CLOCK_SHARE * idle or (saves_power and load < RAISED * idle)):
        evidence = f"The clock is {load:,.0f} MHz under load and {idle:,.0f} MHz idle; governor: {governor}."
        remedy = "See to cooling and to the power limits."
        if governor not in ("unknown", "performance"):
            remedy = "Set the governor to performance (cpupower frequency-set -g performance). " + remedy
        yield from _found(run, "low clock", None, evidence, remedy)


def _page_faults(run: Run, limits: Limits) -> Iterator[Advice]:
    """Find memory that goes back to the system and is faulted in again at each step."""
    faults, system = run.counters.page_faults or 0.0, run.counters.system_share or 0.0
    share = min(faults * FAULT_S / (run.threads * run.step_s), system)
    if share < FAULT_SHARE:
        return
    is_kept: Optional[bool] = limits.machine.get("keeps_freed_memory")
    kept = {None: "", True: ", which keeps freed memory", False: ", which gives freed memory back"}[is_kept]
    evidence = (
        f"{faults:,.0f} page faults a step; allocator: {limits.machine.get('allocator') or 'unknown'}{kept}. "
        f"The estimate takes {1e6 * FAULT_S:g} us a fault, spread over {run.threads} threads, but no more than the "
        f"system's share of the processor time ({percent(system)})."
    )
    remedy = (
        "Keep freed memory in the process, as RoadSeg's own setting of glibc does: start without a preloaded allocator "
        "(LD_PRELOAD), with MALLOC_TRIM_THRESHOLD_=1099511627776 and MALLOC_MMAP_MAX_=0."
    )
    if is_kept:
        remedy = (
            "Freed memory is kept already, but for large blocks when recomputing, which are given back on purpose: "
            f"see {_named('recompute')}."
        )
    yield from _found(run, "page faults", share, evidence, remedy)


def _of_engines(run: Run, others: Sequence[Run], engines_at_hand: Iterable[str]) -> Iterator[Advice]:
    """Find a faster engine or precision, engines that were not measured, and kernels that nobody has optimized."""

    def pixel_s(each: Run) -> float:
        # A measure by which runs of different batches and sizes compare.
        return each.step_s / (each.batch_size * each.size_px**2)

    fastest = min([run, *others], key=pixel_s)
    if pixel_s(fastest) < CLEAR_WIN * pixel_s(run):
        options = {name: getattr(fastest, name) for name in ("engine", "precision")}
        options = {name: value for name, value in options.items() if value != getattr(run, name)}
        times = [
            f"{seconds(run.size_px**2 * pixel_s(each))} with {each.engine} in {each.precision}"
            for each in (run, fastest)
        ]
        evidence = f"Measured: an image takes {times[0]}, and {times[1]}."
        remedy = "Set " + " and ".join(f"{_named(name)} to {value}" for name, value in options.items()) + "."
        gain = 1 - pixel_s(fastest) / pixel_s(run)
        yield from _found(run, "a faster " + " and ".join(options), gain, evidence, remedy, options)
    able = ENGINES if run.what == INFERENCE else TRAINING_ENGINES
    measured = {each.engine for each in (run, *others)}
    for engine in (each for each in engines_at_hand if each in able and each not in measured):
        evidence = f"The engine {engine} is installed, and was not measured for {run.what}."
        remedy = f"Try it, or set {_named('engine')} to {engine}."
        yield from _found(run, "an engine to try", None, evidence, remedy, {"engine": engine})
    rows = frame_of(run.primitives)
    rows = rows[(rows["kind"] == Kind.CONVOLUTION) & rows["implementation"].str.contains(_LAST_RESORT)]
    if rows["share"].sum() >= LAST_RESORT_SHARE:
        worst = rows.loc[rows["time_s"].idxmax()]
        evidence = (
            f"oneDNN computes convolutions that take {percent(rows['share'].sum())} of the step by an implementation "
            f"of last resort; the largest: {worst['name']} {worst['shape']} {worst['implementation']}."
        )
        remedy = (
            f"Profile the other precision and the other engines (set {_named('precision')} and {_named('engine')} to "
            "all)."
        )
        yield from _found(run, "reference implementation", None, evidence, remedy)


def _of_size(run: Run, limits: Limits) -> Iterator[Advice]:
    """Find time to start threads and in Python, which a larger batch or tile spreads over more pixels."""
    calls = sum(row.calls for row in run.primitives)
    starting = calls * limits.parallel_region_s / run.step_s if run.threads > 1 else 0.0
    python, tile_px = _share(run.kinds, Kind.PYTHON), run.options.get("tile_px")
    if starting + python < STARTING_SHARE:
        return
    evidence = (
        f"{calls:,.0f} operations a step, each of which starts {run.threads} threads in "
        f"{1e6 * limits.parallel_region_s:.1f} us, take an estimated {percent(starting)} of the step for that; "
        f"Python takes {percent(python)}."
    )
    if run.what == INFERENCE and tile_px:
        options = {"tile_px": 2 * tile_px}
        remedy = f"Set the {_named('tile_px')} to {2 * tile_px}, which takes about four times the memory."
        # Four times the pixels: a quarter of the starts for each.
        yield from _found(run, "small tiles", 0.75 * (starting + python), evidence, remedy, options)
    else:
        options = {"batch_size": 2 * run.options.get("batch_size", run.batch_size)}
        remedy = (
            f"Set the {_named('batch_size')} to {options['batch_size']}, or the {_named('chip_px')} higher; that takes "
            "about twice the memory. Fewer but larger steps change the training."
        )
        yield from _found(run, "small batch", (starting + python) / 2, evidence, remedy, options)


def _of_data(run: Run) -> Iterator[Advice]:
    """Find steps that wait for the thread that draws chips or reads tiles."""
    share = _share(run.phases, Phase.WAITING)
    if share < WAITING_SHARE:
        return
    evidence = (
        f"The step waits {percent(share)} of its time ({seconds(share * run.step_s)}) for the data thread, which "
        f"prepares {'chips' if run.what == TRAINING else 'tiles'}."
    )
    remedy = "Keep the images on a local disk as tiled GeoTIFFs, uncompressed or with a fast compression"
    options = {}
    if run.threads >= 4:  # one core is a small enough part of several to be left to the data thread
        options = {"threads": run.threads - 1}
        remedy += f", and set {_named('threads')} to {run.threads - 1}: a core for the data thread"
    yield from _found(run, "data thread starving", share, evidence, f"{remedy}.", options)


def _of_training(run: Run) -> Iterator[Advice]:
    """Find batch normalization that moves activations through memory, and activations that are computed twice."""
    if run.what != TRAINING:
        return
    share = _share(run.kinds, Kind.NORMALIZATION)
    rows = [row for row in run.primitives if row.kind == Kind.NORMALIZATION]
    bound_s = sum(row.time_s for row in rows if row.bound in (Bound.MEMORY, Bound.CACHE))
    is_bound = bound_s > 0.5 * sum(row.time_s for row in rows)
    if share >= NORMALIZATION_SHARE and is_bound and run.options.get("batch_norm") == "live":
        evidence = (
            f"Batch normalization takes {percent(share)} of the step and is bound by memory. The estimate counts "
            "passes over the activations: 8 if live, 6 if frozen."
        )
        remedy = (
            f"Set {_named('batch_norm')} to frozen. This changes the training, and needs a base model trained on such "
            "images: in RoadSeg's own trials it scored better with one seed and worse with others."
        )
        options = {"batch_norm": "frozen"}
        yield from _found(run, "batch normalization", share * FROZEN_SAVES, evidence, remedy, options)
    # The job's choice, auto for lack of memory; no where nothing is recomputed, whatever the choice.
    choice, share = run.options.get("recompute", "no"), _share(run.phases, Phase.FORWARD)
    batch_size = run.options.get("batch_size", run.batch_size)
    if choice == "no":
        return
    evidence = (
        "Activations are recomputed in the backward pass, which takes about as long as the forward pass: "
        f"{percent(share)} of the step. The backward pass takes {percent(_share(run.phases, Phase.BACKWARD))} in all."
    )
    halved = {"batch_size": batch_size // 2, "accumulation": 2 * run.options.get("accumulation", 1)}
    options = halved if batch_size > 1 else {}
    remedy = (
        f"The memory would not suffice otherwise. Halve the {_named('batch_size')} and double the "
        f"{_named('accumulation')}, which learns the same, or lower the {_named('chip_px')}."
    )
    if choice == "yes":
        options = {"recompute": "auto"}
        remedy = f"Set {_named('recompute')} to auto: activations are then kept if the memory suffices."
    yield from _found(run, "recomputing", share, evidence, remedy, options)
