"""Places to review in a network: stretches that may be no road, and roads that may be missing, ranked by what they pay.

Scope: lines in a plane of meters, and the raster that they were extracted from. Independent of layers and answers.

The chance that a stretch is wrong is 1 less the `road_probability` of its line. The probability along the stretch
itself, as against the rest of its line, does not rank any better.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas
import numpy as np
import pandas
import pyproj
import shapely

from ..events import Reporter
from ..extraction.road_extraction import trace_roads
from ..geodata.grid import Grid
from ..geodata.parallel_arrays import ranges
from ..geodata.road_raster import RoadRaster
from ..geodata.shapes import crs_of
from ..jobs import NetworkOptions
from ..jobs.review import CHANGE, DOUBTFUL, MISSING, PRIORITY, REVIEW
from ..networks.cleaning import median_of_lines, simplify
from ..networks.lines import Lines
from ..networks.road_graph import as_drawn

# Keystroke-level model (Card, Moran and Newell, "The keystroke-level model for user performance time with interactive
# systems", Communications of the ACM 23 (1980)): a decision and a key. To look takes an eye movement of 0.23 s (the
# same, "The psychology of human-computer interaction", 1983) for each ten meters of road.
_DECISION_S, _KEY_S, _EYE_S, _SEEN_M = 1.35, 0.28, 0.23, 10.0
# Candidates run beside the network by more than this, and are at least so long.
BESIDE_M, SHORTEST_M = 8.0, 10.0
# Fraction of the length of candidates at a threshold of 0.2 that is road, in two parts of Banepa. Their own road
# probability tells nothing more: AUC 0.5.
_MISSING_CHANCE = 0.45
# Side of a cell of a hectare, and the largest distance of samples along lines.
_SIDE_M, _STEP_M = 100.0, 5.0


@dataclass(frozen=True)
class Places:
    """Stretches in a plane of meters, (n,) each: kind, chance of an error, number of the network's line or -1, width.

    The width is NaN where it is not known.
    """

    shapes: np.ndarray
    kind: np.ndarray
    chance: np.ndarray
    line: np.ndarray
    width_m: np.ndarray

    @property
    def error_m(self) -> np.ndarray:
        """Expected length in meters of the error: (n,) float64."""
        return self.chance * shapely.length(self.shapes)

    def priority(self) -> np.ndarray:
        """Return the expected error that a person spares in each place, in meters per second: (n,) float64."""
        seen = np.ceil(shapely.length(self.shapes) / _SEEN_M)
        return self.error_m / (_DECISION_S + _KEY_S + _EYE_S * seen)


def doubtful_places(lines: Lines, probability: np.ndarray, width_m: np.ndarray, max_length_m: float) -> Places:
    """Return lines in equal parts that are short enough; probability of a road and width are those of each line."""
    length_m = lines.length_m
    counts = np.ceil(length_m / max_length_m).astype(np.int64)
    line, part = np.repeat(np.arange(len(lines)), counts), ranges(np.zeros_like(counts), counts)
    begin_m, end_m = (length_m[line] * (part + ahead) / counts[line] for ahead in (0, 1))
    shapes = lines.shapes
    if len(lines):
        shapes = shapely.remove_repeated_points(as_drawn(lines).lines_at(line, begin_m, end_m))
    return Places(shapes, np.full(len(line), DOUBTFUL, dtype=object), 1 - probability[line], line, width_m[line])


def missing_places(
    network: np.ndarray, raster: RoadRaster, grid: Grid, plane: pyproj.CRS, reporter: Reporter
) -> Places:
    """Return roads of a raster, from its threshold on, that a network, (n,) object in a plane, does not have."""
    traced = trace_roads(raster, grid.pixel_m, NetworkOptions(), reporter)
    graph = simplify(traced.graph, NetworkOptions().simplify_m)
    width_m = median_of_lines(graph, traced.surroundings.width_m(graph.points))
    to_plane = pyproj.Transformer.from_crs(crs_of(grid), plane, always_xy=True)
    points = to_plane.transform(*(grid.transform @ tuple((graph.points / grid.pixel_m + 0.5).T)))
    shapes = shapely.linestrings(np.column_stack(points), indices=graph.owner)
    parts, owner = without(shapes, *grounds_of(shapes, network))
    kept = shapely.length(parts) >= SHORTEST_M
    count = int(kept.sum())
    nothing = np.full(count, -1)
    kinds = np.full(count, MISSING, dtype=object)
    return Places(parts[kept], kinds, np.full(count, _MISSING_CHANCE), nothing, width_m[owner[kept]])


def grounds_of(shapes: np.ndarray, network: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the grounds of a network near lines, (n,) object, as (k,) object polygons, and the (k,) int64 lines."""
    line, near = shapely.STRtree(network).query(shapes, predicate="dwithin", distance=BESIDE_M)
    return line, shapely.buffer(network, BESIDE_M)[near]


def without(shapes: np.ndarray, line: np.ndarray, ground: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of lines, (n,) object, off the grounds of each, and the line of each part: (m,) object, int64.

    Grounds are (k,) object polygons with the (k,) int64 line that each is for.
    """
    shapes, order = shapes.copy(), np.argsort(line, kind="stable")
    numbers, begins = np.unique(line[order], return_index=True)
    for number, grounds in zip(numbers, np.split(ground[order], begins[1:])):
        shapes[number] = shapely.difference(shapes[number], shapely.union_all(grounds))
    return shapely.get_parts(shapes, return_index=True)


def ranked(places: Places, number_of: np.ndarray, plane: pyproj.CRS) -> geopandas.GeoDataFrame:
    """Return places as a review layer, those first that pay most; `number_of`, (n,) int64, are the lines' numbers."""
    known = places.line >= 0
    line = pandas.array(number_of[places.line] if len(number_of) else places.line, dtype="Int64")
    line[~known] = None
    columns = {
        CHANGE: places.kind,
        REVIEW: np.full(len(known), None),
        PRIORITY: places.priority(),
        "chance": places.chance,
        "length_m": shapely.length(places.shapes),
        "width_m": places.width_m,
        "line": line,
    }
    table = geopandas.GeoDataFrame(columns, geometry=places.shapes, crs=plane)
    return table.sort_values(PRIORITY, ascending=False, kind="stable", ignore_index=True)


def expected_error(places: Places, plane: pyproj.CRS) -> geopandas.GeoDataFrame:
    """Return hectares with the expected meters of false and missing roads in them, as squares in the plane."""
    counts = np.maximum(np.ceil(shapely.length(places.shapes) / _STEP_M), 1).astype(np.int64)
    place = np.repeat(np.arange(len(counts)), counts)
    fraction = (ranges(np.zeros_like(counts), counts) + 0.5) / counts[place]
    samples = shapely.get_coordinates(shapely.line_interpolate_point(places.shapes[place], fraction, normalized=True))
    cells, cell = np.unique(np.floor(samples / _SIDE_M), axis=0, return_inverse=True)
    error_m = (places.error_m / counts)[place]
    false_m, missing_m = (
        np.bincount(cell.ravel(), error_m * (places.kind == kind)[place], minlength=len(cells))
        for kind in (DOUBTFUL, MISSING)
    )
    low, high = (cells * _SIDE_M).T, ((cells + 1) * _SIDE_M).T
    columns = {"false_m": false_m, "missing_m": missing_m, "error_m": false_m + missing_m}
    return geopandas.GeoDataFrame(columns, geometry=shapely.box(*low, *high), crs=plane)
