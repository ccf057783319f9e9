"""The street plans of scenes: what each kind is known by, and what all of them keep to."""

import dataclasses
from functools import cache

import numpy as np
import pytest
import shapely

from training_core.jobs import MakeScene
from training_core.scenes.plan.layouts import LAYOUTS
from training_core.scenes.plan.pavement import lay_pavement
from training_core.scenes.plan.road_table import nodes_of
from training_core.scenes.plan.streets import SURFACES, WIDTHS_M, plan_streets
from training_core.scenes.scene import plan_scene

NEW = [name for name in LAYOUTS if name != "mixed"]


SIDE_M = 512.0


@cache
def streets(layout, seed=0, side_m=SIDE_M):
    """Return the streets of a scene, without what lies beside them."""
    return plan_streets(side_m, layout, np.random.default_rng(seed))


def plan(layout, seed=0):
    return plan_scene(round(2 * SIDE_M), seed, layout=layout)


def crossings_without_node(roads):
    """Return the pairs of rows of roads that meet where one of them does not end."""
    lines = roads.geometry.to_numpy()
    first, second = roads.sindex.query(lines, predicate="intersects")
    first, second = first[first < second], second[first < second]
    meeting = shapely.intersection(lines[first], lines[second])
    assert (shapely.get_dimensions(meeting) == 0).all()
    pair, point = np.repeat(np.arange(len(first)), shapely.get_num_geometries(meeting)), shapely.get_parts(meeting)
    ends = shapely.boundary(lines)
    gap = np.maximum(*(shapely.distance(point, ends[rows[pair]]) for rows in (first, second)))
    return [(first[k], second[k]) for k in np.unique(pair[gap > 0.02])]


def degrees(roads):
    return np.bincount(nodes_of(roads)[2], minlength=5)


def inner(roads, size_m=512):
    """Return the nodes inside the scene: their places, and the headings of the roads at each."""
    place, (start, end), _ = nodes_of(roads)
    headings = [[] for _ in place]
    for line, *nodes in zip(roads.geometry, start, end):
        for node, points in zip(nodes, (line.coords, line.coords[::-1])):
            step = np.subtract(points[1], points[0])
            headings[node].append(np.arctan2(step[1], step[0]))
    within = ((place > 0) & (place < size_m)).all(axis=1)
    return place[within], [headings[k] for k in np.flatnonzero(within)]


def blocks(roads):
    """Return the areas between roads."""
    return shapely.get_parts(shapely.polygonize(roads.geometry.to_numpy()))


def test_the_job_offers_the_layouts_that_there_are():
    layout = next(field for field in dataclasses.fields(MakeScene) if field.name == "layout")
    assert tuple(layout.metadata["option"].choices) == ("auto", *LAYOUTS)


@pytest.mark.slow
def test_the_seed_chooses_among_all_layouts():
    chosen = [plan_scene(64, seed).scenery.streets.layout for seed in range(40)]
    assert set(chosen) == set(LAYOUTS)
    assert [plan_scene(64, seed).scenery.streets.layout for seed in range(3)] == chosen[:3]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("layout", NEW)
def test_every_layout_keeps_to_the_contract_of_roads(layout, seed):
    roads = streets(layout, seed).roads
    assert set(roads.road_class) <= set(WIDTHS_M) and set(roads.surface) <= set(SURFACES)
    assert roads.width_m.between(2, 27).all() and roads.bridge.dtype == bool
    assert roads.length.sum() > 1200  # on a quarter of a square kilometer
    assert all(line.is_simple for line in roads.geometry)
    for pair in crossings_without_node(roads):
        assert roads.bridge.iloc[list(pair)].sum() == 1


@pytest.mark.slow
@pytest.mark.parametrize("layout", NEW)
def test_a_river_runs_through_some_scenes_only(layout):
    side_m = 400.0 if layout == "highway" else 40.0
    rivers = [not plan_streets(side_m, layout, np.random.default_rng(seed)).river.is_empty for seed in range(16)]
    assert 1 < sum(rivers) < 14


def test_a_grid_is_square():
    _, headings = inner(streets("grid").roads)
    angles = [np.diff(np.sort(np.mod(one, np.pi / 2))).max() for one in headings if len(one) > 2]
    off = np.degrees(np.minimum(angles, np.pi / 2 - np.array(angles)))
    assert len(off) > 20
    assert (off < 10).mean() > 0.8


def test_an_old_town_has_small_blocks_narrow_lanes_and_streets_that_end_at_others():
    old, square = streets("organic").roads, streets("grid").roads
    assert np.median(shapely.area(blocks(old))) < 0.6 * np.median(shapely.area(blocks(square)))
    assert old.length.mean() < square.length.mean()
    assert old.width_m[old.road_class == "residential"].between(2.5, 6).all()
    count = degrees(old)
    assert count[3] > 5 * count[4:].sum() and count[3] > 100
    assert count[1] > 10


def test_rings_close_around_the_center():
    plan = next(one for one in (streets("radial", k) for k in range(99)) if is_dry(one))
    center = shapely.points(plan.towns.centers_m[0])
    rings = plan.roads.dissolve("street").geometry.apply(lambda line: shapely.polygonize([*shapely.get_parts(line)]))
    around = [ring for ring in rings if ring.covers(center)]
    assert len(around) >= 2
    assert (np.ptp(shapely.area(around)) > 1000) and all(ring.area > 1500 for ring in around)
    main = plan.roads[plan.roads.road_class == "primary"]
    spokes = main[main.length > 30]
    middle = shapely.line_interpolate_point(spokes.geometry.to_numpy(), 0.5, normalized=True)
    assert len(np.unique(spokes.street)) >= 2 and shapely.distance(middle, center).min() > 20


def is_dry(plan):
    return plan.river.is_empty and plan.railway.bed.is_empty


def test_a_suburb_has_cul_de_sacs_to_turn_in():
    plan = streets("suburb")
    assert len(plan.turning) > 10
    assert set(plan.roads.road_class) <= {"primary", "secondary", "residential"}
    assert degrees(plan.roads)[1] >= len(plan.turning)


def test_the_country_has_few_roads_most_of_them_tracks():
    country, town = streets("rural").roads, streets("organic").roads
    assert country.length.sum() < 0.4 * town.length.sum()
    assert country.length[country.road_class == "track"].sum() > 0.4 * country.length.sum()


@pytest.mark.parametrize("seed", range(2))
def test_a_motorway_is_crossed_on_bridges_and_left_by_ramps(seed):
    roads = streets("highway", seed).roads
    motorway = roads[roads.road_class == "motorway"]
    assert motorway.street.nunique() == 2 and motorway.width_m.between(8, 11).all()
    pairs = np.array(crossings_without_node(roads))
    over = roads.overpass.to_numpy()
    assert len(pairs) >= 2 and (over[pairs].sum(axis=1) == 1).all()
    assert (roads.road_class.to_numpy()[pairs][~over[pairs]] == "motorway").any()
    assert roads.bridge[over].all()
    ramps = roads[roads.road_class == "motorway_link"]
    assert ramps.street.nunique() >= 4
    for line in ramps.geometry:  # every ramp is tied to something at both ends
        ends = shapely.get_parts(shapely.boundary(line))
        assert all((roads.distance(end) < 0.02).sum() >= 2 for end in ends)


def test_motorways_lie_below_the_bridges_over_them():
    order = lay_pavement(streets("highway")).carriageways.road.to_numpy()
    over = np.append(streets("highway").roads.overpass.to_numpy(), False)[order]
    assert over.any() and not over[: (~over).argmin()].any()
    last_ground = np.flatnonzero((order >= 0) & ~over)[-1]
    assert last_ground < np.flatnonzero(over)[0]


@pytest.fixture(scope="module")
def by_rail():
    """Return scenes with railways."""
    tried = ((layout, seed) for seed in range(20) for layout in ("suburb", "organic", "highway", "grid"))
    with_rails = (each for each in tried if not streets(*each).railway.bed.is_empty)
    return [plan(*next(with_rails)) for _ in range(3)]


def test_a_railway_is_no_road_and_nothing_stands_on_it(by_rail):
    for scene in by_rail:
        streets, land = scene.scenery.streets, scene.scenery.land
        bed = streets.railway.bed
        assert not land.buildings.intersects(bed).any()
        on_bed = streets.roads.intersection(bed)
        # Roads cross it; none runs along it.
        assert on_bed.length.max() < 5 * streets.railway.width_m
        rails = shapely.union_all(streets.railway.rails)
        assert rails.length > 2 * 512 and bed.buffer(0.01).covers(rails)
        assert rails.intersection(shapely.union_all(streets.decks)).length < 0.1  # they lie below


def test_roads_cross_railways_on_bridges_and_on_the_level(by_rail):
    crossing = [s.roads[s.roads.intersects(s.railway.bed.buffer(-1))] for s in (p.scenery.streets for p in by_rail)]
    bridge = np.concatenate([roads.bridge.to_numpy() for roads in crossing])
    assert bridge.any() and not bridge.all()


@pytest.mark.slow
def test_about_a_third_of_scenes_have_a_railway():
    plans = [plan_streets(60.0, "grid", np.random.default_rng(seed)) for seed in range(60)]
    assert 10 < sum(not plan.railway.bed.is_empty for plan in plans) < 32


def test_places_differ_in_how_they_pave():
    paved = [(one.length[one.surface == "asphalt"].sum() / one.length.sum()) for one in moods()]
    assert min(paved) < 0.35 and max(paved) > 0.95


def moods():
    return [streets("grid", seed, 128.0).roads for seed in range(12)]


@pytest.mark.slow
def test_streets_of_many_lanes_have_lines_between_them():
    wide = narrow = None
    for seed in range(40):
        streets = plan_streets(300.0, "grid", np.random.default_rng(seed))
        main = streets.roads[streets.roads.road_class == "primary"]
        if len(main) and main.width_m.min() > 17:
            wide = wide or (main, lay_pavement(streets).markings)
        elif len(main) and main.width_m.max() < 15:
            narrow = narrow or (main, lay_pavement(streets).markings)
    lines_m = [
        markings.length[
            markings.within(shapely.union_all(shapely.buffer(roads.geometry, roads.width_m / 2 - 1.5)))
        ].sum()
        / roads.length.sum()
        for roads, markings in (wide, narrow)
    ]
    assert lines_m[0] > 3 * lines_m[1] > 0
