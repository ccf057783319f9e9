"""Rules of advice on a step: engine, precision, kernels, sizes, the parts of training.

Scope: one function a rule, each with its threshold. Independent of the machine.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Optional

from ..jobs import INFERENCE, TRAINING
from ..models.engines import BF16, ENGINES, FP32
from ..models.engines import TRAINING as TRAINING_ENGINES
from ..models.openvino_model import CLEAR_WIN
from .profile import Advice, Bound, Kind, Phase, PrimitiveRow, Run
from .rule import (
    Context,
    Rule,
    amdahl,
    described,
    estimated,
    milliseconds,
    named,
    percent,
    share_of,
    unknown,
)

# Peaks differ by a few percent by chance; a unit for a format makes its peak twice as high.
CLEAR_PEAK = 1.2
# Some copies are needed, such as casts of weights to BF16: below a twentieth they do no harm.
COPY_SHARE = 0.05
# oneDNN's last resorts; its optimized kernels are named jit, brgconv, brg_conv, brgemm, or by a library.
_LAST_RESORTS = ("ref", "simple", "gemm")
LAST_RESORT_SHARE = 0.02
# Doubling the batch halves this part: below, it gains less than 2.5 %, and takes twice the memory.
STARTING_SHARE = 0.05
# The data thread draws chips while others compute: a wait is its delay, and small ones come by chance.
WAITING_SHARE = 0.03
# With activations it takes a tenth of a BF16 step where convolutions reach 80 % of their peak, and by itself a quarter
# with AMX (benchmarks/README.md): from a tenth on, freezing it saves more than 2 %.
NORMALIZATION_SHARE = 0.1
# By passes over the activations in memory: live batch normalization takes 3 forward (statistics; read, write) and 5
# backward, frozen one 2 and 4. Freezing saves this fraction of its time where memory bounds it.
FROZEN_SAVES = 1 - (2 + 4) / (3 + 5)
# The optimizer takes 2 % of a step of 4 x 512 px, and about 10 % of one of 4 x 128 px (benchmarks/README.md).
OPTIMIZER_SHARE = 0.08
# Training gives validations at most a tenth of its time, as far as their fewest blocks allow.
VALIDATION_AIM, VALIDATION_SHARE = 0.1, 0.15


def faster_choice(run: Run, context: Context) -> Optional[Advice]:
    """Find another engine or precision that was measured clearly faster."""
    fastest = min(context.others(run), key=_pixel_s, default=run)
    if _pixel_s(fastest) >= CLEAR_WIN * _pixel_s(run):
        return None
    chosen = {"engine": fastest.engine, "precision": fastest.precision}
    options = {name: value for name, value in chosen.items() if value != getattr(run, name)}
    image_px = run.size_px**2
    return estimated(
        run,
        "a faster " + " and ".join(options),
        1 - _pixel_s(fastest) / _pixel_s(run),
        f"Measured: an image takes {milliseconds(image_px * _pixel_s(run))} with {run.engine} in {run.precision}, and "
        f"{milliseconds(image_px * _pixel_s(fastest))} with {fastest.engine} in {fastest.precision}.",
        "Set " + " and ".join(f"{named(name)} to {value}" for name, value in options.items()) + ".",
        options,
    )


def better_precision(run: Run, context: Context) -> Optional[Advice]:
    """Find a number format with a higher peak that was not measured in a run."""
    other = {FP32: BF16, BF16: FP32}.get(run.precision)
    measured = {(other_run.engine, other_run.precision) for other_run in context.others(run)}
    if other is None or (run.engine, other) in measured:
        return None
    own_peak, peak = context.limits.peak(run.precision), context.limits.peak(other)
    if not peak > CLEAR_PEAK * own_peak > 0:
        return None
    return estimated(
        run,
        "precision",
        amdahl(share_of(run.kinds, Kind.CONVOLUTION), peak / own_peak),
        f"This processor peaks at {peak / 1e9:,.0f} GFLOP/s in {other}, and {own_peak / 1e9:,.0f} in {run.precision}. "
        "The estimate makes convolutions faster by that factor, and nothing else.",
        f"Set {named('precision')} to {other}.",
        {"precision": other},
    )


def untried_engine(run: Run, context: Context, engine: str) -> Optional[Advice]:
    """Find an engine that is installed but was not measured."""
    is_able = run.what != TRAINING or engine in TRAINING_ENGINES
    measured = {run.engine, *(other.engine for other in context.others(run))}
    if not is_able or engine in measured or engine not in context.engines_at_hand:
        return None
    return unknown(
        run,
        "an engine to try",
        f"The engine {engine} is installed, and was not measured for {run.what}.",
        f"Try it, or set {named('engine')} to {engine}.",
        {"engine": engine},
    )


def slow_reorders(run: Run, context: Context) -> Optional[Advice]:
    """Find copies and reorders between memory layouts."""
    rows = [row for row in run.primitives if _copying_s(row) > 0]
    copying = share_of(run.kinds, Kind.COPY)
    reordering = sum(row.reorder_s for row in rows if row.kind != Kind.COPY) / run.step_s
    if not rows or copying < COPY_SHARE:
        return None
    worst = described(max(rows, key=_copying_s))
    return estimated(
        run,
        "slow reorders",
        copying,
        f"Copies and reorders between memory layouts take {percent(copying)} of the step, {percent(reordering)} of it "
        f"within other operations; the largest: {worst}. The estimate is an upper bound: some copies are needed.",
        f"Profile the other engines as well (set {named('engine')} to all), since each lays out tensors differently; "
        "in the code of a model, keep activations channels last.",
    )


def last_resorts(run: Run, context: Context) -> Optional[Advice]:
    """Find convolutions for which oneDNN found none of its optimized implementations."""
    rows = [row for row in run.primitives if _is_last_resort(row)]
    share = sum(row.share for row in rows)
    if share < LAST_RESORT_SHARE:
        return None
    rule = "reference implementation"
    evidence = (
        f"oneDNN computes convolutions that take {percent(share)} of the step by an implementation of last resort; "
        f"the largest: {described(max(rows, key=lambda row: row.time_s))}."
    )
    remedy = (
        f"Profile the other precision and the other engines (set {named('precision')} and {named('engine')} to all)."
    )
    gain = _catching_up(run, rows)
    if gain is None:
        return unknown(run, rule, evidence, remedy)
    evidence += " The estimate lets them come as close to their roofs as the median of the others."
    return estimated(run, rule, gain, evidence, remedy)


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
        return estimated(run, "small tiles", 0.75 * (starting + python), evidence, remedy, {"tile_px": 2 * tile_px})
    batch_size = 2 * _batch_size(run)
    remedy = (
        f"Set the {named('batch_size')} to {batch_size}, or the {named('chip_px')} higher; that takes about twice the "
        "memory. Fewer but larger steps change the training."
    )
    return estimated(run, "small batch", (starting + python) / 2, evidence, remedy, {"batch_size": batch_size})


def data_starving(run: Run, context: Context) -> Optional[Advice]:
    """Find steps that wait for the thread that draws chips or reads tiles."""
    share = share_of(run.phases, Phase.WAITING)
    if share < WAITING_SHARE:
        return None
    items = "chips" if run.what == TRAINING else "tiles"
    # One core is a small enough part of several to be left to the data thread.
    options = {"threads": run.threads - 1} if run.threads >= 4 else {}
    return estimated(
        run,
        "data thread starving",
        share,
        f"The step waits {percent(share)} of its time ({milliseconds(share * run.step_s)}) for the data thread, which "
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
    return estimated(
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
    link = "guide.md#memory-and-large-chips"
    if choice == "yes":
        remedy = f"Set {named('recompute')} to auto: activations are then kept if the memory suffices."
        return estimated(run, "recomputing", share, evidence, remedy, {"recompute": "auto"}, link)
    halved = {"batch_size": _batch_size(run) // 2, "accumulation": 2 * run.options.get("accumulation", 1)}
    remedy = (
        f"The memory would not suffice otherwise. Halve the {named('batch_size')} and double the "
        f"{named('accumulation')}, which learns the same, or lower the {named('chip_px')}."
    )
    return estimated(run, "recomputing", share, evidence, remedy, halved if _batch_size(run) > 1 else {}, link)


def large_optimizer(run: Run, context: Context) -> Optional[Advice]:
    """Find an optimizer that takes much of a small step."""
    share, batches = share_of(run.phases, Phase.OPTIMIZER_STEP), run.options.get("accumulation", 1)
    if share < OPTIMIZER_SHARE:
        return None
    return estimated(
        run,
        "large optimizer",
        share / 2,
        f"The optimizer takes {percent(share)} of a step of {run.batch_size} images of {run.size_px} px, for the same "
        "work whatever the number of images.",
        f"Set the {named('accumulation')} to {2 * batches}, so that the optimizer runs half as often. Fewer but larger "
        "steps change the training.",
        {"accumulation": 2 * batches},
    )


def large_validation(run: Run, context: Context) -> Optional[Advice]:
    """Find validations that take more time than training aims at."""
    share = share_of(run.phases, Phase.VALIDATION)
    if share < VALIDATION_SHARE:
        return None
    return estimated(
        run,
        "large validation",
        share - VALIDATION_AIM,
        f"Validations take {percent(share)} of the time, where training aims at {percent(VALIDATION_AIM)}.",
        "Hold out less: lower the validation share (validation_share) of Fine-tune a model, or give it more time.",
        link="guide.md#choosing-well",
    )


RULES: tuple[Rule, ...] = (
    faster_choice,
    better_precision,
    *(partial(untried_engine, engine=name) for name in ENGINES),
    slow_reorders,
    last_resorts,
    small_step,
    data_starving,
    normalization_bound_by_memory,
    recomputing,
    large_optimizer,
    large_validation,
)


def _pixel_s(run: Run) -> float:
    """Return the time of a pixel, in which runs of different batches and sizes compare."""
    return run.step_s / (run.batch_size * run.size_px**2)


def _copying_s(row: PrimitiveRow) -> float:
    return row.time_s if row.kind == Kind.COPY else row.reorder_s


def _is_last_resort(row: PrimitiveRow) -> bool:
    name = row.implementation.removeprefix("x64:").replace("_", ":").split(":")[0]
    return row.kind == Kind.CONVOLUTION and name in _LAST_RESORTS


def _catching_up(run: Run, slow: list[PrimitiveRow]) -> Optional[float]:
    """Return the fraction of the step saved if slow convolutions came as close to their roofs as the run's others.

    None where too little is known of their roofs.
    """
    others = [
        row.roof_share for row in run.primitives if row.kind == Kind.CONVOLUTION and row not in slow and row.roof_share
    ]
    known = [(row.share, row.roof_share) for row in slow if row.roof_share]
    if not others or not known:
        return None
    return sum(amdahl(share, median(others) / roof_share) for share, roof_share in known)


def _batch_size(run: Run) -> int:
    """Return the images of a forward pass; with accumulation, a step has more."""
    return run.options.get("batch_size", run.batch_size)
