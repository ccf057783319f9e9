"""The job comparenetworks: from two layers and places to changes, routes and a report."""

from __future__ import annotations

import json
import re

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapely import LineString, MultiPoint

from tests.core.support.browser import Page
from tests.core.support.disasters import ALL_OUTPUTS, GRID, X, Y, line, run
from tests.core.support.osm_changes import write_extract
from tests.core.support.rasters import UTM, write_layer
from tests.core.support.road_graphs import town
from training_core.comparison.change_results import summary_sentences
from training_core.errors import LayerError
from training_core.events import Reporter


def places_of(result):
    return geopandas.read_file(result["reached"]).set_index("name")


def lengths(result):
    return {change: result[change]["length_m"] for change in ("intact", "displaced", "lost", "new")}


@pytest.mark.parametrize("crs", [UTM, "EPSG:4326", "EPSG:3857"])
def test_the_same_roads_in_any_coordinate_systems_are_intact(tmp_path, grid, crs):
    other = str(tmp_path / "other.gpkg")
    geopandas.read_file(grid).to_crs(crs).to_file(other)
    result = run(tmp_path, grid, other)
    assert result["intact"]["share"] == pytest.approx(1)
    assert lengths(result) == pytest.approx({"intact": 8 * 210, "displaced": 0, "lost": 0, "new": 0}, rel=1e-3)
    changes = geopandas.read_file(result["changes"])
    assert set(changes["change"]) == {"intact"} and len(changes) == len(GRID) and changes.crs == UTM
    shapes = geopandas.read_file(grid).geometry
    assert all(one.equals_exact(other, 1e-3) for one, other in zip(changes.geometry, shapes))


def test_each_line_keeps_its_fields_and_has_its_shares(tmp_path, write):
    before = write(
        "before", line((0, 0), (200, 0)), line((0, 90), (0, 190)), ref=["A 1", "B 2"], lanes=[2, 1], length_m=[7, 7]
    )
    # The first road is cut off at 120 m, the second has moved by 6 m, and a third is new.
    after = write(
        "after",
        line((0, 0), (120, 0)),
        line((6, 90), (6, 190)),
        line((60, 20), (60, 80)),
        ref=[1, 2, 3],
        sure=[True] * 3,
    )
    result = run(tmp_path, before, after, align=False)
    changes = geopandas.read_file(result["changes"])
    rows = list(zip(changes["change"], changes["line"], changes["network"], changes["length_m"], changes["ref"]))
    assert rows == [
        ("intact", 1, "before", pytest.approx(125, rel=1e-3), "A 1"),
        ("lost", 1, "before", pytest.approx(75, rel=1e-3), "A 1"),
        ("displaced", 2, "before", pytest.approx(100, rel=1e-3), "B 2"),
        ("new", 3, "after", pytest.approx(60, rel=1e-3), "3"),
    ]
    shares = changes[[f"{change}_share" for change in ("intact", "displaced", "lost", "new")]].to_numpy()
    expected = [(0.625, 0, 0.375, 0), (0.625, 0, 0.375, 0), (0, 1, 0, 0), (0, 0, 0, 1)]
    assert shares == pytest.approx(np.array(expected), abs=1e-4)
    assert changes["offset_m"].iloc[2] == pytest.approx(6, rel=1e-3) and changes["offset_m"].isna().sum() == 3
    assert changes["lanes"].isna().tolist() == [False, False, False, True]
    assert changes["sure"].isna().tolist() == [True, True, True, False]
    assert changes.length.tolist() == pytest.approx(changes["length_m"].tolist(), rel=1e-3)
    assert result["displaced"]["offset_m"] == pytest.approx(6, rel=1e-3)
    assert result["lost"]["share"] == pytest.approx(75 / 300, rel=1e-4)
    assert result["new"]["share"] == pytest.approx(60 / 280, rel=1e-4)


def test_roads_beyond_the_new_image_are_warned_of_without_an_area(tmp_path, grid, write):
    reporter = Reporter()
    run(tmp_path, grid, write("after", *(line((0, y), (100, y)) for y in (0, 70, 140, 210))), reporter)
    # Up to 15 m beyond, at x = 115 m: 4 x 95 m across and the 2 x 210 m at 140 and 210 m are farther.
    assert "0.8 km of the roads before lie beyond the roads after" in reporter.warnings[0]


def test_a_shift_of_the_whole_layer_is_removed(tmp_path, grid, write):
    link = [(0, 105), (70, 105)]
    aside = [shapely.affinity.translate(line(*way), 7, -4) for way in (*GRID, link) if way != GRID[5]]
    after = write("after", *aside)
    reporter = Reporter()
    result = run(tmp_path, grid, after, reporter)
    # From true north, which is 1.3 degrees off the map's.
    assert (result["shift"]["east_m"], result["shift"]["north_m"]) == pytest.approx((7.09, -3.84), abs=0.05)
    assert lengths(result)["lost"] == pytest.approx(210, rel=1e-3) and not reporter.warnings
    changes = geopandas.read_file(result["changes"])
    lost = changes.geometry[changes["change"] == "lost"].iloc[0]
    assert lost.bounds == pytest.approx((X + 70, Y, X + 70, Y + 210), abs=0.01)  # where it was drawn
    new = changes.geometry[changes["change"] == "new"].iloc[0]
    assert new.bounds == pytest.approx((X, Y + 105, X + 70, Y + 105), abs=0.05)  # beside the roads before
    result = run(tmp_path, grid, after, reporter, align=False)
    assert not result["shift"]["taken_off"] and result["displaced"]["share"] == pytest.approx(3 / 8)
    assert "7.1 m to the east and 3.8 m to the south" in reporter.warnings[0]


def test_a_new_road_shares_vertices_with_the_roads_that_it_leaves_and_crosses(tmp_path, grid, write):
    road = [(6, 100), (6, 35), (140, 35)]  # from a road that was drawn 6 m beside it, across another, to a third
    after = write("after", *(line(*way) for way in GRID if way[0] != (0, 0)), line((6, 0), (6, 210)), line(*road[1:]))
    changes = geopandas.read_file(run(tmp_path, grid, after, align=False)["changes"])
    assert changes["review"].isna().all()
    (new,) = changes.geometry[changes["change"] == "new"]
    before = shapely.get_coordinates(changes.geometry[changes["network"] == "before"].to_numpy())
    for place in [(0, 35), (70, 35), (140, 35)]:
        (at,) = np.flatnonzero(np.hypot(*(shapely.get_coordinates(new) - np.add(place, (X, Y))).T) < 0.05)
        assert (before == shapely.get_coordinates(new)[at]).all(axis=1).any()
    changes = geopandas.read_file(run(tmp_path, grid, after, align=False, attach_m=0)["changes"])
    assert changes.geometry[changes["change"] == "new"].iloc[0].equals_exact(line(*road[1:]), 1e-3)


def test_of_an_extract_of_openstreetmap_highways_are_roads_and_bridges_stay_bridges(tmp_path):
    fence, track = {"barrier": "fence"}, {"highway": "track"}
    tags = [fence, track, {**track, "bridge": "yes"}, {**track, "bridge": "no"}]
    rows = [LineString([(13.4, 52.5 + row / 1e3), (13.41, 52.5 + row / 1e3)]) for row in range(4)]
    before = write_extract(tmp_path / "before.osm", rows, tags)
    across = LineString([(13.405, 52.4995), (13.405, 52.5035)])
    after = write_layer(tmp_path / "after.gpkg", *rows, across, crs="EPSG:4326")
    changes = geopandas.read_file(run(tmp_path, before, after)["changes"])
    old, new = (changes[changes["network"] == network] for network in ("before", "after"))
    assert old["line"].tolist() == [2, 3, 4] and set(old["change"]) == {"intact"}
    assert [shapely.get_num_points(shape) for shape in old.geometry] == [3, 2, 3]
    crossed = shapely.get_coordinates(new.geometry[new["line"] == 5].to_numpy())[1:-1, 1]
    assert crossed == pytest.approx([52.501, 52.503])


def test_a_line_drawn_among_ways_of_openstreetmap_counts_and_what_is_left_out_is_told(tmp_path, write):
    """A road, a river and a line without identifier, in a layer with the fields of an extract."""
    ways = [line((0, y), (100, y)) for y in (0, 70, 140)]
    before = write("before", *ways, osm_id=["1", "2", None], highway=["residential", None, None])
    reporter = Reporter()
    result = run(tmp_path, before, write("after", *ways), reporter, align=False)
    assert lengths(result) == pytest.approx({"intact": 200, "displaced": 0, "lost": 0, "new": 100}, rel=1e-3)
    assert any("1 of 3 features of the roads before" in text for text in reporter.warnings)


def test_a_road_that_is_drawn_twice_counts_once(tmp_path, write):
    road = line((0, 0), (100, 0))
    before = write("before", road, road, road.reverse())
    assert lengths(run(tmp_path, before, write("after", road)))["intact"] == pytest.approx(100, rel=1e-3)


def test_a_bridge_that_is_gone_cuts_off_what_lies_beyond(tmp_path, river):
    result = run(tmp_path, **river)
    assert (result["routes"]["cut_off"], result["routes"]["reachable"], result["routes"]["places"]) == (1, 1, 2)
    places = places_of(result)
    assert places["status"].to_dict() == {"near": "reachable", "far": "cut off"}
    assert places["reachable_after"].to_dict() == {"near": True, "far": False}
    assert places["distance_before_m"].to_dict() == pytest.approx({"near": 50, "far": 300}, rel=1e-3)
    assert np.isnan(places.loc["far", "distance_after_m"]) and places.loc["near", "detour_m"] == pytest.approx(
        0, abs=0.1
    )
    assert places.loc["far", "missing_m"] == pytest.approx(40, rel=1e-3)
    assert places.loc["far", "origin"] == "depot"


def test_a_lost_road_is_open_where_damage_is_confirmed_elsewhere(tmp_path, river, write):
    def damaged(name, west, east):
        return run(tmp_path, **river, damage=write(name, shapely.box(X + west, Y - 9, X + east, Y + 9)))

    assert damaged("here", 115, 120)["routes"]["cut_off"] == 1
    result = damaged("elsewhere", 0, 50)
    assert result["routes"]["reachable"] == 2 and result["lost"]["length_m"] == pytest.approx(40, rel=1e-3)
    assert places_of(result).loc["far", "distance_after_m"] == pytest.approx(300, rel=1e-3)


def test_a_short_gap_interrupts_routes_on_what_is_drawn_but_not_on_what_remains(tmp_path, river, write):
    after = write("gap", line((0, 0), (110, 0)), line((127, 0), (300, 0)))  # of which 7 m would be lost
    reporter = Reporter()
    result = run(tmp_path, reporter=reporter, **{**river, "after": after})
    assert "1 of 2 places are interrupted" in reporter.warnings[0]
    assert result["intact"]["share"] == 1 and result["routes"]["interrupted"] == 1
    assert places_of(result).loc["far", "missing_m"] == pytest.approx(0, abs=0.1)
    result = run(tmp_path, **{**river, "after": after}, routes_on="remaining")
    assert result["routes"]["reachable"] == 2
    assert places_of(result).loc["far", "detour_m"] == pytest.approx(0, abs=0.1)


def test_a_detour_is_as_long_as_the_way_around(tmp_path, write, points):
    ring = line((0, 0), (0, 100), (200, 100), (200, 0))
    before = write("before", line((0, 0), (200, 0)), ring, speed=[36, 36])
    after = write("after", line((0, 0), (70, 0)), line((130, 0), (200, 0)), ring, speed=[36, 36, 72])
    options = {
        "places": points("places", end=(200, 0), middle=(70, 0)),
        "places_name_field": "name",
        "origins": points("origins", depot=(0, 0)),
        "before_speed_field": "speed",
        "after_speed_field": "speed",
    }
    for routes_on in ("after", "remaining"):
        places = places_of(run(tmp_path, before, after, **options, routes_on=routes_on))
        assert places["status"].to_dict() == {"end": "longer", "middle": "reachable"}
        end = places.loc["end"]
        numbers = [end[name] for name in ("distance_before_m", "distance_after_m", "detour_m", "detour_ratio")]
        assert numbers == pytest.approx([200, 400, 200, 2], rel=1e-3)
        assert end["time_before_s"] == pytest.approx(20, rel=1e-3)
    assert end["time_after_s"] == pytest.approx(40, rel=1e-3)  # on the roads before
    places = places_of(run(tmp_path, before, after, **options))
    assert places.loc["end", "time_after_s"] == pytest.approx(20, rel=1e-3)  # at the speeds after


def test_roads_outside_the_area_are_not_compared_but_passable(tmp_path, write, points):
    before = write("before", line((0, 0), (300, 0)))
    after = write("after", line((0, 3), (150, 3)))  # where the image ends, drawn a little aside
    options = {
        "aoi": write("aoi", shapely.box(X - 9, Y - 99, X + 150, Y + 99)),
        "places": points("places", far=(300, 0)),
        "origins": points("origins", depot=(0, 0)),
        "places_name_field": "name",
        "align": False,
    }
    result = run(tmp_path, before, after, **options)
    assert lengths(result) == pytest.approx({"intact": 150, "displaced": 0, "lost": 0, "new": 0}, rel=1e-3)
    assert geopandas.read_file(result["changes"]).total_bounds[2] == pytest.approx(X + 150, abs=0.1)
    # 3 m from the depot to the road, and 3 m where the roads of both layers meet.
    assert places_of(result).loc["far", "distance_after_m"] == pytest.approx(306, rel=1e-3)
    assert run(tmp_path, before, after, **options, keep_outside=False)["routes"]["cut_off"] == 1
    without = {name: value for name, value in options.items() if name != "aoi"}
    assert run(tmp_path, before, after, **without)["lost"]["length_m"] == pytest.approx(150 - 4, rel=1e-2)


def test_a_new_road_is_a_way_to_a_place_that_had_none(tmp_path, write, points):
    before = write("before", line((0, 0), (300, 0)), line((100, 200), (200, 200)))
    after = write("after", line((0, 2), (300, 2)), line((100, 200), (200, 200)), line((150, 2), (150, 200)))
    options = {
        "places": points("places", north=(100, 200)),
        "origins": points("origins", depot=(0, 0)),
        "align": False,
    }
    for routes_on in ("after", "remaining"):
        result = run(tmp_path, before, after, **options, routes_on=routes_on)
        assert result["routes"]["newly_reachable"] == 1
        place = geopandas.read_file(result["reached"]).iloc[0]
        assert place["distance_after_m"] == pytest.approx(150 + 200 + 50, abs=4)


def test_without_origins_the_largest_group_is_what_others_are_cut_off_from(tmp_path, river, points):
    four = points("four", a=(0, 0), b=(60, 0), c=(100, 0), d=(300, 0))
    options = {**river, "places": four, "origins": "", "origins_name_field": ""}
    places = places_of(run(tmp_path, **options))
    assert places["status"].to_dict() == {"a": "reachable", "b": "reachable", "c": "reachable", "d": "cut off"}
    expected = {"a": (60 + 100) / 2, "b": (60 + 40) / 2, "c": (100 + 40) / 2, "d": (300 + 240 + 200) / 3}
    assert places["distance_before_m"].to_dict() == pytest.approx(expected, rel=1e-3)
    assert places["distance_after_m"][:3].to_dict() == pytest.approx({k: expected[k] for k in "abc"}, rel=1e-3)
    # Of two places that are apart, neither reaches the other.
    result = run(tmp_path, **{**options, "places": points("two", a=(0, 0), d=(300, 0))})
    assert result["routes"]["cut_off"] == 2


def test_a_place_beside_no_road_is_reported(tmp_path, river, points):
    reporter = Reporter()
    options = {**river, "places": points("some", near=(50, 60), nowhere=(50, 500))}
    result = run(tmp_path, reporter=reporter, **options)
    places = places_of(result)
    assert places["status"].to_dict() == {"near": "reachable", "nowhere": "no road near"}
    assert places.loc["near", "to_road_after_m"] == pytest.approx(60, rel=1e-3)
    assert places.loc["near", "distance_before_m"] == pytest.approx(50 + 60, rel=1e-3)
    assert "1 of 2 places lie farther than 100 m" in reporter.warnings[0] and "nowhere" in reporter.warnings[0]
    with pytest.raises(LayerError, match="None of the places .* 20 m .* nearest is 60 m away"):
        run(tmp_path, **options, place_m=20)


def test_places_may_be_multipoints_with_fields_of_their_own(tmp_path, river):
    shapes = [MultiPoint([(X + x, Y)]) for x in (50, 300)]
    several = write_layer(
        tmp_path / "several.gpkg", *shapes, name=["near", None], beds=[5, 7], status=["full", "empty"]
    )
    result = run(tmp_path, **{**river, "places": several})
    table = geopandas.read_file(result["reached"])
    assert table.geom_type.tolist() == ["Point"] * 2 and table["beds"].tolist() == [5, 7]
    assert table["status"].tolist() == ["reachable", "cut off"]
    assert "2 cut off" in re.sub(r"\s+", " ", Page((tmp_path / "report.html").read_text(encoding="utf-8")).text)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_what_is_lost_one_way_is_new_the_other_way(tmp_path, seed):
    layers = [
        write_layer(
            tmp_path / f"{name}.gpkg", *(shapely.affinity.translate(shape, X, Y) for shape in roads.graph.shapes())
        )
        for name, roads in (("one", town(seed)), ("other", town(seed + 1, kept=0.6, shift_m=7)))
    ]
    there, back = (run(tmp_path, *pair, align=False, report="", numbers="") for pair in (layers, layers[::-1]))
    assert there["lost"]["length_m"] == pytest.approx(back["new"]["length_m"])
    assert there["new"]["length_m"] == pytest.approx(back["lost"]["length_m"])
    assert sum(there[change]["share"] for change in ("intact", "displaced", "lost")) == pytest.approx(1)
    changes = geopandas.read_file(there["changes"])
    shares = changes[[f"{change}_share" for change in ("intact", "displaced", "lost", "new")]].sum(axis=1)
    # Of a line after that is not wholly new, the rest is counted as it was before.
    assert shares.to_numpy() == pytest.approx(np.ones(len(changes)))


def test_the_report_shows_the_numbers_and_the_worst_place_first(tmp_path, river):
    said = []
    reporter = Reporter(lambda event: said.append(getattr(event, "message", "")))
    result = run(tmp_path, reporter=reporter, **river)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"\s+", " ", Page(text).text)
    assert "1 of 2 places is cut off" in page and page.index("far cut off") < page.index("near reachable")
    assert "://" not in text
    document = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    assert document == {name: value for name, value in result.items() if name not in ALL_OUTPUTS}
    for sentence in summary_sentences(document):
        assert sentence in said and sentence in page


def test_a_page_shows_names_as_text(tmp_path, river, points):
    hostile = "<script>alert(1)</script>"
    run(tmp_path, **{**river, "places": points("hostile", **{hostile: (300, 0)})})
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "script" not in page.elements and hostile in page.text
