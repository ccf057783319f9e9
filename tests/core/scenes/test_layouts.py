"""The street plans of scenes: what each kind is known by, and what all of them keep to."""

from functools import cache

import numpy as np
import pytest
import shapely

from training_core.jobs import MakeScene
from training_core.scenes.layouts import LAYOUTS
from training_core.scenes.streets import SURFACES, WIDTHS_M, nodes_of, plan_streets

SIDE_M = 512.0


@cache
def streets(layout, seed=0, side_m=SIDE_M):
    """Return the streets of a scene, without what lies beside them."""
    return plan_streets(side_m, layout, np.random.default_rng(seed))


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
    layout = next(field for field in MakeScene.option_fields() if field.name == "layout")
    assert layout.option.choices == ("auto", *LAYOUTS)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_to_the_contract_of_roads(layout, seed):
    roads = streets(layout, seed).roads
    assert set(roads.road_class) <= set(WIDTHS_M) and set(roads.surface) <= set(SURFACES)
    assert roads.width_m.between(2, 27).all() and roads.bridge.dtype == bool
    assert roads.length.sum() > 1200  # on a quarter of a square kilometer
    assert all(line.is_simple for line in roads.geometry)
    for pair in crossings_without_node(roads):
        assert roads.bridge.iloc[list(pair)].sum() == 1


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
    plan = next(one for one in (streets("radial", k) for k in range(99)) if one.river.is_empty)
    center = shapely.points(plan.towns.centers_m[0])
    rings = plan.roads.dissolve("street").geometry.apply(lambda line: shapely.polygonize([*shapely.get_parts(line)]))
    around = [ring for ring in rings if ring.covers(center)]
    assert len(around) >= 2
    assert (np.ptp(shapely.area(around)) > 1000) and all(ring.area > 1500 for ring in around)
    main = plan.roads[plan.roads.road_class == "primary"]
    spokes = main[main.length > 30]
    middle = shapely.line_interpolate_point(spokes.geometry.to_numpy(), 0.5, normalized=True)
    assert len(np.unique(spokes.street)) >= 2 and shapely.distance(middle, center).min() > 20


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


def test_places_differ_in_how_they_pave():
    paved = [
        (one.length[one.surface == "asphalt"].sum() / one.length.sum())
        for one in (streets("grid", seed, 128.0).roads for seed in range(12))
    ]
    assert min(paved) < 0.35 and max(paved) > 0.95
