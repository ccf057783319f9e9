"""Rules of advice on the machine and the process on it: threads, allocator, other load, clock.

A fact about the machine that is unknown triggers no rule.

Scope: one function a rule, each with its threshold. Independent of the computation in a step.
"""

from __future__ import annotations

from typing import Optional

from .profile import Advice, Kind, Run
from .rule import Context, estimated, named, percent, share_of, unknown

# Processor time of a minor page fault of 4 KiB. On bare metal 0.1 to 0.25 us are usual. Measured in a virtual machine
# (KVM, AMD EPYC of 2024; 256 MiB written once, median of 9 in three processes): 1.3 to 1.5 us, and 0.3 us to give the
# page back. The first counts where the system's share is not known, so that the estimate is rather too low.
FAULT_S, COSTLIEST_FAULT_S = 0.25e-6, 1.8e-6
# With glibc as it is, faults took a third of the training time; RoadSeg's setting leaves a fifth of them, which must
# not fire (benchmarks/README.md).
FAULT_SHARE = 0.02
# Below, they are processes of the system itself.
STOLEN_SHARE = 0.05
# Clocks of all cores are lower than those of one by 10 to 15 % by design; below that they are throttled.
CLOCK_SHARE = 0.8
# A governor that saves power and does not raise the clock under load by more than noise.
RAISED, SAVING_GOVERNORS = 1.05, ("powersave", "conservative")


def threads_beyond_quota(run: Run, context: Context) -> Optional[Advice]:
    """Find more threads than a container has processor time for."""
    quota = context.fact("container_cores")
    if quota is None or run.threads <= max(quota, 1):
        return None
    return _fewer_threads(
        run,
        context,
        "container quota",
        max(int(quota), 1),
        f"{run.threads} threads share a container's quota of {quota:g} cores, and all wait when it is spent.",
        "no more than the quota, unless you can raise it",
    )


def threads_beyond_cores(run: Run, context: Context) -> Optional[Advice]:
    """Find two threads on one core (SMT), which share its units for convolutions."""
    cores = context.fact("cores")
    if cores is None or run.threads <= cores:
        return None
    return _fewer_threads(
        run,
        context,
        "threads beyond cores",
        int(cores),
        f"{run.threads} threads run on {cores:g} physical cores (SMT): two threads share the units of a core.",
        "one a core",
    )


def threads_across_nodes(run: Run, context: Context) -> Optional[Advice]:
    """Find threads of one process on several NUMA nodes, where memory of other nodes is slow."""
    cores, nodes = context.fact("cores"), context.fact("numa_nodes") or 1
    if cores is None or nodes < 2 or cores < nodes or run.threads <= cores // nodes:
        return None
    return _fewer_threads(
        run,
        context,
        "threads across NUMA nodes",
        int(cores // nodes),
        f"{run.threads} threads run across {nodes:g} NUMA nodes of {cores // nodes:g} cores each, and read memory of "
        "the other nodes.",
        "those of one node, and bind the process to it (numactl --cpunodebind=0 --membind=0)",
    )


def page_faults(run: Run, context: Context) -> Optional[Advice]:
    """Find memory that goes back to the system and is faulted in again at each step."""
    share = _fault_share(run)
    if share < FAULT_SHARE:
        return None
    system, facts = run.counters.system_share, context.limits.machine
    is_kept = facts.get("keeps_freed_memory")
    kept = {True: "which keeps freed memory", False: "which gives freed memory back"}
    evidence = (
        f"{run.counters.page_faults:,.0f} page faults a step; allocator: {facts.get('allocator') or 'unknown'}"
        f"{', ' + kept[is_kept] if is_kept in kept else ''}. The estimate takes {1e6 * _fault_s(run):g} us a fault, "
        f"spread over {run.threads} threads"
    )
    if system is not None:
        evidence += f", but no more than the system's share of the processor time ({percent(system)})"
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
    return estimated(run, "page faults", share, f"{evidence}.", remedy)


def busy_neighbor(run: Run, context: Context) -> Optional[Advice]:
    """Find other processes or virtual machines on the same cores."""
    stolen, cpus = run.counters.stolen_share, context.fact("cpus") or context.fact("cores")
    if stolen is None:
        return None
    idle = 1 - run.threads / cpus if cpus and run.threads < cpus else 0.0
    lost = stolen - idle  # what the cores that no thread of the run needs cannot absorb
    if lost < STOLEN_SHARE:
        return None
    return estimated(
        run,
        "busy neighbor",
        lost,
        f"Other processes or virtual machines took {percent(stolen)} of the processor time, of which "
        f"{percent(lost)} were missing here.",
        f"Close other programs and profile again, or leave them cores: lower {named('threads')}. All figures of this "
        "profile come from a busy machine.",
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
    return unknown(
        run,
        "low clock",
        f"The clock is {load:,.0f} MHz under load and {idle:,.0f} MHz idle; governor: {governor or 'unknown'}.",
        ("Set the governor to performance (cpupower frequency-set -g performance), and see" if is_saving else "See")
        + " to cooling and to the power limits.",
    )


def limited_instructions(run: Run, context: Context) -> Optional[Advice]:
    """Find instruction sets that a variable takes away from the process."""
    limit = context.limits.machine.get("instruction_sets_limited_by")
    if not limit:
        return None
    return unknown(
        run,
        "limited instruction sets",
        f"The variables {limit} take instruction sets of the processor away.",
        "Unset them, and profile again.",
    )


RULES = (
    limited_instructions,
    threads_beyond_quota,
    threads_beyond_cores,
    threads_across_nodes,
    page_faults,
    busy_neighbor,
    low_clock,
)


def _fault_share(run: Run) -> float:
    """Return the estimated share of the step that page faults take, spread over the threads."""
    faults, system = run.counters.page_faults or 0.0, run.counters.system_share
    return min(faults * _fault_s(run) / (run.threads * run.step_s), 1.0 if system is None else system)


def _fault_s(run: Run) -> float:
    return FAULT_S if run.counters.system_share is None else COSTLIEST_FAULT_S


def _fewer_threads(run: Run, context: Context, rule: str, threads: int, evidence: str, words: str) -> Optional[Advice]:
    """Advise fewer threads; their gain is estimated where the peak was measured with both numbers."""
    remedy, options = f"Set {named('threads')} to {threads}: {words}.", {"threads": threads}
    peaks = {rate.threads: rate.per_s for rate in context.limits.convolution.get(run.precision, ())}
    few, many = peaks.get(threads, 0.0), peaks.get(run.threads, 0.0)
    if not few > many > 0:
        return unknown(run, rule, evidence, remedy, options)
    evidence += (
        f" Convolutions peak at {few / 1e9:,.0f} GFLOP/s with {threads} threads, and {many / 1e9:,.0f} with "
        f"{run.threads}."
    )
    gain = share_of(run.kinds, Kind.CONVOLUTION) * (1 - many / few)
    return estimated(run, rule, gain, evidence, remedy, options) or unknown(run, rule, evidence, remedy, options)
