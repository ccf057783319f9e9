"""Tasks for mappers from changes, states or likely breaks of a network: places that a person checks in a minute.

Scope: which stretches and points become tasks, their length, priority and instruction. Independent of files.
"""

from __future__ import annotations

import geopandas
import numpy as np
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import as_written, cut_at_antimeridian
from ..geodata.fields import numbers_in
from ..geodata.parallel_arrays import ranges
from ..geodata.vectors import require_geometry, with_names
from ..jobs import MakeChallenge
from ..jobs.review import CHANGE, CHANGES, DISPLACED, LOST, NEW
from ..jobs.status import LOST_PROBABILITY, NOT_SEEN, PARTLY_SEEN, PATHS_SHARE, STATE, STATES, UNDER_WATER
from ..networks.graph import Graph, join_chains
from ..networks.likely_breaks import APART, DEAD_END, GAP, KIND, KINDS
from ..networks.lines import LineFields, as_in_file, drawn_places, lines_in, make_lines, shared_plane
from ..networks.noding import node_lines
from ..networks.road_graph import as_drawn
from .change_results import known_only

PURPOSE = "changes, states or likely breaks"
PRIORITIES = ("high", "medium", "low")
_WGS84 = "EPSG:4326"
# Stretches continue each other where their ends are closer together than this, and turn by less, measured over a few
# meters: at a junction with a road that has not changed, two roads may begin.
_JOIN_M, _TURN_DEG, _TURN_M = 0.5, 45.0, 5.0
# Far more than a challenge may have, so that a few lines around a country do not fill the memory.
MAX_PARTS = 1_000_000
# Longer than the way around the Earth no road is, nor a gap.
_MAX_LENGTH_M = 4e7
# What a mapper is to do, by change; the measure is a length, or the offset of a displaced road.
_INSTRUCTIONS = {
    NEW: "The image shows a road here{measure} that the map lacks. If you see it, too, draw it and choose its class. "
    "If it is drawn already, check it.",
    LOST: "The map has a road here{measure} that the image does not show. It may only be hidden, as under trees: "
    "change the map only if you see that the road is gone.",
    DISPLACED: "The image shows this road beside its place on the map{measure}. Check the offset of your imagery "
    "first, and move the road if it is misplaced.",
    NOT_SEEN: "The map has a road here{measure} that the new image does not show. Look whether it is gone, covered or "
    "blocked, or only hidden, as under trees.",
    PARTLY_SEEN: "The new image hardly shows the road here{measure}. Look whether it is still there.",
    UNDER_WATER: "The road here{measure} is under water in the new image. Look whether it is flooded, and whether its "
    "bridges are still there.",
    GAP: "Two roads end near each other here{measure} and may be connected. If you see a road between them, draw it.",
    DEAD_END: "A dead-end road{measure} may be missing here. If you see it, draw it.",
    APART: "A road here is not connected to the nearest other one{measure}. If you see a road between them, draw it.",
}


def known_features(layer: geopandas.GeoDataFrame, job: MakeChallenge, reporter: Reporter) -> geopandas.GeoDataFrame:
    """Return the lines of a layer with a known `change` or `state`, or its points with a known `kind`.

    See `known_only`; a state is called `change` then. Raises LayerError if the layer holds none of these.
    """
    layer = with_names(layer, (CHANGE, KIND, STATE, LOST_PROBABILITY), job.layer, PURPOSE)
    if {STATE, LOST_PROBABILITY} <= set(layer.columns):  # a state alone may be one of a country
        require_geometry(layer, ("lines",), job.layer, PURPOSE)
        known_roads = known_only(layer, STATE, STATES, PURPOSE, job.layer, reporter)
        return known_roads.drop(columns=CHANGE, errors="ignore").rename(columns={STATE: CHANGE})
    for field, known, geometry in ((CHANGE, CHANGES, "lines"), (KIND, KINDS, "points")):
        if field in layer.columns:
            require_geometry(layer, (geometry,), job.layer, PURPOSE)
            return known_only(layer, field, known, PURPOSE, job.layer, reporter)
    if layer.empty:  # some formats keep no fields without features
        return layer.assign(**{CHANGE: ""})
    raise LayerError(
        f"The {PURPOSE} ({job.layer}) have neither a field {CHANGE!r} nor a field {KIND!r}, nor both fields {STATE!r} "
        f"and {LOST_PROBABILITY!r}.",
        "Choose a layer of changes that Compare road networks wrote, of states, or of likely breaks.",
    )


def make_tasks(layer: geopandas.GeoDataFrame, job: MakeChallenge) -> tuple[geopandas.GeoDataFrame, int]:
    """Return the tasks of a layer, the most important first, and the number of stretches that are too short for one.

    Tasks are lines or points in longitude and latitude of WGS 84 with the columns `change`, `length_m`, `offset_m`,
    `probability` of a road there and `paths_share` (NaN where unknown), `feature` of the layer (of several the first),
    `priority`, `instruction`, and `longitude` and `latitude` of their middle. The layer is one of `known_features`.
    Raises LayerError if there are more than `MAX_PARTS`.
    """
    tasks, too_short = _stretches(layer, job) if CHANGE in layer.columns else (_breaks(layer), 0)
    return _by_priority(tasks), too_short


def _stretches(layer: geopandas.GeoDataFrame, job: MakeChallenge) -> tuple[geopandas.GeoDataFrame, int]:
    """Return the tasks of a layer of changes or states, and the number of its stretches that are too short."""
    plane = shared_plane(layer, of=job.layer)
    lines = lines_in(plane, layer, LineFields())
    change, places = layer[CHANGE].to_numpy()[lines.feature], drawn_places(layer, plane)
    parts, too_short = [(np.zeros(0, dtype=object), np.zeros(0, dtype=object), np.zeros(0, dtype=np.int64))], 0
    for kind in sorted({NEW, LOST, NOT_SEEN, PARTLY_SEEN, UNDER_WATER, *([DISPLACED] if job.displaced else [])}):
        chosen = np.flatnonzero(change == kind)
        # As bridges, lines are connected at their ends alone, and never split.
        graph, _ = node_lines(make_lines(lines.shapes[chosen], np.ones(len(chosen))), _JOIN_M, PURPOSE)
        graph = join_chains(graph, _turns_sharply(graph))
        is_long = graph.lengths() >= job.min_length_m
        too_short += int((~is_long).sum())
        shapes, of = _split(graph.shapes()[is_long], job)
        feature = lines.feature[chosen][graph.origin][is_long][of]
        parts.append((as_in_file(shapes, places), np.full(len(shapes), kind, dtype=object), feature))
    shapes, changes, feature = map(np.concatenate, zip(*parts))
    columns = {
        "change": changes,
        "length_m": shapely.length(shapes),
        "offset_m": np.where(changes == DISPLACED, _numbers(layer, "offset_m", _MAX_LENGTH_M)[feature], np.nan),
        "probability": np.where(changes == NEW, _numbers(layer, "road_probability", 1)[feature], np.nan),
        PATHS_SHARE: np.where(np.isin(changes, CHANGES), np.nan, _numbers(layer, PATHS_SHARE, 1)[feature]),
        "feature": feature,
    }
    return _with_middles(geopandas.GeoDataFrame(columns, geometry=shapes, crs=plane)), too_short


def _turns_sharply(graph: Graph) -> np.ndarray:
    """Return at which nodes of degree 2 the edges do not continue each other, (n,) bool; any value at others."""
    shapes, ends_m = graph.shapes(), np.minimum(_TURN_M, graph.lengths() / 2)
    leaving = np.zeros((len(graph.edges), 2, 2))
    for end, along_m in enumerate((ends_m, -ends_m)):  # negative distances are from the end
        near = shapely.get_coordinates(shapely.line_interpolate_point(shapes, along_m))
        leaving[:, end] = near - graph.nodes[graph.edges[:, end]]
    unit = leaving.reshape(-1, 2) / np.maximum(np.hypot(*leaving.reshape(-1, 2).T), 1e-9)[:, None]
    # Two unit vectors away from a node cancel each other if the road goes straight on.
    rest = np.column_stack([np.bincount(graph.edges.ravel(), axis, minlength=len(graph.nodes)) for axis in unit.T])
    return np.hypot(*rest.T) > 2 * np.sin(np.radians(_TURN_DEG) / 2)


def _split(shapes: np.ndarray, job: MakeChallenge) -> tuple[np.ndarray, np.ndarray]:
    """Return lines in equal parts that are short enough, (k,) object, and the line of each, (k,) int64."""
    counts = np.ceil(shapely.length(shapes) / job.max_length_m).astype(np.int64)
    if counts.sum() > MAX_PARTS:
        raise LayerError(
            f"The {PURPOSE} ({job.layer}) would give {counts.sum():,} stretches of {job.max_length_m:g} m, but at "
            f"most {MAX_PARTS:,} can become tasks.",
            "Raise the longest stretch (max_length_m), or take a part of the layer.",
        )
    line = np.repeat(np.arange(len(shapes)), counts)
    part_m = (shapely.length(shapes) / counts)[line]
    number = ranges(np.zeros_like(counts), counts)
    return as_drawn(make_lines(shapes)).lines_at(line, part_m * number, part_m * (number + 1)), line


def _breaks(layer: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return the tasks of a layer of likely breaks."""
    columns = {
        "change": layer[KIND],
        "length_m": _numbers(layer, "length_m", _MAX_LENGTH_M),
        "offset_m": np.nan,
        "probability": _numbers(layer, "probability", 1),
        PATHS_SHARE: _numbers(layer, PATHS_SHARE, 1),
        "feature": np.arange(len(layer)),
    }
    # A feature may have several points, and a layer longitudes beyond 180 degrees.
    points = cut_at_antimeridian(shapely.centroid(layer.geometry.to_crs(_WGS84).to_numpy()))
    return _with_middles(geopandas.GeoDataFrame(columns, geometry=points, crs=_WGS84))


def _numbers(layer: geopandas.GeoDataFrame, name: str, largest: float) -> np.ndarray:
    """Return a field's numbers from 0 to `largest`, (n,) float64; NaN for others, and without the field."""
    if name not in layer.columns:
        return np.full(len(layer), np.nan)
    values = numbers_in(layer[name])
    return np.where((values >= 0) & (values <= largest), values, np.nan)


def _with_middles(tasks: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return tasks in WGS 84 with longitude and latitude of their centroids, which do not depend on directions."""
    middles = geopandas.GeoSeries(shapely.centroid(tasks.geometry.to_numpy()), crs=tasks.crs).to_crs(_WGS84)
    placed = as_written(tasks.to_crs(_WGS84))
    return placed.assign(longitude=middles.x.to_numpy(), latitude=middles.y.to_numpy())


def _by_priority(tasks: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return tasks with priority and instruction in order of importance; each priority has a third of them.

    Important is where many shortest paths change, or else where much road is likely.
    """
    # By share of paths, then by expected length of road, both falling; ties by place and change.
    expected_m = tasks["length_m"].fillna(0) * tasks["probability"].fillna(1)
    places = (tasks["latitude"], tasks["longitude"], tasks["change"])
    order = np.lexsort((*places, -expected_m.round(3), -tasks["paths_share"].fillna(-1)))
    tasks = tasks.iloc[order].reset_index(drop=True)
    priority = np.array(PRIORITIES, dtype=object)[3 * np.arange(len(tasks)) // len(tasks)]
    measures_m = tasks["length_m"].where(tasks["change"] != DISPLACED, tasks["offset_m"])
    measures = ["" if np.isnan(each) else f" (about {each:.0f} m)" for each in measures_m]
    instructions = [_INSTRUCTIONS[kind].format(measure=each) for kind, each in zip(tasks["change"], measures)]
    return tasks.assign(priority=priority, instruction=instructions)
