"""What follows from the measurements of `scaling.py`: the model fitted to them, how well it fits, 1 to 128 nodes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.scaling_model import StepTime, fit_costs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.scaling import Measured

LOOPBACK, LIMITED_GBIT_S = "loopback", {"10 Gbit/s": 10.0, "1 Gbit/s": 1.0}
BYTES = {"fp32": 4, "bf16": 2}
# Of a frame on Ethernet of 1538 bytes, 1448 are payload of TCP.
PAYLOAD = 1448 / 1538
NODES, GBIT_S, GOAL = (1, 2, 4, 8, 16, 32, 64, 128), (100, 10, 1), 0.85
# Horovod's documentation, docs/benchmarks.md: 128 servers of 4 GPUs, 25 Gbit/s with RoCE.
PUBLISHED = {"Inception V3, ResNet-101": 0.90, "VGG-16": 0.68}


def show(every: Sequence[Measured]) -> None:
    """Print what was measured, the costs fitted to it, steps measured and computed, and the projection."""
    print("\nexchange of gradients: median, ms (least, most), and processor")
    for each in every:
        if each.values:
            name = f"{each.values / 1e6:.2f} M {each.case.precision}, {len(each.case.cores)} ranks, {each.case.link}"
            print(f"{name:36} {in_ms(each)} {1000 * statistics.median(each.busy_s):7.1f}")
    print("\nsteps: median, ms (least, most); speed-up beside one core; share of the pace of two processes apart")
    for each in steps_of(every):
        alone, apart = like(every, each, "one core"), like(every, each, "two processes apart")
        print(f"{named(each)} {in_ms(each)} {pace(each) / pace(alone):6.2f} {pace(each) / pace(apart):7.1%}")
    packing, loopback, veth, latency = costs(every)
    print(f"\nfitted: {packing * 1e9:.2f} s/GB packed, {loopback * 1e9:.2f} and {veth * 1e9:.2f} s/GB sent by loopback "
          f"and by veth, {latency * 1e6:.0f} us a message; spread {spread(every):.1%}")  # fmt: skip
    print("\nsteps of two processes: measured, and computed from those of two apart, ms")
    for each in steps_of(every):
        if each.case.batches == 2:
            computed_s = computed(every, each).step_s(2)
            print(f"{named(each)} {1000 * each.median_s:7.0f} {1000 * computed_s:7.0f} "
                  f"{computed_s / each.median_s - 1:+.1%}")  # fmt: skip
    print(f"\nefficiency at {NODES[-1]} nodes, 4 x 512 px in BF16 a rank; gradients in FP32, in BF16")
    for rank, compute_s in ranks(every).items():
        for gbit_s in GBIT_S:
            both = (projected(every, compute_s, gbit_s, precision).efficiency(NODES[-1]) for precision in BYTES)
            shares = "  ".join(f"{share:4.0%}" for share in both)
            print(f"{rank:32} {1000 * compute_s:5.0f} ms {gbit_s:4} Gbit/s  {shares}")


def ranks(every: Sequence[Measured]) -> dict[str, float]:
    """Return for how long a rank computes 4 chips of 512 px by itself, by what it is: measured ones, and a fast one."""
    found = {way(each): each.median_s for each in steps_of(every)
             if (each.case.size_px, each.case.precision, len(each.case.cores)) == (512, "bf16", 1)}  # fmt: skip
    return {**found, "ten times as fast as two cores": found["two cores"] / 10}


def projected(every: Sequence[Measured], compute_s: float, gbit_s: float, precision: str = "fp32") -> StepTime:
    """Return the model of nodes joined as by the veth pair, but at another rate.

    Parameters
    ----------
    compute_s : float
        Of a step of a rank by itself.
    precision : str
        Of the gradients on their way.
    """
    packing, _, handling, latency = costs(every)
    return StepTime(
        compute_s,
        max(each.values for each in every),
        BYTES[precision],
        packing_s_per_byte=packing,
        handling_s_per_byte=handling,
        latency_s=latency,
        link_bytes_per_s=gbit_s * 1e9 / 8 * PAYLOAD,
        spread=spread(every),
        overlap=statistics.mean(each.backward for each in steps_of(every) if len(each.case.cores) == 1),
    )


def computed(every: Sequence[Measured], each: Measured) -> StepTime:
    """Return the model of two processes that share batches, from the same ones apart."""
    compute_s = like(every, each, "two processes apart").median_s
    model = projected(every, compute_s, LIMITED_GBIT_S.get(each.case.link, np.inf))
    return replace(model, handling_s_per_byte=costs(every)[1]) if each.case.link == LOOPBACK else model


def costs(every: Sequence[Measured]) -> np.ndarray:
    """Return seconds of a byte packed, of one sent over loopback, over veth, and of a message: (4,), float64.

    Where there are more ranks than cores, these share the time.
    """
    rows, seconds = [], []
    for each in every:
        if each.values and each.case.link not in LIMITED_GBIT_S:
            count, model = len(each.case.cores), StepTime(0.0, each.values, BYTES[each.case.precision])
            is_local = each.case.link == LOOPBACK
            sent = model.sent_bytes(count) * np.array([is_local, not is_local])
            rows.append([model.gradient_bytes, *sent, model.messages(count)])
            seconds.append(each.median_s * 2 / count)
    return fit_costs(np.array(rows), np.array(seconds))


def spread(every: Sequence[Measured]) -> float:
    """Return the standard deviation of a step within a turn, as a share of it, of two processes apart."""
    turns = [each.seconds[first : first + each.case.repeats] for each in steps_of(every) if each.case.is_apart
             for first in range(0, len(each.seconds), each.case.repeats)]  # fmt: skip
    return statistics.median(statistics.stdev(turn) / statistics.mean(turn) for turn in turns)


def steps_of(every: Sequence[Measured]) -> list[Measured]:
    """Return the measurements of training steps."""
    return [each for each in every if each.case.size_px]


def like(every: Sequence[Measured], other: Measured, wanted: str) -> Measured:
    """Return the measurement of another way to make the same steps."""
    same = (other.case.size_px, other.case.precision, wanted)
    return next(each for each in every if (each.case.size_px, each.case.precision, way(each)) == same)


def pace(each: Measured) -> float:
    """Return batches a second, of all processes together."""
    return each.case.batches * (len(each.case.cores) if each.case.is_apart else 1) / each.median_s


def way(each: Measured) -> str:
    """Return who made the steps, in words."""
    case = each.case
    if len(case.cores) == 1:
        return "two cores" if len(case.cores[0]) == 2 else "one core"
    return "two processes apart" if case.is_apart else f"two processes, {case.link}"


def named(each: Measured) -> str:
    """Return what was measured."""
    return f"{each.case.size_px} px {each.case.precision} {way(each):34}"


def in_ms(each: Measured) -> str:
    """Return median, least and most in ms."""
    return f"{1000 * each.median_s:7.1f} ({1000 * min(each.seconds):.1f}, {1000 * max(each.seconds):.1f})"


def draw(every: Sequence[Measured], path: Path) -> None:
    """Draw speed-up and efficiency against nodes, with what was measured and what others published."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    from training_core.reports.colors import BLUE, GRAY, GREEN, VERMILION

    style = {"svg.fonttype": "none", "svg.hashsalt": "scaling", "font.family": "sans-serif", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        fast, shares = figure.subplots(1, 2)
        fast.plot(NODES, NODES, color=GRAY, lw=1, label="ideal")
        for gbit_s, color in zip(GBIT_S, (BLUE, GREEN, VERMILION)):
            for precision, line in (("fp32", "-"), ("bf16", "--")):
                model = projected(every, ranks(every)["one core"], gbit_s, precision)
                label = f"{gbit_s} Gbit/s, {precision.upper()}"
                fast.plot(NODES, [model.speed_up(count) for count in NODES], line, color=color, label=label)
                shares.plot(NODES, [model.efficiency(count) for count in NODES], line, color=color)
        for each in steps_of(every):
            if (each.case.size_px, each.case.precision, each.case.batches) == (512, "bf16", 2):
                point = (2, pace(each) / pace(like(every, each, "two processes apart")))
                _mark(shares, point, f"measured, {each.case.link}", "o", "left", -3)
        for name, efficiency in PUBLISHED.items():
            _mark(shares, (128, efficiency), f"Horovod on GPUs, {name}", "s", "right", 8)
        shares.axhline(GOAL, color=GRAY, lw=0.8, ls=":")
        fast.set(xscale="log", yscale="log", xlabel="nodes", ylabel="speed-up", title="One core a node, 4 x 512 px")
        shares.set(xscale="log", xlabel="nodes", ylabel="efficiency", ylim=(0, 1.05))
        shares.yaxis.set_major_formatter(PercentFormatter(1))
        for axes in (fast, shares):
            axes.set_xticks(NODES, [str(count) for count in NODES])
            axes.minorticks_off()
            axes.grid(color="#e3e7eb", lw=0.8)
            axes.spines[["top", "right"]].set_visible(False)
        fast.set_yticks(NODES, [str(count) for count in NODES])
        fast.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _mark(axes: Axes, point: tuple[float, float], text: str, marker: str, side: str, up: int) -> None:
    """Mark a point, and write beside it, so many points higher, what it is."""
    from training_core.reports.colors import AXIS

    axes.plot(*point, marker, color=AXIS, ms=5, mfc="none")
    shift = (7 if side == "left" else 4, up)
    axes.annotate(text, point, shift, textcoords="offset points", fontsize=7, color=AXIS, ha=side)
