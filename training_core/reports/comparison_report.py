"""The report of compareprofiles: what became faster or slower, as one HTML page.

Scope: what it shows, and how. Independent of how profiles are compared; what all reports share is in `page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jobs import CompareProfiles
from ..profiling.profile_comparison import Comparison, Difference, RunComparison
from .colors import GREEN, VERMILION
from .kind_colors import kind_color
from .page import ReportRecord, write_page
from .quantities import number, percent, quantity, seconds

# The page shows no longer tables; the JSON document has all rows.
MAX_ROWS = 25


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord(ReportRecord):
    """What the report of a comparison shows, besides what all reports do.

    Parameters
    ----------
    before, after : str
        Names of the profiles.
    """

    before: str
    after: str
    comparison: Comparison


def write_comparison_report(record: ComparisonRecord, path: Path) -> None:
    """Write the report of a comparison with at least one run as one self-contained HTML file without scripts."""
    write_page(
        "compareprofiles.html.j2",
        path,
        CompareProfiles,
        record,
        summary=[_sentence(run) for run in record.comparison.runs[:2]],
        runs=[_view(run) for run in record.comparison.runs],
        faster_color=GREEN,
        slower_color=VERMILION,
        **{"seconds": seconds, "quantity": quantity, "percent": percent, "number": number, "kind_color": kind_color},
    )


def change(ratio: float) -> str:
    """Return a ratio of times in words: 1.25 times as fast, 1.1 times as long, the same time."""
    if abs(ratio - 1) < 0.005 or not ratio:
        return "the same time"
    return f"{1 / ratio:.3g} times as fast" if ratio < 1 else f"{ratio:.3g} times as long"


def _sentence(run: RunComparison) -> str:
    times = f"{seconds(run.step_before_s)} before, {seconds(run.step_after_s)} after: {change(run.ratio)}"
    return f"{run.name[0].upper()}{run.name[1:]}: {times}."


def _view(run: RunComparison) -> dict[str, Any]:
    """Return what the page shows of a pair of runs, besides the pair itself."""
    tables = {
        "Phases": run.phases,
        "Kinds of operations": run.kinds,
        "Layers": run.layers,
        "Primitives": run.primitives,
    }
    return {
        "run": run,
        "change": change(run.ratio),
        "tables": {title: (rows[:MAX_ROWS], len(rows), _largest(rows)) for title, rows in tables.items()},
    }


def _largest(rows: Sequence[Difference]) -> float:
    """Return the largest share of some differences, to which bars are drawn."""
    return max((abs(row.share) for row in rows), default=0.0) or 1.0
