"""Profiles as they might be measured on a made-up machine, and runs with the values of a test alone."""

from __future__ import annotations

from dataclasses import replace

from training_core.profiling.profile import (
    Advice,
    Bound,
    Counters,
    Kind,
    Limits,
    Phase,
    Profile,
    Rate,
    Row,
    Run,
    Trial,
)

PEAK, BANDWIDTH = 1.9e12, 4.2e10
LIMITS = Limits(
    convolution={
        "fp32": (Rate(1, 1.2e11), Rate(2, 2.3e11), Rate(4, 4.4e11)),
        "bf16": (Rate(1, 5e11), Rate(2, 9.7e11), Rate(4, PEAK)),
        "int8": (Rate(1, 9e11), Rate(2, 1.8e12), Rate(4, 3.4e12)),
    },
    matrix={
        "fp32": (Rate(1, 1.3e11), Rate(2, 2.5e11), Rate(4, 4.6e11)),
        "bf16": (Rate(1, 4.7e11), Rate(2, 9.1e11), Rate(4, 1.7e12)),
    },
    bandwidth={
        "triad": (Rate(1, 1.4e10), Rate(2, 2.6e10), Rate(4, 3.9e10)),
        "read": (Rate(1, 1.6e10), Rate(2, 2.9e10), Rate(4, BANDWIDTH)),
    },
    cache_per_s=2.6e11,
    cache_bytes=33_554_432,
    parallel_region_s=4.2e-6,
    machine={"cores": 4, "numa_nodes": 1, "governor": "performance", "allocator": "glibc", "frequency_load_mhz": None},
)
# Layers of a model, all of which have a convolution and a normalization in both directions.
_LAYERS = 24


def make_run(what="training", engine="native", precision="bf16", slowness=1.0, **members):
    """A run that takes its time in proportion to `slowness`."""
    phases = [Phase.FORWARD, Phase.BACKWARD] if what == "training" else [Phase.FORWARD]
    primitives = []
    for number in range(_LAYERS):
        for phase in phases:
            channels, flop, size = 16 * (1 + number), 1e9 * (1 + number), 2e6 * (_LAYERS - number)
            shape = f"4x{channels}x48x48"
            for name, kind, bound, flop_, time_s in (
                ("convolution", Kind.CONVOLUTION, Bound.COMPUTE, flop, flop / PEAK / 0.4),
                ("native_batch_norm", Kind.NORMALIZATION, Bound.MEMORY, size, size / BANDWIDTH / 0.5),
            ):
                implementation = "brgconv:avx512_core_bf16" if kind == Kind.CONVOLUTION else ""
                primitives.append(
                    Row(
                        name, 2.0, slowness * time_s, 0.0, 0.01 * time_s, flop_, size, 0.45, bound, kind, phase, shape,
                        "channels last", precision, implementation,
                    )
                )  # fmt: skip
    busy_s = sum(row.time_s for row in primitives)
    step_s = busy_s / 0.95

    def total(**values):
        return sum(
            row.time_s for row in primitives if all(getattr(row, name) == value for name, value in values.items())
        )

    def named(times_s):
        return tuple(Row(name, 1.0, time_s, time_s / step_s, 0.01 * time_s) for name, time_s in times_s.items())

    phase_s = {Phase.WAITING: 0.05 * step_s, **{phase: total(phase=phase) for phase in phases}, "unaccounted": 0.0}
    kind_s = {kind: total(kind=kind) for kind in (Kind.CONVOLUTION, Kind.NORMALIZATION)} | {Kind.PYTHON: 0.05 * step_s}
    layers = [
        Row(f"decoder.blocks.{number}", 4.0, busy_s / _LAYERS, 0.95 / _LAYERS, 0.0, 1e9, 1e6, 0.3, Bound.COMPUTE)
        for number in range(_LAYERS)
    ]
    run = Run(
        what=what, engine=engine, precision=precision, threads=4, batch_size=4, size_px=480, step_s=step_s,
        spread_s=0.02 * step_s, steps=37, phases=named(phase_s), kinds=named(kind_s), layers=tuple(layers),
        primitives=tuple(
            sorted((replace(row, share=row.time_s / step_s) for row in primitives), key=lambda row: -row.time_s)
        ),
        unaccounted_share=0.01, overhead_share=0.013, counters=Counters(812.0, 0.043, 0.012),
        options={"batch_size": 4, "recompute": "auto"} if what == "training" else {"tile_px": 480},
    )  # fmt: skip
    return replace(run, **members)


def make_profile(*runs, **members):
    """A profile of these runs, or of a training and an inference run."""
    runs = runs or (make_run(), make_run("inference"))
    advice = (
        Advice(
            "batch normalization", runs[0].name, "Batch normalization takes 21 % of the step.",
            "Train with a smaller chip.", 0.08, {"chip_px": 384}, Trial(0.31, 0.296),
        ),
        Advice("busy neighbor", runs[-1].name, "Others took 4 % of the processor.", "Close other programs.", 0.04),
    )  # fmt: skip
    given = {
        "hardware": "A processor, 4 cores",
        "limits": LIMITS,
        "runs": runs,
        "advice": advice,
        "options": {"what": "both", "seconds": 60.0, "engine": "auto", "report": "report.html"},
        "versions": {"roadseg": "1.2.3", "torch": "2.8.0"},
        "warnings": ("The frequency under load cannot be read.",),
    }
    return Profile(**{**given, **members})


_PLAIN = Run(
    what="training",
    engine="native",
    precision="bf16",
    threads=4,
    batch_size=4,
    size_px=192,
    step_s=0.2,
    spread_s=0.01,
    steps=20,
    phases=(),
    kinds=(),
    layers=(),
    primitives=(),
    options={"batch_norm": "live", "recompute": "no", "accumulation": 1, "batch_size": 4},
)


def run_of(phases=None, kinds=None, primitives=(), options=None, **fields):
    """A run of 200 ms, with phases and kinds as dicts of name to share, and options beside the usual ones."""
    run = replace(_PLAIN, **fields)
    rows = {
        name: tuple(Row(each, 1, share * run.step_s, share) for each, share in (parts or {}).items())
        for name, parts in (("phases", phases), ("kinds", kinds))
    }
    return replace(run, **rows, primitives=tuple(primitives), options={**_PLAIN.options, **(options or {})})


def primitive(kind, share, calls=1, name="some", **fields):
    """A primitive with a share of a step of 200 ms."""
    return Row(name, calls, share * 0.2, share, kind=kind, **fields)


def limits_of(bf16=2e12, region_s=0.0, convolution=None, **machine):
    """Limits with peaks for 4 threads, or of convolutions as given, and facts about the machine."""
    return Limits(convolution or {"bf16": (Rate(4, bf16),)}, {}, {}, 1e11, 1 << 25, region_s, machine)
