"""Runs of a profile made by hand, with the values of a test and nothing else of note."""

from dataclasses import replace

from training_core.profiling.profile import Counters, Limits, PrimitiveRow, Rate, Row, Run
from training_core.profiling.rule import Context

PLAIN = Run(
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
    unaccounted_share=0.0,
    overhead_share=0.0,
    counters=Counters(),
    options={"batch_norm": "live", "recompute": "no", "accumulation": 1, "batch_size": 4},
)


def run_of(phases=None, kinds=None, primitives=(), options=None, **fields):
    """A run of 200 ms, with phases and kinds as dicts of name to share, and options beside the usual ones."""
    run = replace(PLAIN, **fields)
    rows = {
        name: tuple(Row(each, 1, share * run.step_s, share) for each, share in (parts or {}).items())
        for name, parts in (("phases", phases), ("kinds", kinds))
    }
    return replace(run, **rows, primitives=tuple(primitives), options={**PLAIN.options, **(options or {})})


def primitive(kind, share, calls=1, name="aten::some", **fields):
    """A primitive with a share of a step of 200 ms."""
    return PrimitiveRow(name, calls, share * 0.2, share, kind=kind, **fields)


def limits_of(fp32=1e12, bf16=2e12, region_s=0.0, convolution=None, **machine):
    """Limits with peaks for 4 threads, or of convolutions as given, and facts about the machine."""
    peaks = {name: (Rate(4, peak),) for name, peak in (("fp32", fp32), ("bf16", bf16)) if peak}
    return Limits(convolution or peaks, {}, {}, 1e11, 1 << 25, region_s, machine)


def context_of(*runs, engines=(), **limits):
    """What a rule knows of these runs."""
    return Context(runs, limits_of(**limits), engines)
