"""A training by several processes in a report: its figures in words, and speed-up against the number of processes.

Scope: a ParallelRecord to words and a chart. Independent of the page around them.
"""

from __future__ import annotations

from ..distributed.parallel_record import ParallelRecord
from .charts import Series, line_chart
from .colors import BLUE, GRAY, VERMILION
from .quantities import percent, quantity, seconds

# The curve shows so many times as many processes as there were.
_SHOWN = 4


def parallel_rows(record: ParallelRecord) -> dict[str, str]:
    """Return the figures of a run in words, by label."""
    machines = f" on {record.machines} machines" if record.machines > 1 else ""
    threads = f"{record.threads} {'threads' if record.threads > 1 else 'thread'} each"
    slowest = f"the slowest process computed {percent(record.imbalance)} longer than all did on average"
    rows = {
        "Processes": f"{record.processes}{machines}, {threads}",
        "Speed-up": f"{record.speed_up:.2f} of {record.processes}",
        "Efficiency": percent(record.efficiency),
        "Communication": f"{percent(record.communication_share)} of the time of steps, "
        f"{seconds(record.communication_step_s)} a step",
        "Waiting for slower processes": percent(record.waiting_share),
        "Imbalance": slowest,
        "Sent by each process": f"{quantity(record.bytes_per_step, 'B')} a step",
    }
    if not record.waiting_s:
        del rows["Waiting for slower processes"]
    return rows


def speed_up_chart(record: ParallelRecord) -> str:
    """Return speed-up by the number of processes as SVG: ideal, as the model of this run has it, and this run."""
    model, counts = record.step_time(), range(1, _SHOWN * record.processes + 1)
    lines = [
        Series("ideal", [1, counts[-1]], [1, counts[-1]], GRAY, width=1.0),
        Series("computed from this run", counts, [model.speed_up(count) for count in counts], BLUE),
        Series("this run", [record.processes], [record.speed_up], VERMILION, dots=True),
    ]
    return line_chart("Speed-up by processes", lines, "processes", "speed-up", (0, counts[-1]))
