"""The street plans of scenes: what each kind is known by, and what all of them keep to."""

from functools import cache

import numpy as np
import pytest
import shapely

from training_core.jobs import MakeScene
from training_core.scenes.layouts import LAYOUTS
from training_core.scenes.streets import SURFACES, WIDTHS_M, plan_streets

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


def test_the_job_offers_the_layouts_that_there_are():
    layout = next(field for field in MakeScene.option_fields() if field.name == "layout")
    assert layout.option.choices == ("auto", *LAYOUTS)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_to_the_contract_of_roads(layout, seed):
    roads = streets(layout, seed).roads
    assert set(roads.road_class) <= set(WIDTHS_M) and set(roads.surface) <= set(SURFACES)
    assert roads.width_m.between(2, 27).all() and roads.bridge.dtype == bool
    assert roads.length.sum() > (400 if layout == "sparse" else 1200)  # on a quarter of a square kilometer
    assert all(line.is_simple for line in roads.geometry)
    for pair in crossings_without_node(roads):
        assert roads.bridge.iloc[list(pair)].sum() == 1


def test_the_smallest_scenes_are_planned_though_some_have_no_road():
    counts = [len(plan_streets(16.0, "mixed", np.random.default_rng(seed)).roads) for seed in range(40)]
    assert 0 < sum(count > 0 for count in counts) < 40


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


def test_each_layout_is_known_by_its_streets():
    roads = {layout: streets(layout).roads for layout in ("grid", "organic", "rural")}
    blocks_m2 = {
        layout: np.median(shapely.area(shapely.get_parts(shapely.polygonize(table.geometry.to_numpy()))))
        for layout, table in roads.items()
    }
    assert blocks_m2["organic"] < 0.6 * blocks_m2["grid"]
    country = roads["rural"]
    assert country.length.sum() < 0.4 * roads["organic"].length.sum()
    assert country.length[country.road_class == "track"].sum() > 0.4 * country.length.sum()
    suburb = streets("suburb")
    assert len(suburb.turning) > 10 and "track" not in set(suburb.roads.road_class)
