"""Rules of advice on what a step computes: layouts, number formats, kernels, sizes, the parts of training.

Scope: one function a rule, each with its threshold. Independent of the machine and of other runs.
"""

from __future__ import annotations

from typing import Optional

from .profile import (
    ACTIVATION,
    ADDITION,
    BACKWARD,
    CACHE,
    COMPUTE,
    CONVERSION,
    CONVOLUTION,
    COPY,
    FORWARD,
    MEMORY,
    NORMALIZATION,
    OPTIMIZER_STEP,
    POOLING,
    PYTHON,
    UPSAMPLING,
    VALIDATION,
    WAITING,
    Advice,
    PrimitiveRow,
    Run,
)
from .rule import (
    INFERENCE,
    TRAINING,
    Context,
    amdahl,
    catching_up,
    described,
    estimated,
    largest,
    milliseconds,
    named,
    percent,
    share_of,
    unknown,
)

# Some copies are needed, such as casts of weights to BF16: below a twentieth they are no trouble.
COPY_SHARE = 0.05
# A first layer whose image comes as contiguous bands takes less.
CONTIGUOUS_SHARE = 0.02
# Halving the bytes of operations that take less would save less than 1.5 %.
FP32_SHARE = 0.03
# Of the roof: an operation that comes closer to it would gain little from another kernel.
FP32_ROOF_SHARE = 0.5
# In a step of BF16 the model's layers should compute in it; loss and optimizer are FP32 on purpose.
_LAYERS = (CONVOLUTION, NORMALIZATION, ACTIVATION, POOLING, UPSAMPLING, ADDITION)
# oneDNN's last resorts; what it optimizes is named jit, brgconv, brg_conv, brgemm, or by a library.
_LAST_RESORTS = ("ref", "simple", "gemm")
LAST_RESORT_SHARE = 0.02
# What a larger batch halves: below this, doubling it gains less than 2.5 %, and takes twice the memory.
STARTING_SHARE = 0.05
# The data thread draws chips while others compute: a wait is its delay, and small ones come by chance.
WAITING_SHARE = 0.03
# With activations it takes a tenth of a BF16 step where convolutions reach 80 % of their peak, and by itself a quarter
# with AMX (benchmarks/README.md): from a tenth on, freezing it saves more than 2 %.
NORMALIZATION_SHARE = 0.1
# By passes over the activations in memory: live batch normalization takes 3 forward (statistics; read, write) and 5
# backward, frozen one 2 and 4. So much of its time is saved where memory bounds it.
FROZEN_SAVES = 1 - (2 + 4) / (3 + 5)
# The optimizer takes 2 % of a step of 4 x 512 px, and about 10 % of one of 4 x 128 px (benchmarks/README.md).
OPTIMIZER_SHARE = 0.08
AVERAGING_SHARE = 0.02
# Training gives validations a tenth of its time at most, as far as their fewest blocks allow.
VALIDATION_AIM, VALIDATION_SHARE = 0.1, 0.15
CONVERSION_SHARE = 0.1


def slow_reorders(run: Run, context: Context) -> Optional[Advice]:
    """Find copies and reorders between memory layouts."""
    rows = [row for row in run.primitives if _copying_s(row) > 0]
    copying = share_of(run.kinds, COPY)
    reordering = sum(row.reorder_s for row in rows if row.kind != COPY) / run.step_s
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


def not_channels_last(run: Run, context: Context) -> Optional[Advice]:
    """Find convolutions of contiguous activations, which oneDNN computes slower, or reorders."""
    rows = [
        row
        for row in run.primitives
        if row.kind == CONVOLUTION and row.layout == "contiguous" and not _is_last_resort(row.implementation)
    ]
    share = sum(row.share for row in rows)
    if share < CONTIGUOUS_SHARE:
        return None
    return _of_slow_convolutions(
        run,
        "not channels last",
        rows,
        f"Convolutions of contiguous activations take {percent(share)} of the step; the largest: {largest(rows)}.",
        "Hand the model channels-last tensors: in its code, look for what makes the activations before these layers "
        "contiguous, such as a view, a permutation or a concatenation.",
    )


def fp32_within_bf16(run: Run, context: Context) -> Optional[Advice]:
    """Find layers that compute in FP32 in a step of BF16, far from their roof."""
    rows = [
        row
        for row in run.primitives
        if row.dtype == "fp32" and row.kind in _LAYERS and not _is_last_resort(row.implementation)
        if row.roof_share and row.roof_share < FP32_ROOF_SHARE
    ]
    share = sum(row.share for row in rows)
    if run.precision != "bf16" or share < FP32_SHARE:
        return None
    peak = context.limits.peak
    faster = peak("bf16") / peak("fp32") if peak("fp32") else 1
    return estimated(
        run,
        "FP32 within BF16",
        sum(amdahl(row.share, faster if row.bound == COMPUTE else 2) for row in rows),  # half the bytes
        f"Operations in FP32 take {percent(share)} of a step in BF16, and stay below {percent(FP32_ROOF_SHARE)} of "
        f"their roofs; the largest: {largest(rows)}. The estimate takes BF16 as {max(faster, 1):.1f} times as fast "
        "where the processor bounds them, and as twice as fast where memory does.",
        f"Nothing in a job changes this; another {named('engine')} may have kernels for BF16: set it to all.",
    )


def last_resorts(run: Run, context: Context) -> Optional[Advice]:
    """Find convolutions for which oneDNN found none of its optimized implementations."""
    rows = [row for row in run.primitives if row.kind == CONVOLUTION and _is_last_resort(row.implementation)]
    share = sum(row.share for row in rows)
    if share < LAST_RESORT_SHARE:
        return None
    return _of_slow_convolutions(
        run,
        "reference implementation",
        rows,
        f"oneDNN computes convolutions that take {percent(share)} of the step by an implementation of last resort; "
        f"the largest: {largest(rows)}.",
        f"Profile the other precision and the other engines (set {named('precision')} and {named('engine')} to all).",
    )


def small_step(run: Run, context: Context) -> Optional[Advice]:
    """Find time to start threads and in Python, which a larger batch or tile spreads over more pixels."""
    calls = sum(row.calls for row in run.primitives)
    starting = calls * context.limits.parallel_region_s / run.step_s if run.threads > 1 else 0.0
    python = share_of(run.kinds, PYTHON)
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
        "memory. Fewer but larger steps change what is learned."
    )
    return estimated(run, "small batch", (starting + python) / 2, evidence, remedy, {"batch_size": batch_size})


def data_starving(run: Run, context: Context) -> Optional[Advice]:
    """Find out whether steps wait for the thread that draws chips or reads tiles."""
    share = share_of(run.phases, WAITING)
    if share < WAITING_SHARE:
        return None
    drawn = "chips" if run.what == TRAINING else "tiles"
    return estimated(
        run,
        "data thread starving",
        share,
        f"The step waits {percent(share)} of its time ({milliseconds(share * run.step_s)}) for the data thread, which "
        f"prepares {drawn}.",
        "Keep the images on a local disk as tiled GeoTIFFs, uncompressed or with a fast compression"
        + (f", and set {named('threads')} to {run.threads - 1}: a core for the data thread." if _spares(run) else "."),
        {"threads": run.threads - 1} if _spares(run) else {},
    )


def normalization_bound_by_memory(run: Run, context: Context) -> Optional[Advice]:
    """Find batch normalization that moves activations through memory, in training."""
    share = share_of(run.kinds, NORMALIZATION)
    rows = [row for row in run.primitives if row.kind == NORMALIZATION]
    bound_s = sum(row.time_s for row in rows if row.bound in (MEMORY, CACHE))
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
        f"Set {named('batch_norm')} to frozen. This changes what is learned, and needs a base model trained on such "
        "images: in RoadSeg's own trials it scored better with one seed and worse with others.",
        {"batch_norm": "frozen"},
    )


def recomputing(run: Run, context: Context) -> Optional[Advice]:
    """Find activations that are computed a second time in the backward pass."""
    choice, share = run.options.get("recompute"), share_of(run.phases, FORWARD)
    if run.what != TRAINING or not (choice == "yes" or run.options.get("is_recomputing")):
        return None
    evidence = (
        "Activations are recomputed in the backward pass, which takes about as long as the forward pass: "
        f"{percent(share)} of the step. The backward pass takes {percent(share_of(run.phases, BACKWARD))} in all."
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
    """Find out whether the optimizer takes much of a small step."""
    share, batches = share_of(run.phases, OPTIMIZER_STEP), run.options.get("accumulation", 1)
    if share < OPTIMIZER_SHARE:
        return None
    return estimated(
        run,
        "large optimizer",
        share / 2,
        f"The optimizer takes {percent(share)} of a step of {run.batch_size} images of {run.size_px} px, for the same "
        "work whatever the number of images.",
        f"Set the {named('accumulation')} to {2 * batches}, so that the optimizer runs half as often. Fewer but larger "
        "steps change what is learned.",
        {"accumulation": 2 * batches},
    )


def weight_averaging(run: Run, context: Context) -> Optional[Advice]:
    """Find out whether the moving average of the weights takes much of a step."""
    rows = [row for row in run.primitives if "_foreach_lerp" in row.name]  # RoadSeg's optimizers call none
    share = sum(row.share for row in rows)
    if not run.options.get("averaging") or share < AVERAGING_SHARE:
        return None
    return estimated(
        run,
        "weight averaging",
        share,
        f"The moving average of the weights takes {percent(share)} of the step.",
        f"Set {named('averaging')} to 0, if the model scores as well without; or take larger steps.",
        {"averaging": 0.0},
    )


def large_validation(run: Run, context: Context) -> Optional[Advice]:
    """Find out whether validations take more than training means to give them."""
    share = share_of(run.phases, VALIDATION)
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


def large_conversion(run: Run, context: Context) -> Optional[Advice]:
    """Find out whether the conversion of probabilities to bytes, which one thread does, takes much."""
    share = share_of(run.phases, CONVERSION)
    if share < CONVERSION_SHARE:
        return None
    return estimated(
        run,
        "large conversion",
        amdahl(share, run.threads),
        f"The conversion of probabilities to bytes takes {percent(share)} of the time. The estimate spreads it over "
        f"{run.threads} threads.",
        "Nothing in a job changes this; in RoadSeg's code, convert in parallel to the next tile.",
    )


RULES = (
    slow_reorders,
    not_channels_last,
    fp32_within_bf16,
    last_resorts,
    small_step,
    data_starving,
    normalization_bound_by_memory,
    recomputing,
    large_optimizer,
    weight_averaging,
    large_validation,
    large_conversion,
)


def _copying_s(row: PrimitiveRow) -> float:
    return row.time_s if row.kind == COPY else row.reorder_s


def _is_last_resort(implementation: str) -> bool:
    return implementation.removeprefix("x64:").replace("_", ":").split(":")[0] in _LAST_RESORTS


def _batch_size(run: Run) -> int:
    """Return the images of a forward pass; with accumulation, a step has more."""
    return run.options.get("batch_size", run.batch_size)


def _spares(run: Run) -> bool:
    """Whether a core is a small enough part of all to be left to the data thread."""
    return run.threads >= 4


def _of_slow_convolutions(
    run: Run, rule: str, rows: list[PrimitiveRow], evidence: str, remedy: str
) -> Optional[Advice]:
    gain = catching_up(run, rows)
    if gain is None:
        return unknown(run, rule, evidence, remedy)
    return estimated(
        run, rule, gain, f"{evidence} The estimate lets them come as close to their roofs as the median of the others.",
        remedy,
    )  # fmt: skip
