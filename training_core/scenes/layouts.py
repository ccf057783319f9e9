"""The kinds of street plans: villages, grid, old town, rings and spokes, suburb, countryside, motorway, a lone road.

Scope: how each is drawn about the origin, from a square's side and a random generator. Independent of how the drawing
is used.
"""

from __future__ import annotations

import numpy as np
import shapely
from scipy.interpolate import BPoly
from shapely.geometry import LineString, Point, Polygon

from .sketch import Bend, Sketch, Street, Towns, class_of, divide, half_side_m

_OLD_WIDTHS_M = {"primary": (6.0, 10.0), "secondary": (4.5, 6.0), "residential": (2.5, 5.0), "track": (2.5, 3.5)}
_COUNTRY_WIDTHS_M = {"secondary": (6.0, 8.0), "residential": (3.5, 5.5), "track": (2.2, 4.0)}
_LONE_WIDTHS_M = {"secondary": (3.8, 6.2), "residential": (3.3, 5.5), "track": (2.8, 4.2)}
_LONE_SHARES = (0.006, 0.025)  # range of the part of the ground that is road
_CLEAR_M = 7.0  # from a carriageway's edge to the end of a bridge
_TAPER_M = 4.0  # a ramp leaves at a small angle, so that it does not lie on the carriageway


def mixed(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return villages among fields, with dead ends in the villages and tracks that wind through the fields."""
    bend, towns = Bend.random(rng, side_m), Towns.random(rng, side_m)

    def wanted_m(at: np.ndarray) -> float:
        return rng.uniform(85, 130) if towns.urbanity(bend(at[None]))[0] > 0.35 else rng.uniform(170, 300)

    cuts, blocks = divide(_square(half_side_m(side_m)), wanted_m, 0.03, rng)
    streets = [
        Street(class_of(depth, np.hypot(*(end - start)), urbanity), LineString([start, end]))
        for (depth, (start, end)), urbanity in zip(cuts, _urbanity_of([ends for _, ends in cuts], bend, towns))
    ]
    dead_ends = []
    for block, urbanity in zip(blocks, _urbanity_of(blocks, bend, towns)):
        if urbanity > 0.35 and rng.random() < 0.3:
            streets.append(Street("residential", _blind_alley(block, rng.uniform(0.45, 0.6), rng)))
            dead_ends.append(streets[-1].line.coords[-1])
        elif (urbanity <= 0.35 and rng.random() < 0.75) or not streets:
            share = 1 if rng.random() < 0.6 else rng.uniform(0.5, 0.8)
            streets.append(Street("track", _blind_alley(block, share, rng, swing=rng.uniform(-0.22, 0.22))))
    return Sketch(streets, dead_ends, bend, towns)


def _urbanity_of(shapes: list[np.ndarray], bend: Bend, towns: Towns) -> np.ndarray:
    """Return the urbanity at the middle of shapes given by their corners, (N, 2) float64 each."""
    return towns.urbanity(bend(np.array([corners.mean(axis=0) for corners in shapes]).reshape(-1, 2)))


def _blind_alley(block: np.ndarray, share: float, rng: np.random.Generator, swing: float = 0.0) -> LineString:
    """Return a dead-end street from the middle of a random side into a block with (N, 2) float64 corners.

    `share` is its length as a fraction of the distance across, and `swing` how far it winds, as a fraction, too.
    """
    k = rng.integers(len(block))
    start, center = (block[k] + block[(k + 1) % len(block)]) / 2, block.mean(axis=0)
    across = 2 * (center - start)
    at = np.linspace(0, share, 60 if swing else 2)[:, None]
    wave = swing * np.sin(2 * np.pi * at * rng.uniform(0.6, 1.6)) * np.sin(np.pi * at)
    return LineString(start + at * across + wave * np.array([-across[1], across[0]]))


def grid(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return straight streets that cross at right angles, with a few blocks joined and in some towns alleys."""
    bend = Bend.random(rng, side_m, (1500.0,), swing=rng.choice([0.0, 0.0, 0.02]))
    half_m = half_side_m(side_m)
    xs, ys = _spaced(half_m, rng.uniform(55, 100), 0.12, rng), _spaced(half_m, rng.uniform(80, 190), 0.12, rng)
    streets: list[Street] = []
    for across, along, is_turned in ((xs, ys, True), (ys, xs, False)):
        classes = _main_every(len(across), rng)
        for at, road_class in zip(across, classes):
            gap = 0.09 if road_class == "residential" else 0.0
            for start, end in _runs(np.concatenate([[-half_m], along, [half_m]]), gap, rng):
                points = [(start, at), (end, at)]
                streets.append(Street(road_class, LineString([p[::-1] for p in points] if is_turned else points)))
    if rng.random() < 0.35:
        alley_m = rng.uniform(3.0, 4.2)
        for middle in (xs[:-1] + xs[1:]) / 2:
            for y0, y1 in _runs(ys, 0.3, rng):
                streets.append(Street("residential", LineString([(middle, y0), (middle, y1)]), alley_m))
    scale = rng.uniform(0.85, 1.4)
    widths_m = {"primary": _of_main_streets(scale, rng), "secondary": (7.5 * scale, 9 * scale)}
    widths_m["residential"] = (4.8 * scale, 6.8 * scale)
    streets.sort(key=lambda street: street.road_class == "residential")  # where two lie on each other
    return Sketch(streets, [], bend, _one_town(side_m, bend, 1.3), widths_m)


def _of_main_streets(scale: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the range of their width: of two lanes and a turning lane, or in some towns of four to eight lanes."""
    return (17.0, 27.0) if rng.random() < 0.35 else (11 * scale, 13 * scale)


def _spaced(half_m: float, step_m: float, spread: float, rng: np.random.Generator) -> np.ndarray:
    """Return places from -half_m to half_m, a step apart, more or less."""
    count = int(2.5 * half_m / (step_m * (1 - spread))) + 2
    at_m = -half_m + np.cumsum(step_m * rng.uniform(1 - spread, 1 + spread, count)) - step_m * rng.uniform(0.2, 0.8)
    return np.round(at_m[(at_m > -half_m) & (at_m < half_m)], 1)


def _main_every(count: int, rng: np.random.Generator) -> list[str]:
    """Return classes of parallel streets: each fourth or so is a main one."""
    every, first = rng.integers(3, 6), rng.integers(0, 3)
    main = ["secondary" if rng.random() < 0.6 else "primary" for _ in range(count)]
    return [main[k] if k % every == first else "residential" for k in range(count)]


def _runs(places: np.ndarray, gap: float, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return the stretches between places, of which a fraction `gap` is left out."""
    kept = rng.random(len(places) - 1) >= gap
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]])))
    return [(places[start], places[end]) for start, end in edges.reshape(-1, 2)]


def _one_town(side_m: float, bend: Bend, share: float) -> Towns:
    """Return a town about the origin whose radius is a fraction of a scene's side."""
    return Towns(bend(np.zeros((1, 2))), share * side_m)


def organic(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return an old town: narrow, bent lanes around small irregular blocks, many of them ending at others."""
    bend = Bend.random(rng, side_m, (700.0, 400.0, 230.0, 130.0, 80.0), swing=0.029)
    towns = Towns(bend(rng.uniform(-0.15, 0.15, (1, 2)) * side_m), rng.uniform(0.5, 0.8) * min(side_m, 1600))
    dense_m = rng.uniform(32, 50)

    def wanted_m(at: np.ndarray) -> float:
        is_town = towns.urbanity(bend(at[None]))[0] > rng.uniform(0.2, 0.4)
        return dense_m * rng.uniform(0.8, 1.5) if is_town else rng.uniform(90, 190)

    cuts, blocks = divide(_square(half_side_m(side_m)), wanted_m, 0.28, rng)
    streets = [
        Street(class_of(depth, 0.7 * np.hypot(*(end - start)), 1.5 * urbanity), LineString([start, end]))
        for (depth, (start, end)), urbanity in zip(cuts, _urbanity_of([ends for _, ends in cuts], bend, towns))
    ]
    for block in blocks:
        if rng.random() < 0.22:
            alley = _blind_alley(block, rng.uniform(0.3, 0.6), rng)
            streets.append(Street("residential", alley, rng.uniform(2.5, 3.6)))
    return Sketch(streets, [], bend, towns, _OLD_WIDTHS_M)


def _square(half_m: float) -> np.ndarray:
    return np.array([(-half_m, -half_m), (half_m, -half_m), (half_m, half_m), (-half_m, half_m)])


def rural(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return the country: a road or two, a hamlet, and tracks that wind through the fields and may end there."""
    bend = Bend.random(rng, side_m, (900.0, 500.0, 280.0, 160.0, 90.0), swing=0.028)
    towns = Towns(bend(rng.uniform(-0.3, 0.3, (1, 2)) * side_m), rng.uniform(110, 190))
    half_m = half_side_m(side_m)
    cuts, blocks = divide(_square(half_m), lambda _: min(rng.uniform(170, 420), 1.2 * half_m), 0.3, rng)
    streets = []
    for (depth, ends), urbanity in zip(cuts, _urbanity_of([ends for _, ends in cuts], bend, towns)):
        road_class = "secondary" if depth == 0 else "residential" if depth == 1 or urbanity > 0.2 else "track"
        streets.append(Street(road_class, LineString(ends)))
    tracks = [_blind_alley(block, rng.uniform(0.4, 0.8), rng) for block in blocks if rng.random() < 0.5]
    streets += [Street("track", track) for track in tracks]
    return Sketch(streets, [], bend, towns, _COUNTRY_WIDTHS_M)


def sparse(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return a road or two through wide land that bounds and canals divide, a hamlet or none, and field tracks."""
    is_plain = rng.random() < 0.45  # there all runs straight, and there may be canals
    swing = 0.003 if is_plain else rng.uniform(0.014, 0.028)
    bend = Bend.random(rng, side_m, (900.0, 500.0, 280.0, 160.0, 90.0), swing)
    half_m, scene = half_side_m(side_m), Point(0, 0).buffer(0.56 * side_m)  # as large as the square, in any turn
    x, end_m = rng.uniform(-0.3, 0.3) * side_m, half_m if rng.random() < 0.75 else rng.uniform(-0.1, 0.4) * side_m
    road = LineString([(x, -half_m), (x, end_m)])
    streets = [Street(str(rng.choice(["secondary", "track"], p=[0.6, 0.4])), road)]
    block_m, skew, cuts = rng.uniform(60, 150), 0.04 if is_plain else 0.34, []
    for edge_m in (-half_m, half_m):
        half = np.array([(x, -half_m), (edge_m, -half_m), (edge_m, half_m), (x, half_m)])
        cuts += divide(half, lambda _: block_m * rng.uniform(0.7, 1.6), skew, rng)[0]
    cuts.sort(key=lambda cut: cut[0])
    bounds = [line for _, ends in cuts if (line := LineString(ends)).intersects(scene)]
    # Lines are roads as long as there is ground left for them, 4.6 m broad on average; the others stay bounds.
    left_m = np.exp(rng.uniform(*np.log(_LONE_SHARES))) * side_m**2 / 4.6 - side_m
    while bounds and rng.random() < 0.7 and left_m > bounds[0].intersection(scene).length:
        left_m -= bounds[0].intersection(scene).length
        streets.append(Street("residential" if len(streets) == 1 else "track", bounds.pop(0)))
    streets += [Street("track", _field_track(x, end_m, side_m, rng)) for _ in range(rng.integers(0, 3))]
    canals = [line for line in bounds[:8] if is_plain and rng.random() < 0.35]
    if is_plain and rng.random() < 0.4:
        canals.append(road.offset_curve(rng.choice([-1, 1]) * rng.uniform(8, 14)))
    hamlet = np.array([(x if rng.random() < 0.6 else 10 * side_m, rng.uniform(-0.4, 0.2) * side_m)])
    return Sketch(streets, [], bend, Towns(bend(hamlet), rng.uniform(50, 130)), _LONE_WIDTHS_M, bounds, canals)


def _field_track(x: float, end_m: float, side_m: float, rng: np.random.Generator) -> LineString:
    """Return a track that leaves a road at `x` that ends at `end_m`, winds and ends in the fields."""
    at, length_m, swing_m = np.linspace(0, 1, 40), rng.uniform(0.12, 0.4) * side_m, rng.uniform(0, 0.12) * side_m
    y = rng.uniform(-0.45 * side_m, min(0.35 * side_m, end_m)) + at * rng.normal(0, 0.4) * length_m
    y += swing_m * np.sin(2 * np.pi * at * rng.uniform(0.5, 1.5)) * at
    return LineString(np.column_stack([x + rng.choice([-1, 1]) * at * length_m, y]))


def radial(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return rings around a center and spokes, more of them farther out."""
    bend = Bend.random(rng, side_m, (1100.0, 600.0, 300.0), swing=0.02)
    half_m = 1.42 * half_side_m(side_m)
    radii_m = np.cumsum(np.append(rng.uniform(28, 50), rng.uniform(45, 95, int(half_m / 45))))
    radii_m = radii_m[radii_m < half_m]
    count, start = int(rng.integers(5, 9)), rng.uniform(0, 2 * np.pi)
    widest_m = rng.uniform(110, 190)  # between spokes; where it is wider, new ones begin
    angles = start + 2 * np.pi * np.arange(count) / count + rng.normal(0, 0.06, count)
    streets = [
        Street("primary" if k % 2 else "secondary", _ray(angle, radii_m[0], radii_m[-1]))
        for k, angle in enumerate(angles)
    ]
    for level, radius_m in enumerate(radii_m):
        # Rings run all around, but some of the outer ones have a gap.
        first = rng.uniform(0, 2 * np.pi)
        turn = rng.uniform(0.9, 1.6) * np.pi if level >= 3 and rng.random() < 0.5 else 2 * np.pi
        angles = np.linspace(first, first + turn, 2 + int(turn * radius_m / 3))
        line = LineString(np.column_stack([np.cos(angles), np.sin(angles)]) * radius_m)
        streets.append(Street("secondary" if level < 3 or level % 3 == 0 else "residential", line))
        if level and 2 * np.pi * radius_m / count > widest_m:
            between = start + 2 * np.pi * (np.arange(count) + 0.5) / count
            streets += [Street("residential", _ray(a, radius_m, radii_m[-1])) for a in between if rng.random() < 0.85]
            count *= 2
    return Sketch(streets, [], bend, _one_town(side_m, bend, rng.uniform(0.5, 0.9)))


def _ray(angle: float, start_m: float, end_m: float) -> LineString:
    return LineString(np.outer([start_m, end_m], [np.cos(angle), np.sin(angle)]))


def suburb(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return collector roads around curved residential streets with cul-de-sacs."""
    bend = Bend.random(rng, side_m, (900.0, 600.0, 400.0, 260.0), swing=0.024)
    half_m = half_side_m(side_m)
    xs = _spaced(half_m, rng.uniform(300, 420), 0.15, rng)
    ys = _spaced(half_m, rng.uniform(230, 300), 0.15, rng)
    streets: list[Street] = []
    ends: list[tuple[float, float]] = []
    for across, is_turned in ((xs, True), (ys, False)):
        for at, road_class in zip(across, _main_every(len(across), rng)):
            line = np.array([(-half_m, at), (half_m, at)])
            collector = "primary" if road_class == "primary" else "secondary"
            streets.append(Street(collector, LineString(line[:, ::-1] if is_turned else line)))
    for x0, x1 in zip([-half_m, *xs], [*xs, half_m]):
        for y0, y1 in zip([-half_m, *ys], [*ys, half_m]):
            if x1 - x0 > 120 and y1 - y0 > 100:
                _fill_superblock(np.array([x0, y0]), x1 - x0, y1 - y0, rng, streets, ends)
    scale = rng.uniform(0.85, 1.35)
    widths_m = {"primary": _of_main_streets(scale, rng), "secondary": (8 * scale, 10 * scale)}
    widths_m["residential"] = (5.5 * scale, 7 * scale)
    return Sketch(streets, ends, bend, _one_town(side_m, bend, 1.3), widths_m)


def _fill_superblock(
    corner: np.ndarray,
    width_m: float,
    height_m: float,
    rng: np.random.Generator,
    streets: list[Street],
    ends: list[tuple[float, float]],
) -> None:
    """Add a curved street through a block, and branches off it: cul-de-sacs, and crescents that come back."""
    stem = np.arange(45, width_m - 40, rng.uniform(56, 78))
    swing_m, waves, phase = rng.uniform(0.05, 0.13) * height_m, rng.uniform(0.5, 1.3), rng.uniform(0, 6)

    def spine(at_m: np.ndarray) -> np.ndarray:
        return height_m / 2 + swing_m * np.sin(2 * np.pi * waves * at_m / width_m + phase)

    along = np.unique(np.concatenate([np.linspace(0, width_m, 40), stem]))
    streets.append(Street("residential", LineString(np.column_stack([along, spine(along)]) + corner)))
    onward = np.linspace(0, 1, 12)
    for edge in (38, height_m - 38):
        open_end = None  # of a branch that the next one comes back to
        for at_m, foot in zip(stem, spine(stem)):
            x = at_m + rng.uniform(-9, 9) * onward**2
            y = foot + onward * (edge - foot) * rng.uniform(0.75, 1.0)
            branch, draw = np.column_stack([x, y]) + corner, rng.random()
            if open_end is not None:
                streets.append(Street("residential", LineString(np.vstack([open_end, branch[::-1]]))))
                open_end = None
            elif draw < 0.3 and at_m < stem[-1]:
                open_end = branch
            elif draw < 0.88:
                streets.append(Street("residential", LineString(branch)))
                ends.append(tuple(branch[-1]))


def highway(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return a motorway along the x axis, roads on bridges over it, ramps to one of them, and streets on both sides."""
    bend = Bend.random(rng, side_m, (2400.0, 1300.0, 700.0), swing=rng.uniform(0.012, 0.022))
    towns = Towns.random(rng, side_m)
    half_m, width_m = half_side_m(side_m), round(rng.uniform(8.0, 11.0), 1)
    axis_m = width_m / 2 + rng.uniform(2.0, 6.0)  # from the middle of the median to that of a carriageway
    deck_m = axis_m + width_m / 2 + _CLEAR_M
    streets = [Street("motorway", LineString([(-half_m, y), (half_m, y)]), width_m) for y in (-axis_m, axis_m)]
    cross_m = _crossings(half_m, rng)
    for x in cross_m:
        lesser, chances = ["secondary", "residential", "track"], [0.4, 0.45, 0.15]
        road_class = str(rng.choice(["primary", "secondary"]) if x == 0 else rng.choice(lesser, p=chances))
        streets += _over(x, deck_m, half_m, road_class, rng)
    ramps = _diamond(axis_m, rng)
    streets += ramps
    strip_m = axis_m + width_m / 2 + rng.uniform(14, 40)
    reserved = shapely.union_all([street.line for street in ramps]).convex_hull.buffer(22)
    taken = np.concatenate([shapely.points(cross_m, 0), [Point(0, 0)]])
    reserved = shapely.union_all([reserved, *shapely.buffer(taken, strip_m + 10)])
    for sign in (-1, 1):
        streets += _beside(sign, strip_m, half_m, reserved, bend, towns, rng)
    return Sketch(streets, [], bend, towns)


def _crossings(half_m: float, rng: np.random.Generator) -> list[float]:
    """Return where roads cross the motorway: at 0, and on both sides at some distance from ramps and each other."""
    places = [0.0]
    for sign in (-1, 1):
        x = rng.uniform(270, 400)
        while x < half_m:
            places.append(sign * x)
            x += rng.uniform(200, 520)
    return places


def _over(x: float, deck_m: float, half_m: float, road_class: str, rng: np.random.Generator) -> list[Street]:
    """Return a road over the motorway: both sides, then the bridge."""
    width_m = {"primary": 11.0, "secondary": 8.0, "residential": 5.5, "track": 4.0}[road_class] * rng.uniform(0.95, 1.1)
    width_m = round(width_m, 1)
    below, above = LineString([(x, -half_m), (x, -deck_m)]), LineString([(x, deck_m), (x, half_m)])
    bridge = Street(road_class, LineString([(x, -deck_m), (x, deck_m)]), width_m, overpass=True)
    return [Street(road_class, below, width_m), Street(road_class, above, width_m), bridge]


def _diamond(axis_m: float, rng: np.random.Generator) -> list[Street]:
    """Return four ramps that end across the road over the motorway, two junctions on either side."""
    long_m, wide_m = rng.uniform(130, 165), axis_m + rng.uniform(38, 60)
    corners = [(-long_m, axis_m), (-0.55 * long_m, axis_m + _TAPER_M), (-0.3 * long_m, wide_m), (0, wide_m)]
    ramp = BPoly(np.array(corners)[:, None], [0, 1])(np.linspace(0, 1, 60))  # a cubic Bezier curve
    quadrants = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    return [Street("motorway_link", LineString(ramp * quadrant)) for quadrant in quadrants]


def _beside(
    sign: int, strip_m: float, half_m: float, reserved: Polygon, bend: Bend, towns: Towns, rng: np.random.Generator
) -> list[Street]:
    """Return the streets on one side of the motorway, a frontage road first, that keep clear of the interchange."""
    land = np.array([(-half_m, strip_m), (half_m, strip_m), (half_m, half_m), (-half_m, half_m)]) * (1, sign)

    def wanted_m(at: np.ndarray) -> float:
        is_town = towns.urbanity(bend(at[None]))[0] > 0.3
        return rng.uniform(70, 120) if is_town else rng.uniform(150, 300)

    cuts, _ = divide(land, wanted_m, 0.12, rng)
    front = str(rng.choice(["residential", "track"], p=[0.7, 0.3]))
    drawn = [(front, LineString(land[:2]))]
    for depth, ends in cuts:
        urbanity = towns.urbanity(bend(ends.mean(axis=0)[None]))[0]
        drawn.append((class_of(depth + 1, 0.8 * np.hypot(*(ends[1] - ends[0])), urbanity), LineString(ends)))
    streets = []
    for road_class, line in drawn:
        left = shapely.get_parts(shapely.difference(line, reserved))
        streets += [Street(road_class, part) for part in left if part.length > 15]
    return streets


LAYOUTS = {
    "mixed": mixed,
    "grid": grid,
    "organic": organic,
    "radial": radial,
    "suburb": suburb,
    "rural": rural,
    "highway": highway,
    "sparse": sparse,
}
