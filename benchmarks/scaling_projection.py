"""What follows from the measurements of `scaling.py`: the model fitted to them, and its curve for 1 to 128 nodes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from training_core.distributed.scaling import StepTime, fit_costs

if TYPE_CHECKING:
    from scaling import Measured

BYTES = {"fp32": 4, "bf16": 2}
# Of a frame on Ethernet of 1538 bytes, 1448 are payload of TCP.
PAYLOAD = 1448 / 1538
NOMINAL_GBIT_S = {"10 Gbit/s": 10, "1 Gbit/s": 1}
NODES, SHOWN_GBIT_S = (1, 2, 4, 8, 16, 32, 64, 128), (100, 10, 1)
# Horovod's documentation, docs/benchmarks.md: 128 servers of 4 GPUs, 25 Gbit/s with RoCE.
PUBLISHED = {"Inception V3, ResNet-101": 0.90, "VGG-16": 0.68}


def show(every: Sequence[Measured]) -> None:
    """Print what was measured, the model's costs, how well it fits, and its projection."""
    print("\nexchange of gradients: median, ms (least, most)")
    for each in every:
        if each.case.parameters:
            name = f"{each.values / 1e6:6.2f} M {each.case.precision}, {len(each.case.cores)} ranks, {each.case.link}"
            print(f"{name:45} {spread_of(each)}, processor {1000 * statistics.median(each.busy_s):.1f}")
    print("\nsteps: median, ms (least, most); scaling beside one core and beside two apart")
    for each in steps_of(every):
        alone, apart = (find(every, each, is_alone=is_alone) for is_alone in (True, False))
        shares = f"{chips_s(each) / chips_s(alone):5.2f} x, {chips_s(each) / chips_s(apart):5.1%}"
        print(f"{each.case.size_px} px {each.case.precision} {way_of(each):34} {spread_of(each)}  {shares}")
    base = fitted(every)
    print(f"\nfitted: {base.packing_s_per_byte * 1e9:.3f} s/GB packed, {base.handling_s_per_byte * 1e9:.3f} s/GB sent"
          f" over veth, {handling_of_loopback(every) * 1e9:.3f} over loopback, {base.latency_s * 1e6:.0f} us a message,"
          f" spread {base.spread:.1%}")  # fmt: skip
    print("\nsteps of two processes, computed from those of two apart: ms, measured, difference")
    for each in steps_of(every):
        if len(each.case.cores) == 2 and each.case.batches == 2:
            computed_s = computed(every, each).step_s(2)
            print(f"{each.case.size_px} px {each.case.precision} {way_of(each):34} {1000 * computed_s:7.0f} "
                  f"{1000 * each.median_s:7.0f} {computed_s / each.median_s - 1:+.1%}")  # fmt: skip
    project(every)


def project(every: Sequence[Measured]) -> None:
    """Print the efficiency at 128 nodes by what a rank is, link, format of the gradients, and parts."""
    print("\nefficiency at 128 nodes, 4 x 512 px in BF16 a rank")
    for name, compute_s in ranks_of(every).items():
        for gbit_s in SHOWN_GBIT_S:
            texts = []
            for precision in BYTES:
                for buckets in (1, 6):
                    model = projected(every, compute_s, gbit_s, precision, buckets)
                    texts.append(f"{precision} in {buckets}: {model.efficiency(128):4.0%}")
            print(f"{name:32} {1000 * compute_s:5.0f} ms {gbit_s:4} Gbit/s  {'  '.join(texts)}")


def ranks_of(every: Sequence[Measured]) -> dict[str, float]:
    """Return how long a rank computes by itself, by what it is: cores as here, or nodes that are faster."""
    found = {way_of(each): each.median_s for each in steps_of(every)
             if each.case.size_px == 512 and each.case.precision == "bf16" and len(each.case.cores) == 1}  # fmt: skip
    return {**found, "ten times as fast as two cores": found["two cores"] / 10}


def projected(
    every: Sequence[Measured], compute_s: float, gbit_s: float, precision: str = "fp32", buckets: int = 1
) -> StepTime:
    """Return the model of ranks of which each is a node with a network like the veth pair, but at a rate.

    Parameters
    ----------
    every : sequence of Measured
    compute_s : float
        Of a step of a rank by itself.
    gbit_s : float
    precision : str
        Of the gradients on their way.
    buckets : int
        One travels after the backward pass, several while it goes on.

    Returns
    -------
    StepTime
    """
    backward = statistics.mean(each.backward for each in steps_of(every) if len(each.case.cores) == 1)
    return replace(
        fitted(every),
        compute_s=compute_s,
        value_bytes=BYTES[precision],
        buckets=buckets,
        link_bytes_per_s=gbit_s * 1e9 / 8 * PAYLOAD,
        overlap=backward * (buckets - 1) / buckets,
    )


def computed(every: Sequence[Measured], each: Measured) -> StepTime:
    """Return the model of two processes that share batches, from the same ones apart."""
    apart, gbit_s = find(every, each, is_alone=False), NOMINAL_GBIT_S.get(each.case.link, np.inf)
    model = projected(every, apart.median_s, gbit_s, buckets=6)
    if each.case.link == "loopback":
        model = replace(model, handling_s_per_byte=handling_of_loopback(every))
    return model


def fitted(every: Sequence[Measured]) -> StepTime:
    """Return the costs of an exchange between machines, fitted to that of namespaces and of more ranks than cores."""
    packing, _, handling, latency = costs(every)
    values = max(each.values for each in every)
    return StepTime(1.0, values, packing_s_per_byte=packing, handling_s_per_byte=handling, latency_s=latency,
                    spread=spread(every))  # fmt: skip


def handling_of_loopback(every: Sequence[Measured]) -> float:
    """Return the seconds of a byte that is sent over loopback."""
    return costs(every)[1]


def costs(every: Sequence[Measured]) -> np.ndarray:
    """Return seconds of a byte packed, sent over loopback, sent over veth, and of a message: (4,), float64."""
    rows, seconds = [], []
    for each in every:
        ranks = len(each.case.cores)
        if each.case.parameters and each.case.link not in NOMINAL_GBIT_S:
            plain = StepTime(0.0, each.values, BYTES[each.case.precision], buckets=each.buckets)
            sent = plain.sent_bytes(ranks)
            by_link = (sent, 0) if each.case.link == "loopback" else (0, sent)
            rows.append([plain.gradient_bytes, *by_link, plain.messages(ranks)])
            seconds.append(each.median_s * len({core for cores in each.case.cores for core in cores}) / ranks)
    return fit_costs(np.array(rows, dtype=float), np.array(seconds))


def spread(every: Sequence[Measured]) -> float:
    """Return the standard deviation of a step within a turn, as a share of it, of two processes apart."""
    apart = [each for each in steps_of(every) if each.case.is_apart]
    turns = [each.seconds[begin : begin + each.case.repeats]
             for each in apart for begin in range(0, len(each.seconds), each.case.repeats)]  # fmt: skip
    return statistics.median(statistics.stdev(turn) / statistics.mean(turn) for turn in turns)


def steps_of(every: Sequence[Measured]) -> list[Measured]:
    """Return the measurements of training steps."""
    return [each for each in every if each.case.size_px]


def find(every: Sequence[Measured], like: Measured, is_alone: bool) -> Measured:
    """Return the measurement of one core by itself, or of two apart, of the same size and precision."""
    wanted: Callable[[Measured], bool] = (lambda each: each.case.cores == [[0]]) if is_alone else (
        lambda each: each.case.is_apart
    )  # fmt: skip
    same = (like.case.size_px, like.case.precision)
    return next(each for each in every if (each.case.size_px, each.case.precision) == same and wanted(each))


def chips_s(each: Measured) -> float:
    """Return batches a second, of all processes together."""
    return each.case.batches * (len(each.case.cores) if each.case.is_apart else 1) / each.median_s


def way_of(each: Measured) -> str:
    """Return who made the steps, in words."""
    case = each.case
    if len(case.cores) == 1:
        return f"{'one core' if len(case.cores[0]) == 1 else 'two cores'}"
    return "two processes apart" if case.is_apart else f"two processes, {case.sharing}, {case.link}"


def spread_of(each: Measured) -> str:
    """Return median, least and most in ms."""
    return f"{1000 * each.median_s:7.1f} ({1000 * min(each.seconds):.1f}, {1000 * max(each.seconds):.1f})"


def draw(every: Sequence[Measured], path: Path) -> None:
    """Draw speed-up and efficiency against nodes, with what was measured and what others published."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter, ScalarFormatter

    from training_core.reports.colors import AXIS, BLUE, GRAY, GREEN, VERMILION

    compute_s = ranks_of(every)["one core"]
    with matplotlib.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
                                "svg.hashsalt": "scaling"}):  # fmt: skip
        figure = Figure(figsize=(9.6, 4.4), layout="constrained")
        fast, shares = figure.subplots(1, 2)
        fast.plot(NODES, NODES, color=GRAY, lw=1, label="ideal")
        for gbit_s, color in zip(SHOWN_GBIT_S, (BLUE, GREEN, VERMILION)):
            for precision, style in (("fp32", "-"), ("bf16", "--")):
                model = projected(every, compute_s, gbit_s, precision, 6)
                label = f"{gbit_s} Gbit/s, {precision.upper()}"
                fast.plot(NODES, [model.speed_up(count) for count in NODES], style, color=color, label=label)
                shares.plot(NODES, [model.efficiency(count) for count in NODES], style, color=color)
        for each in steps_of(every):
            if each.case.size_px == 512 and each.case.precision == "bf16" and each.case.batches == 2:
                efficiency = chips_s(each) / 2 / chips_s(find(every, each, is_alone=True))
                shares.plot([2], [efficiency], "o", color=AXIS, ms=5, mfc="none")
                shares.annotate(f"measured, {each.case.link}", (2, efficiency), (6, -3), textcoords="offset points",
                                fontsize=7, color=AXIS)  # fmt: skip
        for name, efficiency in PUBLISHED.items():
            shares.plot([128], [efficiency], "s", color=GRAY, ms=5)
            shares.annotate(f"Horovod, 25 Gbit/s, {name}", (128, efficiency), (-6, -3), textcoords="offset points",
                            fontsize=7, color=GRAY, ha="right")  # fmt: skip
        shares.axhline(0.85, color=GRAY, lw=0.8, ls=":")
        fast.set(xscale="log", yscale="log", xlabel="nodes", ylabel="speed-up")
        shares.set(xscale="log", xlabel="nodes", ylabel="efficiency", ylim=(0, 1.05))
        shares.yaxis.set_major_formatter(PercentFormatter(1))
        for axes in (fast, shares):
            axes.set_xticks(NODES, minor=False)
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.minorticks_off()
            axes.grid(color="#e3e7eb", lw=0.8)
            axes.spines[["top", "right"]].set_visible(False)
        fast.set_yticks(NODES)
        fast.yaxis.set_major_formatter(ScalarFormatter())
        fast.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})
