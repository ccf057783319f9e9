"""Scores of a proposed road network against a true one: both as graphs in one plane, all scores, what differs.

Scope: which scores a network gets, and what they depend on. Each score has a module of its own. Independent of reports.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Optional

import geopandas
import numpy as np
import pyproj

from ..errors import LayerError
from ..events import Reporter
from ..geodata.vectors import read_area
from ..jobs import ScoreNetwork
from ..networks.lines import LineFields, area_in, clipped, lines_in, read_line_layer, shared_plane, with_speeds
from ..networks.road_graph import RoadGraph, contracted, make_road_graph
from ..system.machine import versions
from ..system.work import Stages
from .buffer_matching import Intervals, LineScores, complement, matched_intervals, score_lines
from .path_scores import Apls, Topo, score_apls, score_topo

TRUTH, PROPOSAL = "true roads", "proposed roads"
MATCHED, MISSED, FALSE = "matched", "missed", "false"


@dataclass(frozen=True)
class Networks:
    """Two networks in one plane, and where that lies."""

    truth: RoadGraph  # contracted, as the proposal
    proposal: RoadGraph
    plane: pyproj.CRS
    crs: pyproj.CRS  # that of the truth's layer


@dataclass(frozen=True)
class NetworkScores:
    """All scores of a proposal."""

    apls: Apls  # by length
    apls_time: Optional[Apls]  # by travel time; None where speeds are not known
    topo: Topo
    lines: LineScores  # with the tolerance of completeness
    relaxed: LineScores  # with that of relaxed scores


def read_networks(job: ScoreNetwork, reporter: Reporter) -> Networks:
    """Read both layers, each in its own CRS, and make them graphs.

    Raises LayerError if a layer cannot be read, or the truth has no line in the area of interest.
    """
    fields = {
        TRUTH: LineFields(job.truth_bridge_field, job.truth_speed_field, job.speed_unit),
        PROPOSAL: LineFields(job.proposal_bridge_field, job.proposal_speed_field, job.speed_unit),
    }
    paths = {TRUTH: job.truth, PROPOSAL: job.proposal}
    layers = {name: read_line_layer(path, name, fields[name], reporter) for name, path in paths.items()}
    plane = shared_plane(*layers.values(), of=" and ".join(paths.values()))
    lines = {name: lines_in(plane, layer, fields[name]) for name, layer in layers.items()}
    if job.aoi:
        area = area_in(plane, read_area(job.aoi))
        lines = {name: clipped(network, area) for name, network in lines.items()}
    if not len(lines[TRUTH]):
        where = "in the area of interest" if job.aoi else "of any length"
        raise LayerError(f"The {TRUTH} ({job.truth}) have no line {where}.", "Choose another layer or area.")
    if not len(lines[PROPOSAL]):
        reporter.warning("There are no proposed roads to score: all scores are 0.")
    if job.truth_speed_field:
        lines = {
            name: with_speeds(network, name, paths[name], fields[name].speed, reporter)
            for name, network in lines.items()
        }
    truth, proposal = (
        contracted(make_road_graph(lines[name], job.join_m, f"{name} ({path})")) for name, path in paths.items()
    )
    return Networks(truth, proposal, plane, layers[TRUTH].crs)


def score(networks: Networks, job: ScoreNetwork, stages: Stages) -> NetworkScores:
    """Return all scores."""
    pair = networks.truth, networks.proposal
    with stages.timed("APLS by length", 0.1, 0.4) as reporter:
        by_length = score_apls(*pair, reporter, job.snap_m, job.spacing_m)
    by_time = None
    if job.truth_speed_field:
        with stages.timed("APLS by time", 0.4, 0.65) as reporter:
            by_time = score_apls(*pair, reporter, job.snap_m, job.spacing_m, by_time=True)
    with stages.timed("TOPO", 0.65, 0.9) as reporter:
        topo = score_topo(*pair, reporter, job.radius_m, job.hole_m, job.seed_m, job.interval_m)
    with stages.timed("lengths", 0.9, 0.95):
        lines, relaxed = (score_lines(*pair, tolerance_m) for tolerance_m in (job.tolerance_m, job.relaxed_m))
    return NetworkScores(by_length, by_time, topo, lines, relaxed)


def to_document(job: ScoreNetwork, networks: Networks, scores: NetworkScores) -> dict[str, Any]:
    """Return the scores as they are written to JSON, each with all that it depends on."""
    sampling = {"snap_m": job.snap_m, "spacing_m": job.spacing_m, "mean": "harmonic"}
    topo, lines, relaxed = scores.topo, scores.lines, scores.relaxed
    return {
        "apls": {**asdict(scores.apls), "weight": "length", **sampling},
        "apls_time": {**asdict(scores.apls_time), "weight": "time", **sampling} if scores.apls_time else None,
        "topo": {
            "precision": topo.precision,
            "recall": topo.recall,
            "f1": topo.f1,
            **asdict(topo),
            **{name: getattr(job, name) for name in ("radius_m", "hole_m", "seed_m", "interval_m")},
        },
        "lines": {
            "completeness": lines.completeness,
            "correctness": lines.correctness,
            "quality": lines.quality,
            **asdict(lines),
        },
        "relaxed": {
            "precision": relaxed.correctness,
            "recall": relaxed.completeness,
            "f1": relaxed.f1,
            "tolerance_m": relaxed.tolerance_m,
        },
        "truth": size_of(TRUTH, networks.truth),
        "proposal": size_of(PROPOSAL, networks.proposal),
        "join_m": job.join_m,
        "versions": versions(),
    }


def summary_sentences(document: dict[str, Any]) -> list[str]:
    """Return each score in a sentence, with the distances and the sampling that it depends on."""
    sentences = []
    for apls in filter(None, (document["apls"], document["apls_time"])):
        routable = apls["truth_in_proposal"]["routable"] / max(1, apls["truth_in_proposal"]["paths"])
        sentences.append(
            f"APLS by {apls['weight']} {apls['score']:.4f}: harmonic mean of {apls['truth_in_proposal']['score']:.4f} "
            f"(paths of the truth in the proposal) and {apls['proposal_in_truth']['score']:.4f} (paths of "
            f"the proposal in the truth); snap distance {apls['snap_m']:g} m, control points at nodes and at most "
            f"{apls['spacing_m']:g} m apart. {routable:.1%} of the paths of the truth are "
            "routable: the proposal has one that differs by 10 % at most."
        )
    topo, lines, relaxed = document["topo"], document["lines"], document["relaxed"]
    sentences.append(
        f"TOPO F1 {topo['f1']:.4f}: harmonic mean of precision {topo['precision']:.4f} and recall "
        f"{topo['recall']:.4f}, summed over seeds every {topo['seed_m']:g} m; radius {topo['radius_m']:g} m, holes "
        f"every {topo['interval_m']:g} m, hole size {topo['hole_m']:g} m."
    )
    sentences.append(
        f"Completeness {lines['completeness']:.4f}, correctness {lines['correctness']:.4f}, quality "
        f"{lines['quality']:.4f}: by length, exact, within {lines['tolerance_m']:g} m."
    )
    sentences.append(
        f"Relaxed precision {relaxed['precision']:.4f}, recall {relaxed['recall']:.4f}, F1 {relaxed['f1']:.4f} "
        f"(harmonic mean): by length, exact, within {relaxed['tolerance_m']:g} m."
    )
    return sentences


def size_of(name: str, roads: RoadGraph) -> dict[str, Any]:
    """Return the size of a network as a graph: lines of the layer, nodes (junctions and dead ends), and edges between.

    Duplicate lines count once in the length.
    """
    graph = roads.graph
    return {
        "name": name,
        "lines": len(roads.lines),
        "bridges": int(roads.lines.bridge.sum()),
        "length_m": float(roads.length_m.sum()),
        "nodes": len(graph.nodes),
        "edges": len(graph.edges),
        "components": int(graph.component.max(initial=-1)) + 1,
    }


def differences(networks: Networks, tolerance_m: float) -> dict[str, tuple[RoadGraph, Intervals]]:
    """Return the matched and false parts of the proposal, and the missed parts of the truth."""
    truth, proposal = networks.truth, networks.proposal
    true = matched_intervals(proposal, truth, tolerance_m)
    return {
        MATCHED: (proposal, true),
        FALSE: (proposal, complement(proposal, true)),
        MISSED: (truth, complement(truth, matched_intervals(truth, proposal, tolerance_m))),
    }


def to_layer(parts: dict[str, tuple[RoadGraph, Intervals]], networks: Networks) -> geopandas.GeoDataFrame:
    """Return the parts as lines with their kind and length, in the CRS of the truth."""
    shapes = {kind: roads.lines_at(part.edge, part.begin_m, part.end_m) for kind, (roads, part) in parts.items()}
    columns = {
        "kind": np.repeat(list(shapes), list(map(len, shapes.values()))),
        "length_m": np.concatenate([part.end_m - part.begin_m for _, part in parts.values()]),
    }
    lines = np.concatenate(list(shapes.values()))
    return geopandas.GeoDataFrame(columns, geometry=lines, crs=networks.plane).to_crs(networks.crs)
