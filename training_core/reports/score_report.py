"""The report of a network's scores: what is told of them, and how.

Knows nothing of how they are found; what all reports share is in `pages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..comparison.apls import Apls
from ..comparison.line_metrics import LineScores
from ..comparison.topo import Topo
from ..jobs import ScoreNetwork
from . import overlays
from .charts import GRAY, GREEN, ORANGE, Series, line_chart
from .maps import MapLines, line_map
from .page import settings_of, shares_of, write_page

# What each kind of line is, in which color, and how wide on the map.
KINDS = {
    "matched": ("proposed and true", overlays.HIT_COLOR, 1.6),
    "false": ("proposed, but not true", overlays.FALSE_ALARM_COLOR, 2.6),
    "missed": ("true, but not proposed", overlays.MISS_COLOR, 2.6),
}


@dataclass(frozen=True)
class NetworkSummary:
    """What there is to tell of a network, as a graph.

    Parameters
    ----------
    name : str
    lines, bridges : int
        Lines that were read, and how many of them are bridges.
    length_m : float
        Of all edges; what lies twice in the layer counts once.
    nodes, edges, components : int
        Junctions and ends, roads between them, and parts that hang together.
    """

    name: str
    lines: int
    bridges: int
    length_m: float
    nodes: int
    edges: int
    components: int


@dataclass(frozen=True)
class NetworkRecord:
    """All that the report of a network's scores tells.

    Parameters
    ----------
    options : mapping of str to anything
        The job's fields.
    truth, proposal : str
        The layers' names.
    apls, apls_time, topo, lines, relaxed
        The scores; see `scorenetwork.NetworkScores`.
    sentences : sequence of str
        Each score with all that it depends on.
    sweep : sequence of LineScores
        By tolerance.
    summaries : sequence of NetworkSummary
    parts : mapping of str to ndarray (n,) of LineString
        Lines in meters by their kind.
    timings_s : mapping of str to float
        Seconds by part of the work.
    warnings : sequence of str
    versions : mapping of str to str
        Of what computed, by name.
    """

    options: Mapping[str, Any]
    truth: str
    proposal: str
    apls: Apls
    apls_time: Optional[Apls]
    topo: Topo
    lines: LineScores
    relaxed: LineScores
    sentences: Sequence[str]
    sweep: Sequence[LineScores]
    summaries: Sequence[NetworkSummary]
    parts: Mapping[str, np.ndarray]
    timings_s: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


def write_network_report(record: NetworkRecord, path: Path) -> None:
    """Write the report of a network's scores as one HTML file without scripts and references to anything outside."""
    colors = {kind: "#{:02x}{:02x}{:02x}".format(*color) for kind, (_, color, _) in KINDS.items()}
    lines = {kind: MapLines(record.parts[kind], colors[kind], KINDS[kind][2]) for kind in KINDS}
    lengths_m = {kind: sum(line.length for line in record.parts[kind]) for kind in KINDS}
    charts = {
        "map": line_map("Matched, missed and false roads", lines),
        "sweep": _sweep_chart(record),
    }
    write_page(
        "scorenetwork.html.j2",
        path,
        record=record,
        charts=charts,
        kinds=[(kind, KINDS[kind][0], colors[kind], lengths_m[kind]) for kind in KINDS],
        timings=shares_of(record.timings_s),
        settings=settings_of(ScoreNetwork, record.options),
    )


def _sweep_chart(record: NetworkRecord) -> str:
    tolerances_m = [scores.tolerance_m for scores in record.sweep]
    lines = [
        Series("quality", tolerances_m, [scores.quality for scores in record.sweep], ORANGE),
        Series("completeness", tolerances_m, [scores.completeness for scores in record.sweep], GREEN, width=1.3),
        Series("correctness", tolerances_m, [scores.correctness for scores in record.sweep], GRAY, width=1.3),
    ]
    used_m = record.lines.tolerance_m
    return line_chart(
        "Scores by tolerance", lines, "tolerance in m", "score", (0, 1.02), (used_m, f"used: {used_m:g} m")
    )
