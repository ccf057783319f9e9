"""New roads as a change of OpenStreetMap (OsmChange): ways to create, and ways of an extract whose nodes they share.

Scope: which nodes are shared, the text of the file, the changes that tasks propose, and whether an extract is the one
that was compared. Independent of how roads were found; nothing is sent.

A new road is connected where a vertex of it lies on a way of the extract: it shares the way's node there, or else a new
node, which is put into that way. A way that is modified keeps its version, by which OpenStreetMap refuses a change of
what somebody else has changed since, its tags, and its nodes. Nothing is deleted. For the format see
https://wiki.openstreetmap.org/wiki/OsmChange. New objects have negative ids and no version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

import geopandas
import numpy as np
import shapely
from scipy.spatial import cKDTree

from ..errors import LayerError
from ..geodata.antimeridian import nearest_turn
from ..geodata.grid import ELLIPSOID
from ..geodata.parallel_arrays import offsets_of
from ..jobs.review import CHANGE, NEW
from ..networks.line_export import NOT_IN_XML
from ..networks.lines import LineFields, lines_in, shared_plane
from ..networks.osm_file import EXTRACT, MAX_WAY_NODES, PLACE_DIGITS, Extract, Ways, read_extract, way_tags
from ..networks.road_graph import as_drawn
from ..system.machine import roadseg_version
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
    junctions = shared_places(new, changes)
    missing = int((~meet(junctions, extract, junctions).met()).sum()) if len(junctions) else 0
    if missing:
        raise LayerError(
            f"{missing:,} of {len(junctions):,} places where new roads are attached to roads before do not lie on a "
            f"way of the {EXTRACT} ({path}).",
            "The extract differs from the roads before, or has changed. Run Compare road networks with it, and review "
            "the changes.",
        )
    plane = shared_plane(new)
    lines, ways = (as_drawn(lines_in(plane, layer, LineFields())) for layer in (new, _layer_of(extract)))
    along = matched_intervals(lines, ways, _ALONG_M, _ALONG_DEG)
    along_m = np.bincount(along.edge, along.end_m - along.begin_m, minlength=len(lines.lines))
    mapped = np.unique(lines.lines.feature[along_m > np.maximum(_ALONG_SHARE * lines.length_m, _ALONG_LENGTH_M)])
    if len(mapped):
        place = shapely.point_on_surface(new.geometry.to_crs(_WGS84).iloc[mapped[0]])
        raise LayerError(
            f"{len(mapped):,} new roads run along a way of the {EXTRACT} ({path}): they have been mapped in the "
            "meantime, or are mapped as under construction. One of them is at longitude "
            f"{place.x:.5f}, latitude {place.y:.5f}.",
            "Compare road networks with this extract, or reject these roads.",
        )


def _layer_of(extract: Extract) -> geopandas.GeoDataFrame:
    """Return the ways of an extract, as far as it has their nodes."""
    way = np.repeat(np.arange(len(extract.ids)), np.diff(extract.offsets))
    known = np.isfinite(extract.places[:, 0])
    known &= (np.bincount(way[known], minlength=len(extract.ids)) > 1)[way]
    _, row = np.unique(way[known], return_inverse=True)
    return geopandas.GeoDataFrame(geometry=shapely.linestrings(extract.places[known], indices=row), crs=_WGS84)


def shared_places(new: geopandas.GeoDataFrame, changes: geopandas.GeoDataFrame) -> np.ndarray:
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
    # No way crosses the antimeridian, where lines are cut.
    rows = np.flatnonzero((tasks[CHANGE] == NEW).to_numpy() & (shapely.get_num_geometries(shapes) == 1))
    texts = [""] * len(tasks)
    if not len(rows):
        return texts
    points, way = shapely.get_coordinates(shapes[rows], return_index=True)
    # A place that a way passes twice is one node.
    places, refs = np.unique(np.column_stack([way, points.round(PLACE_DIGITS)]), axis=0, return_inverse=True)
    places, offsets = places[:, 1:], offsets_of(np.bincount(way, minlength=len(rows)))
    extract = read_extract(path, places)
    check_extract(new_roads(chosen), changes, extract, path)
    meetings = meet(places, extract, shared_places(new_roads(chosen), changes))
    # A task's line may run against its road, so that it proposes no direction.
    roads = chosen.iloc[tasks["feature"].to_numpy()[rows]].reset_index(drop=True).assign(**{ONE_WAY: False})
    tags = [{key: value for key, value in own.items() if key != ONE_WAY} for own in way_tags(roads, BRIDGE)]
    for number, row in enumerate(rows):
        own = refs.ravel()[offsets[number] : offsets[number + 1]]
        parts = Ways(places, own, np.array([0, len(own)]), [tags[number]]).parts()
        texts[row] = "\n".join(change_lines(parts, meetings, extract))
    return texts


# A vertex this close to a way lies on it. Places are stored to about a centimeter.
_SAME_M = 0.05
# Where a road was attached to a way, the way was straight in the CRS of the roads before, and here is so in degrees.
_MAX_APART_M = 25.0
_WHITE_SPACE = {ord(each): f"&#{ord(each)};" for each in "\t\n\r"}


@dataclass(frozen=True)
class Meetings:
    """Where places lie on the ways of an extract.

    The (n, 2) float64 `places` are their longitude and latitude in degrees, those on ways exactly there. The (n,) int64
    `node` is the id of the node at each place; 0 where there is none. `inserted` has, by the number of a place without
    one, the ways on which it lies: the way, the position of the ref before it, and how far it is from it.
    """

    places: np.ndarray
    node: np.ndarray
    inserted: dict[int, list[tuple[int, int, float]]]

    @property
    def ways(self) -> int:
        """Number of ways that get a node."""
        return len({way for ways in self.inserted.values() for way, _, _ in ways})

    def met(self) -> np.ndarray:
        """Return which places lie on a way: (n,) bool."""
        met = self.node != 0
        met[list(self.inserted)] = True
        return met


def meet(places: np.ndarray, extract: Extract, junctions: np.ndarray) -> Meetings:
    """Return where places, (n, 2) float64 longitude and latitude in degrees, lie on the ways of an extract.

    At junctions, (k, 2) float64 of the same kind, roads were attached to the roads before: such a place lies on the
    nearest way, as far from it as that way may be curved.
    """
    middle = np.radians(places[:, 1].min() + places[:, 1].max()) / 2
    per_degree_m = np.radians(ELLIPSOID.a) * np.array([np.cos(middle), 1.0])
    known = np.flatnonzero(np.isfinite(extract.places[:, 0]))
    points, at, attached = (
        np.column_stack([nearest_turn(each[:, 0], 360.0, places[0, 0]), each[:, 1]]) * per_degree_m
        for each in (extract.places, places, junctions)
    )
    gap_m, nearest = cKDTree(points[known]).query(at, distance_upper_bound=_SAME_M)
    is_node = np.isfinite(gap_m)
    node = np.zeros(len(places), dtype=np.int64)
    node[is_node] = extract.refs[known[nearest[is_node]]]
    # The straight segments of ways, by the ref that each begins at.
    way = np.repeat(np.arange(len(extract.ids)), np.diff(extract.offsets))
    begins = known[:-1][(np.diff(known) == 1) & (way[known[:-1]] == way[known[1:]])]
    segments = shapely.linestrings(np.stack([points[begins], points[begins + 1]], axis=1))
    free = np.flatnonzero(~is_node)
    is_attached = np.isfinite(cKDTree(attached.reshape(-1, 2)).query(at[free], distance_upper_bound=_SAME_M)[0])
    within_m = np.where(is_attached, _SAME_M + _MAX_APART_M, _SAME_M)
    place, segment = shapely.STRtree(segments).query(shapely.points(at[free]), predicate="dwithin", distance=within_m)
    away_m = shapely.distance(shapely.points(at[free[place]]), segments[segment])
    nearest_m = np.full(len(free), np.inf)
    np.minimum.at(nearest_m, place, away_m)
    # The curve of what is straight in degrees, against a straight line on the ground, is at most twice that of a
    # parallel; what is straight on other maps lies between.
    east_m, length_m = np.abs(np.diff(points[:, 0]))[begins], shapely.length(segments)
    apart_m = np.minimum(east_m * length_m * np.abs(np.tan(middle)) / (4 * ELLIPSOID.a), _MAX_APART_M)
    is_met = (away_m <= _SAME_M) | (
        is_attached[place] & (away_m <= nearest_m[place]) & (away_m <= _SAME_M + apart_m[segment])
    )
    order = np.flatnonzero(is_met)[np.argsort(-away_m[is_met], kind="stable")]  # the nearest last, which places it
    place, begin, segment = free[place[order]], begins[segment[order]], segments[segment[order]]
    on_way = shapely.line_interpolate_point(segment, shapely.line_locate_point(segment, shapely.points(at[place])))
    at[place] = shapely.get_coordinates(on_way)
    away_m = np.hypot(*(at[place] - points[begin]).T)
    inserted = defaultdict(list)
    for number, *where in zip(place.tolist(), way[begin].tolist(), begin.tolist(), away_m.tolist()):
        inserted[number].append(tuple(where))
    on_ways = places.copy()
    on_ways[place] = (at[place] / per_degree_m).round(PLACE_DIGITS)
    on_ways[:, 0] = nearest_turn(on_ways[:, 0], 360.0, 0.0)
    return Meetings(on_ways, node, dict(inserted))


def change_lines(
    parts: Iterable[tuple[list[int], dict[str, str]]], meetings: Meetings, extract: Extract
) -> Iterator[str]:
    """Yield the lines of an OsmChange file that creates ways, and puts their nodes into ways of an extract.

    `parts` are the places and tags of the ways, as from `Ways.parts`; their places are those of the meetings. Raises
    LayerError if a way to be modified would have too many nodes, or a tag has characters that XML cannot hold.
    """
    places = meetings.places.tolist()
    ids: dict[int, int] = {}
    ways: list[str] = []
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<osmChange version="0.6" generator="RoadSeg {roadseg_version()}">'
    yield "<create>"
    for row, tags in parts:
        refs: list[int] = []
        for place in row:
            ref = int(meetings.node[place]) or ids.get(place)
            if not ref:
                ref = ids[place] = -len(ids) - 1
                longitude, latitude = places[place]
                yield f'<node id="{ref}" lat="{latitude:.{PLACE_DIGITS}f}" lon="{longitude:.{PLACE_DIGITS}f}"/>'
            if not refs or refs[-1] != ref:
                refs.append(ref)
        if len(refs) > 1:
            ways.append(_way(f'id="{-len(ways) - 1}"', refs, tags))
    yield from ways
    yield "</create>"
    modified = defaultdict(list)
    for place, ref in ids.items():
        for way, begin, away_m in meetings.inserted.get(place, ()):
            modified[way].append((begin, away_m, ref))
    if modified:
        yield "<modify>"
        yield from (_modified(extract, way, sorted(nodes)) for way, nodes in sorted(modified.items()))
        yield "</modify>"
    yield "</osmChange>"


def _modified(extract: Extract, way: int, nodes: list[tuple[int, float, int]]) -> str:
    """Return a way of an extract with nodes put into it: for each the ref before it, how far that is, and its id."""
    number, version = int(extract.ids[way]), int(extract.versions[way])
    first, last = int(extract.offsets[way]), int(extract.offsets[way + 1])
    refs = extract.refs[first:last].tolist()
    if len(refs) + len(nodes) > MAX_WAY_NODES:
        raise LayerError(
            f"Way {number} would have more than the {MAX_WAY_NODES:,} nodes that OpenStreetMap takes.",
            "Split it in OpenStreetMap first, or reject the new roads that are attached to it.",
        )
    for begin, _, ref in reversed(nodes):
        refs.insert(begin - first + 1, ref)
    return _way(f'id="{number}" version="{version}"', refs, extract.tags[way])


def _way(attributes: str, refs: list[int], tags: dict[str, str]) -> str:
    for text in (text for tag in tags.items() for text in tag):
        if NOT_IN_XML.search(text):
            raise LayerError(
                f"A way ({attributes}) has the tag {text!r}, which XML cannot hold.", "Correct it in OpenStreetMap."
            )
    nodes = "".join(f'<nd ref="{ref}"/>' for ref in refs)
    texts = "".join(f'<tag k="{_escaped(key)}" v="{_escaped(value)}"/>' for key, value in tags.items())
    return f"<way {attributes}>{nodes}{texts}</way>"


def _escaped(text: str) -> str:
    """Return a text as the value of an attribute, in which a reader would make spaces of line breaks and tabs."""
    return escape(text).translate(_WHITE_SPACE)
