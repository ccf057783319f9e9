"""The report of scorenetwork: APLS, TOPO and length-based scores, as one HTML page.

Scope: its content. Independent of how scores are computed; `page` has the parts of all reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..comparison.buffer_matching import LineScores
from ..comparison.network_scores import NetworkScores
from ..jobs import ScoreNetwork
from .charts import line_chart, lines_of_scores
from .colors import FALSE_ALARM_COLOR, HIT_COLOR, MISS_COLOR
from .maps import MapLines, line_map
from .page import ReportRecord, write_page

# The meaning of each kind of line, its color, and its width on the map.
KINDS = {
    "matched": ("in both networks", HIT_COLOR, 1.6),
    "false": ("proposed but not true (false positive)", FALSE_ALARM_COLOR, 2.6),
    "missed": ("true but not proposed (false negative)", MISS_COLOR, 2.6),
}


@dataclass(frozen=True, kw_only=True)
class NetworkRecord(ReportRecord):
    """The content of the report of a network's scores, in addition to that of all reports.

    Summaries are as from `network_scores.size_of`. Sentences have each score in words, with all its parameters. The
    sweep has length-based scores by tolerance. Parts are `LineString`s by kind, (n,) object, in meters.
    """

    scores: NetworkScores
    sentences: Sequence[str]
    sweep: Sequence[LineScores]
    summaries: Sequence[Mapping[str, Any]]
    parts: Mapping[str, np.ndarray]


def write_network_report(record: NetworkRecord, path: Path) -> None:
    """Write the report of a network's scores as one self-contained HTML file without scripts."""
    lines = {kind: MapLines(record.parts[kind], color, width) for kind, (_, color, width) in KINDS.items()}
    lengths_m = {kind: sum(line.length for line in record.parts[kind]) for kind in KINDS}
    tolerances_m, used_m = [scores.tolerance_m for scores in record.sweep], record.scores.lines.tolerance_m
    curves = lines_of_scores(tolerances_m, record.sweep, ("quality", "completeness", "correctness"))
    marked = used_m, f"used: {used_m:g} m"
    sweep = line_chart("Scores by tolerance", curves, "tolerance in m", "score", (0, 1.02), marked)
    charts = {"map": line_map("Matched, missed and false roads", lines), "sweep": sweep}
    write_page(
        "scorenetwork.html.j2",
        path,
        ScoreNetwork,
        record,
        charts=charts,
        kinds=[(kind, *KINDS[kind][:2], lengths_m[kind]) for kind in KINDS],
    )
