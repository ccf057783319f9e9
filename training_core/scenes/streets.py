"""The street plan of a scene: where roads run, of which class, width and surface, and where a river is bridged.

Knows lines on a plane in meters; knows nothing of pixels and of what stands beside the roads.

The plan is drawn straight and square, by splitting blocks until they have the size that town or country asks for, and
then bent by a smooth map that can neither tear nor fold. So junctions stay junctions while streets become curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from shapely.geometry import LineString, Polygon, box

WIDTHS_M = {"primary": (10.5, 13.0), "secondary": (7.5, 9.0), "residential": (5.0, 6.5), "track": (2.6, 3.6)}
RING_WIDTH_M = 7.0
PAD_M = 60.0  # planned beyond the scene on each side, so that nothing stops short of its border
_SNAP_M = 0.01
_LATTICE_M = 20.0  # splits lie on it, so that streets on both sides of a road meet or keep a distance
_STUB_M, _FRAGMENT_M = 12.0, 90.0


@dataclass(frozen=True)
class Bend:
    """A smooth map of the plane: a turn about the origin, a sum of sine waves, and a shift.

    The waves' steepness adds up to less than 1, hence two points never meet.
    """

    wave: np.ndarray  # (2, K) radians per meter
    phase: np.ndarray  # (K,) radians
    push_m: np.ndarray  # (K, 2)
    turn: np.ndarray  # (2, 2)
    shift_m: float

    @classmethod
    def random(cls, rng: np.random.Generator, side_m: float) -> "Bend":
        """Return a bend that takes the origin near the center of a square with a corner at (0, 0)."""
        length_m = np.array([900.0, 600.0, 420.0, 270.0, 150.0]) * rng.uniform(0.8, 1.2, 5)
        run, push, (turn,) = rng.uniform(0, 2 * np.pi, 5), rng.uniform(0, 2 * np.pi, 5), rng.uniform(0, np.pi, 1)
        wave = 2 * np.pi / length_m * np.array([np.cos(run), np.sin(run)])
        push_m = 0.028 * length_m[:, None] * np.column_stack([np.cos(push), np.sin(push)])
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        return cls(wave, rng.uniform(0, 2 * np.pi, 5), push_m, matrix, side_m / 2)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the bent (N, 2) points."""
        return (points + np.sin(points @ self.wave + self.phase) @ self.push_m) @ self.turn.T + self.shift_m


@dataclass(frozen=True)
class Towns:
    """How far a place is town, from 0 in the country to 1 in a center."""

    centers_m: np.ndarray  # (N, 2)
    radius_m: float

    @classmethod
    def random(cls, rng: np.random.Generator, side_m: float) -> "Towns":
        """Return one town for each 1.5 km square, or one beside the center of a smaller scene."""
        count = max(1, round((side_m / 1500) ** 2))
        centers_m = rng.uniform(0.25, 0.75, (1, 2)) if count == 1 else rng.uniform(0, 1, (count, 2))
        return cls(centers_m * side_m, float(rng.uniform(0.4, 0.5) * min(side_m, 1400)))

    def urbanity(self, points: np.ndarray) -> np.ndarray:
        """Return (N,) values for (N, 2) points: Gaussian in the distance to the nearest center."""
        distance_m, _ = KDTree(self.centers_m).query(points)
        return np.exp(-((distance_m / self.radius_m) ** 2))


@dataclass(frozen=True)
class StreetPlan:
    """Roads, the river, and what was decided on the way.

    Parameters
    ----------
    roads : GeoDataFrame
        Columns road_class, width_m, surface, bridge and street (the number of the street that a piece is of). Lines
        meet at nodes only.
    river : Polygon
        The water's surface.
    roundabouts : (N,) ndarray of Polygon
        The discs within the middle lines of roundabouts.
    turning : (N,) ndarray of Point
        Ends of dead-end streets that widen into a place to turn.
    towns : Towns
        Where it is town.
    """

    roads: gpd.GeoDataFrame
    river: Polygon
    roundabouts: np.ndarray
    turning: np.ndarray
    towns: Towns


def plan_streets(side_m: float, rng: np.random.Generator) -> StreetPlan:
    """Return the streets of a square scene, reaching `PAD_M` beyond it on every side."""
    bend, towns = Bend.random(rng, side_m), Towns.random(rng, side_m)
    half_m = (side_m / 2 + PAD_M) * np.sqrt(2) + 70
    lines, ends = _straight_plan(np.ceil(half_m / _LATTICE_M) * _LATTICE_M, bend, towns, rng)
    streets = _as_streets(lines, rng)
    roads = _noded(streets, 0.001)
    roads.geometry = shapely.transform(shapely.segmentize(roads.geometry.to_numpy(), 4.0), bend)
    river = _river(side_m, bend, rng)
    roundabouts = _roundabouts(roads, river, side_m, rng)
    roads = _with_rings(roads, roundabouts)
    roads = _noded(_bridged(roads, river), _SNAP_M)
    roads = _without_fragments(_clipped(roads, box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M)))
    turning = shapely.points(bend(np.reshape(ends, (-1, 2))))
    kept = np.unique(roads.sindex.query(turning, predicate="dwithin", distance=0.5)[0])
    return StreetPlan(roads, river, roundabouts, turning[kept], towns)


def _straight_plan(
    half_m: float, bend: Bend, towns: Towns, rng: np.random.Generator
) -> tuple[list[tuple[str, LineString]], list[tuple[float, float]]]:
    """Split a square about the origin into blocks; return (class, line) of each split, and where dead ends turn."""
    lines: list[tuple[str, LineString]] = []
    ends: list[tuple[float, float]] = []
    blocks = [(-half_m, -half_m, half_m, half_m, 0)]
    while blocks:
        x0, y0, x1, y1, depth = blocks.pop()
        urbanity = float(towns.urbanity(bend(np.array([[(x0 + x1) / 2, (y0 + y1) / 2]])))[0])
        wanted_m = rng.uniform(85, 130) if urbanity > 0.35 else rng.uniform(170, 300)
        along_x = x1 - x0 > y1 - y0
        length_m = max(x1 - x0, y1 - y0)
        if depth > 1 and length_m < 1.5 * wanted_m:
            _fill_block((x0, y0, x1, y1), urbanity, lines, ends, rng)
            continue
        low = x0 if along_x else y0
        split = low + np.round(length_m * rng.uniform(0.4, 0.6) / _LATTICE_M) * _LATTICE_M
        across_m = (y1 - y0) if along_x else (x1 - x0)
        road_class = _class_of(depth, across_m, urbanity)
        if along_x:
            lines.append((road_class, LineString([(split, y0), (split, y1)])))
            blocks += [(x0, y0, split, y1, depth + 1), (split, y0, x1, y1, depth + 1)]
        else:
            lines.append((road_class, LineString([(x0, split), (x1, split)])))
            blocks += [(x0, y0, x1, split, depth + 1), (x0, split, x1, y1, depth + 1)]
    return lines, ends


def _class_of(depth: int, length_m: float, urbanity: float) -> str:
    if depth == 0 or length_m > 1200:
        return "primary"
    if length_m > 420:
        return "secondary"
    return "residential" if urbanity > 0.2 else "track"


def _fill_block(
    block: tuple[float, float, float, float],
    urbanity: float,
    lines: list[tuple[str, LineString]],
    ends: list[tuple[float, float]],
    rng: np.random.Generator,
) -> None:
    """Add a dead-end street to a town block, or a winding track, that may end in the fields, to a country block."""
    x0, y0, x1, y1 = block
    middle = y0 + np.round((y1 - y0) * rng.uniform(0.35, 0.65))
    if urbanity > 0.35:
        if rng.random() < 0.3 and x1 - x0 > 90:
            end = x0 + rng.uniform(0.45, 0.6) * (x1 - x0)
            lines.append(("residential", LineString([(x0, middle), (end, middle)])))
            ends.append((end, middle))
    elif rng.random() < 0.75 and min(x1 - x0, y1 - y0) > 60:
        share = np.linspace(0, 1 if rng.random() < 0.6 else rng.uniform(0.5, 0.8), 60)
        swing = np.sin(2 * np.pi * share * rng.uniform(0.6, 1.6)) * np.sin(np.pi * share) * rng.uniform(-0.22, 0.22)
        lines.append(("track", LineString(np.column_stack([x0 + share * (x1 - x0), middle + swing * (y1 - y0)]))))


def _as_streets(lines: list[tuple[str, LineString]], rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return a table of streets, each with its width and surface."""
    road_class = np.array([name for name, _ in lines])
    low_m, high_m = np.array([WIDTHS_M[name] for name in road_class]).T
    surface = np.full(len(lines), "asphalt", dtype=object)
    draw = rng.random(len(lines))
    surface[(road_class == "residential") & (draw < 0.2)] = "concrete"
    surface[(road_class == "residential") & (draw > 0.9)] = "gravel"
    surface[road_class == "track"] = np.where(draw[road_class == "track"] < 0.4, "gravel", "dirt")
    columns = {
        "road_class": road_class,
        "width_m": np.round(rng.uniform(low_m, high_m), 1),
        "surface": surface,
        "bridge": False,
        "street": np.arange(len(lines)),
    }
    return gpd.GeoDataFrame(columns, geometry=[line for _, line in lines])


def _noded(roads: gpd.GeoDataFrame, snap_m: float) -> gpd.GeoDataFrame:
    """Return the roads cut where they meet, by snap rounding; a piece keeps the attributes of the line it lies on."""
    pieces = shapely.get_parts(shapely.union_all(roads.geometry.to_numpy(), grid_size=snap_m))
    middles = shapely.line_interpolate_point(pieces, 0.5, normalized=True)
    # Where two lines lie on each other, the more important class, which comes first, is taken.
    piece, source = roads.sindex.query(middles, predicate="dwithin", distance=4 * snap_m, sort=True)
    piece, first = np.unique(piece, return_index=True)
    table = roads.iloc[source[first]].reset_index(drop=True)
    table.geometry = pieces[piece]
    return table


def _roundabouts(roads: gpd.GeoDataFrame, river: Polygon, side_m: float, rng: np.random.Generator) -> np.ndarray:
    """Return discs at a quarter of the junctions of primary with secondary roads: at one at least, if there is any."""
    ends = {}
    for name in ("primary", "secondary"):
        lines = roads.geometry[roads.road_class == name].to_numpy()
        points = np.concatenate([shapely.get_coordinates(shapely.get_point(lines, k)) for k in (0, -1)])
        ends[name] = {tuple(point) for point in np.round(points, 2)}
    nodes = np.array(sorted(ends["primary"] & ends["secondary"])).reshape(-1, 2)
    nodes = nodes[((nodes > 0.1 * side_m) & (nodes < 0.9 * side_m)).all(axis=1)]
    nodes = nodes[shapely.distance(shapely.points(nodes), river) > 50]
    chosen = nodes[rng.permutation(len(nodes))[: -(-len(nodes) // 4)]]
    radius_m = rng.uniform(13, 18, len(chosen))
    # A ring begins where a road comes in, so that its beginning adds no node of its own.
    lines = roads.geometry.to_numpy()
    first = lines[[roads.sindex.query(node, predicate="dwithin", distance=0.1)[0] for node in shapely.points(chosen)]]
    reach = shapely.intersection(first, shapely.buffer(shapely.points(chosen), radius_m, quad_segs=64))
    heading = shapely.get_coordinates(shapely.centroid(reach)) - chosen
    angle = np.arctan2(heading[:, 1], heading[:, 0])[:, None] + np.linspace(0, 2 * np.pi, 48, endpoint=False)
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=2) * radius_m[:, None, None] + chosen[:, None, :]
    return shapely.polygons(rim)


def _with_rings(roads: gpd.GeoDataFrame, roundabouts: np.ndarray) -> gpd.GeoDataFrame:
    """Return the roads with rings in place of what lies within the roundabouts."""
    table = roads.copy()
    table.geometry = shapely.difference(roads.geometry.to_numpy(), shapely.union_all(roundabouts))
    street = roads.street.max() + 1 + np.arange(len(roundabouts))
    columns = {
        "road_class": "primary",
        "width_m": RING_WIDTH_M,
        "surface": "asphalt",
        "bridge": False,
        "street": street,
    }
    return _stack(_exploded(table), gpd.GeoDataFrame(columns, geometry=shapely.get_exterior_ring(roundabouts)))


def _river(side_m: float, bend: Bend, rng: np.random.Generator) -> Polygon:
    """Return a winding river that crosses the scene off its center, and the streets at a slant."""
    reach_m = side_m + 4 * PAD_M
    along_m = np.arange(-reach_m, reach_m, 6.0)
    half_width_m = rng.uniform(6, 11)
    aside_m = rng.choice([-1, 1]) * rng.uniform(0.18, 0.32) * side_m + np.zeros_like(along_m)
    for length_m, swing_m in ((700, 45), (310, 22), (130, 6)):
        aside_m += swing_m * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
    turn = np.arctan2(*bend.turn[::-1, 0]) + np.pi / 4 * rng.choice([1, 3, 5, 7]) + rng.uniform(-0.2, 0.2)
    x = along_m * np.cos(turn) - aside_m * np.sin(turn)
    y = along_m * np.sin(turn) + aside_m * np.cos(turn)
    reaches = shapely.points(x + side_m / 2, y + side_m / 2)
    wobble = 1 + 0.22 * np.sin(along_m / 23 + rng.uniform(0, 6)) + 0.12 * np.sin(along_m / 9)
    discs = shapely.buffer(reaches, half_width_m * wobble, quad_segs=6)
    links = shapely.convex_hull(shapely.geometrycollections(np.column_stack([discs[:-1], discs[1:]])))
    scene = box(-2 * PAD_M, -2 * PAD_M, side_m + 2 * PAD_M, side_m + 2 * PAD_M)
    return shapely.intersection(shapely.union_all(links), scene).simplify(0.2)


def _bridged(roads: gpd.GeoDataFrame, river: Polygon) -> gpd.GeoDataFrame:
    """Carry main roads over the river on bridges, where these are short enough; the others end before its banks."""
    width_m = 2 * river.area / river.length
    is_main = roads.road_class.isin(["primary", "secondary"]).to_numpy()
    bank = river.buffer(5.0)
    shapely.prepare(bank)
    wet = roads[is_main & shapely.intersects(bank, roads.geometry.to_numpy())].copy()
    wet.geometry = shapely.intersection(wet.geometry.to_numpy(), bank)
    wet = _exploded(wet)
    _, bridge = np.unique(np.column_stack([_groups(wet), wet.street]), axis=0, return_inverse=True)
    wet = wet[np.bincount(bridge, wet.length)[bridge] < 2.5 * width_m + 12].assign(bridge=True)
    dry = roads.copy()
    trimmed = np.where(is_main, bank, river.buffer(14.0))
    dry.geometry = shapely.difference(roads.geometry.to_numpy(), trimmed)
    return _stack(_exploded(dry), wet)


def _clipped(roads: gpd.GeoDataFrame, area: Polygon) -> gpd.GeoDataFrame:
    table = roads[roads.intersects(area)].copy()
    table.geometry = shapely.intersection(table.geometry.to_numpy(), area)
    return _exploded(table)


def _without_fragments(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Drop what cuts at the river leave over: short dead ends, then short groups of roads that are tied to no other."""
    _, node, degree = nodes_of(roads)
    is_dead_end = (degree[node] == 1).any(axis=0)
    roads = roads[~(is_dead_end & (roads.length < _STUB_M))].reset_index(drop=True)
    group = _groups(roads)
    return roads[np.bincount(group, roads.length)[group] > _FRAGMENT_M].reset_index(drop=True)


def nodes_of(roads: gpd.GeoDataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the (M, 2) places where roads end, the (2, N) nodes of their starts and ends, and each node's degree."""
    lines = roads.geometry.to_numpy()
    points = np.round([shapely.get_coordinates(shapely.get_point(lines, k)) for k in (0, -1)], 2)
    place, node, degree = np.unique(points.reshape(-1, 2), axis=0, return_inverse=True, return_counts=True)
    return place, node.reshape(2, -1), degree


def _groups(roads: gpd.GeoDataFrame) -> np.ndarray:
    """Return for each road the number of the group of connected roads that it is of."""
    _, (start, end), degree = nodes_of(roads)
    links = coo_array((np.ones(len(roads)), (start, end)), shape=(len(degree), len(degree)))
    return connected_components(links, directed=False)[1][start]


def _exploded(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the table with a row for each single line, and none without a line."""
    table = roads.explode(ignore_index=True)
    return table[(table.geom_type == "LineString") & (table.length > _SNAP_M)].reset_index(drop=True)


def _stack(*tables: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    columns = {name: np.concatenate([table[name].to_numpy() for table in tables]) for name in tables[0].columns}
    return gpd.GeoDataFrame(columns, geometry="geometry")
