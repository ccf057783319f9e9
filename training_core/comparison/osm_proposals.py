"""Changes of OpenStreetMap that tasks propose: the new road of a task, connected to the ways of an extract.

Scope: which lines and tags a task proposes, and whether an extract is the one that was compared.
"""

from __future__ import annotations

import geopandas
import numpy as np
import shapely

from ..errors import LayerError
from ..geodata.parallel_arrays import offsets_of
from ..jobs.challenges import CHANGE, NEW
from ..networks.lines import LineFields, lines_in, shared_plane
from ..networks.osm_change import change_lines, check_junctions, meet
from ..networks.osm_file import EXTRACT, PLACE_DIGITS, Extract, Ways, read_extract, way_tags
from ..networks.road_graph import as_drawn
from .buffer_matching import matched_intervals

# The field of bridges and of one-way roads in OpenStreetMap, and in what RoadSeg extracts.
BRIDGE, ONE_WAY = "bridge", "oneway"
_WGS84 = "EPSG:4326"
# A new road has been mapped where a way, this near and as parallel, runs along more than a share of it and a length:
# where a road forks off, the first meters are beside the other one.
_ALONG_M, _ALONG_DEG, _ALONG_SHARE, _ALONG_LENGTH_M = 3.0, 15.0, 0.8, 25.0


def new_roads(changes: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return the new roads of a layer of changes, whose words are known; see `known_only`."""
    return changes[changes[CHANGE] == NEW].reset_index(drop=True)


def check_extract(new: geopandas.GeoDataFrame, changes: geopandas.GeoDataFrame, extract: Extract, path: str) -> None:
    """Raise LayerError unless an extract is the one in which the new roads of a layer of changes are missing.

    Otherwise the roads that they are attached to have changed, or a new road has been mapped since.
    """
    check_junctions(_shared_places(new, changes), extract, path)
    plane = shared_plane(new)
    lines, ways = (as_drawn(lines_in(plane, layer, LineFields())) for layer in (new, _layer_of(extract)))
    along = matched_intervals(lines, ways, _ALONG_M, _ALONG_DEG)
    along_m = np.bincount(along.edge, along.end_m - along.begin_m, minlength=len(lines.lines))
    mapped = np.unique(lines.lines.feature[along_m > np.maximum(_ALONG_SHARE * lines.length_m, _ALONG_LENGTH_M)])
    if len(mapped):
        place = shapely.point_on_surface(new.geometry.to_crs(_WGS84).iloc[mapped[0]])
        raise LayerError(
            f"{len(mapped):,} new roads run along a way of the {EXTRACT} ({path}), so they have been mapped in the "
            f"meantime. One of them is at longitude {place.x:.5f}, latitude {place.y:.5f}.",
            "Compare road networks with this extract, or reject these roads.",
        )


def _layer_of(extract: Extract) -> geopandas.GeoDataFrame:
    """Return the ways of an extract, as far as it has their nodes."""
    way = np.repeat(np.arange(len(extract.ids)), np.diff(extract.offsets))
    known = np.isfinite(extract.places[:, 0])
    known &= (np.bincount(way[known], minlength=len(extract.ids)) > 1)[way]
    _, row = np.unique(way[known], return_inverse=True)
    return geopandas.GeoDataFrame(geometry=shapely.linestrings(extract.places[known], indices=row), crs=_WGS84)


def _shared_places(new: geopandas.GeoDataFrame, changes: geopandas.GeoDataFrame) -> np.ndarray:
    """Return the vertices that new roads have in common with the roads before: (n, 2) float64 in degrees."""
    places = [
        np.unique(shapely.get_coordinates(lines.geometry.to_crs(_WGS84)).round(PLACE_DIGITS), axis=0)
        for lines in (new, changes[changes[CHANGE] != NEW])
    ]
    return places[0][np.isin(places[0] @ (1, 1j), places[1] @ (1, 1j))]


def propose(
    tasks: geopandas.GeoDataFrame, chosen: geopandas.GeoDataFrame, changes: geopandas.GeoDataFrame, path: str
) -> list[str]:
    """Return the OsmChange file of each task as text; empty where none is proposed.

    A task is of its own: where a road is cut into several, their ends are different nodes at one place. Tasks are as
    from `make_tasks`, `chosen` the lines that they were made of, `changes` all lines of their layer, and `path` the
    extract of OpenStreetMap. Raises LayerError as `read_extract`, `check_extract` and `change_lines` do.
    """
    shapes = tasks.geometry.to_numpy()
    west, _, east, _ = shapely.bounds(shapes).T
    # No way crosses the antimeridian.
    rows = np.flatnonzero((tasks[CHANGE] == NEW).to_numpy() & (east - west < 180))
    texts = [""] * len(tasks)
    if not len(rows):
        return texts
    points, way = shapely.get_coordinates(shapes[rows], return_index=True)
    # A place that a way passes twice is one node.
    places, refs = np.unique(np.column_stack([way, points.round(PLACE_DIGITS)]), axis=0, return_inverse=True)
    places, offsets = places[:, 1:], offsets_of(np.bincount(way, minlength=len(rows)))
    extract = read_extract(path, places)
    check_extract(new_roads(chosen), changes, extract, path)
    meetings, at = meet(places, extract), places.tolist()
    # A task's line may run against its road, so that it proposes no direction.
    roads = chosen.iloc[tasks["feature"].to_numpy()[rows]].reset_index(drop=True).assign(**{ONE_WAY: False})
    tags = [{key: value for key, value in own.items() if key != ONE_WAY} for own in way_tags(roads, BRIDGE)]
    for number, row in enumerate(rows):
        own = refs.ravel()[offsets[number] : offsets[number + 1]]
        parts = Ways(places, own, np.array([0, len(own)]), [tags[number]]).parts()
        texts[row] = "\n".join(change_lines(parts, at, meetings, extract))
    return texts
