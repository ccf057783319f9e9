"""The job roadstatus: a town of which a road is covered, the fields of its lines, and input that does not fit."""

import re

import geopandas
import numpy as np
import pytest
import rasterio
import shapely
from affine import Affine
from rasterio.features import rasterize
from shapely import Point, affinity, box

from tests.core.support.browser import HOSTILE, Page, check_self_contained
from tests.core.support.rasters import NORTH_UP, files, write_layer, write_raster
from tests.core.support.towns import ROADS, SIDE_PX, on_map
from training_core.errors import RoadSegError
from training_core.events import Reporter, Warning
from training_core.jobs import RoadStatus, from_options
from training_core.jobs.status import HIDDEN, IN_HAZARD, NOT_SEEN, OUTSIDE, SEEN, UNDER_WATER
from training_core.pipelines import roadstatus

NAMES = ["a", "b", "c", "d"]
# The second road's lower half.
LOST = box(130, 110, 150, SIDE_PX)


@pytest.fixture
def lines(tmp_path):
    return write_layer(tmp_path / "known.gpkg", *map(on_map, ROADS), name=NAMES, state=["old"] * 4)


@pytest.fixture
def flooded(town, tmp_path):
    with rasterio.open(town.raster) as dataset:
        values = dataset.read()
    values[:, 110:, 130:150] = values[:, 110:, 100:120]
    return write_raster(tmp_path / "after.tif", values)


def found(learned, lines, raster, **options):
    status = lines.replace("known", "status")
    job = RoadStatus(lines=lines, raster=raster, model=learned.model, status=status, **options)
    result = roadstatus.run(job, Reporter())
    return geopandas.read_file(status), result


@pytest.mark.parametrize("has_before", [False, True])
def test_a_covered_road_is_not_seen_and_all_others_keep_their_lines_and_fields(
    town, learned, lines, flooded, has_before
):
    table, result = found(learned, lines, flooded, before=town.raster if has_before else "")
    lost = table[table["state"] == NOT_SEEN]
    assert lost["name"].tolist() == ["b"] and result["not_seen_m"] == pytest.approx(lost.length.sum(), rel=1e-3)
    where = on_map(LOST)
    assert lost.geometry.iloc[0].intersection(where).length > 0.75 * lost.length.sum() > 40
    others = table[table["name"] != "b"]
    assert others["state"].tolist() == [SEEN] * 3 and others.geometry.iloc[0].equals_exact(on_map(ROADS[0]), 1e-3)
    assert result["length_m"] == pytest.approx(sum(road.length for road in ROADS), rel=1e-3)
    assert (lost["lost_probability"] > 0.5).all() and table["evidence_before"].notna().all() == has_before


def test_displaced_lines_are_looked_at_where_the_roads_are_and_arrows_lead_there(learned, lines, flooded, tmp_path):
    beside = geopandas.read_file(lines)
    beside.assign(geometry=beside.translate(7, -6)).to_file(tmp_path / "known.gpkg")
    arrows = str(tmp_path / "arrows.gpkg")
    table, _ = found(learned, lines, flooded, arrows=arrows)
    lost = table[table["state"] == NOT_SEEN]
    assert lost["name"].tolist() == ["b"]
    assert lost.geometry.iloc[0].intersection(affinity.translate(on_map(LOST), 7, -6)).length > 40
    assert table.geometry.iloc[0].equals_exact(affinity.translate(on_map(ROADS[0]), 7, -6), 1e-3)
    ends = shapely.get_coordinates(geopandas.read_file(arrows).geometry).reshape(-1, 2, 2)
    assert np.median(ends[:, 1] - ends[:, 0], axis=0) == pytest.approx((-7, 6), abs=1)


def test_hazards_the_area_and_missing_data_are_states_of_their_own(town, learned, lines, tmp_path):
    with rasterio.open(town.raster) as dataset:
        values = dataset.read()
    values[:, :90, :90] = 0
    raster = write_raster(tmp_path / "after.tif", values, nodata=0)
    areas = {
        "hazards": write_layer(tmp_path / "hazards.gpkg", on_map(LOST)),
        "aoi": write_layer(tmp_path / "aoi.gpkg", on_map(box(0, 0, SIDE_PX, 140))),
    }
    table, _ = found(learned, lines, raster, **areas)
    states = table.groupby("name")["state"].agg(list)
    assert states["a"] == [HIDDEN, SEEN, OUTSIDE] and states["b"] == [SEEN, IN_HAZARD]
    assert table[table["state"] == HIDDEN]["lost_probability"].isna().all()


def test_the_newest_image_that_shows_a_place_decides(town, learned, lines, flooded, tmp_path):
    with rasterio.open(town.raster) as dataset:
        values = dataset.read()
    values[:, :60] = 0
    cloudy = write_raster(tmp_path / "cloudy.tif", values, nodata=0)
    with rasterio.open(cloudy, "r+") as dataset:
        dataset.update_tags(TIFFTAG_DATETIME="2024:09:29 10:30:00")
    with rasterio.open(flooded, "r+") as dataset:
        dataset.update_tags(ns="IMAGERY", ACQUISITIONDATETIME="2024-09-27T10:30:00Z")
    table, _ = found(learned, lines, flooded, rasters=(cloudy,))
    assert set(table["state"]) == {SEEN}
    decided = table.groupby("image")["image_date"].agg(set)
    assert decided.to_dict() == {"cloudy.tif": {"2024-09-29"}, "after.tif": {"2024-09-27"}}
    # As above, but the road was covered later.
    table, _ = found(learned, lines, flooded, rasters=(cloudy,), dates="2024-09-30, 2024-09-29")
    (lost,) = table[table["state"] == NOT_SEEN].itertuples()
    assert (lost.name, lost.image_date, lost.contradicted_by) == ("b", "2024-09-30", "cloudy.tif")
    with pytest.raises(RoadSegError, match="3 dates"):
        found(learned, lines, flooded, rasters=(cloudy,), dates="2024-09-30, 2024-09-29, 2024-09-28")
    with pytest.raises(RoadSegError, match="does not tell when it was taken"):
        found(learned, lines, flooded, rasters=(town.raster,))


def test_water_and_clouds_that_a_person_gives_are_states_but_not_on_bridges(town, learned, lines, tmp_path):
    clouds = np.zeros((SIDE_PX, SIDE_PX), dtype=np.uint8)
    clouds[:, :90] = 1
    given = {
        "water": write_layer(tmp_path / "water.gpkg", on_map(LOST)),
        "clouds": write_raster(tmp_path / "clouds.tif", clouds),
    }
    table, result = found(learned, lines, town.raster, **given)
    states = table.groupby("name")["state"].agg(list)
    assert states["a"] == [HIDDEN] and states["b"] == [SEEN, UNDER_WATER]
    assert result["under_water_m"] == pytest.approx(SIDE_PX - 110, abs=5)
    assert table[table["state"] == UNDER_WATER]["lost_probability"].isna().all()
    bridges = write_layer(tmp_path / "known bridges.gpkg", *map(on_map, ROADS), name=NAMES, bridge=["yes"] * 4)
    table, _ = found(learned, bridges, town.raster, lines_bridge_field="bridge", **given)
    assert table.groupby("name")["state"].agg(list)["b"] == [SEEN]


def with_infrared(raster, path, wet):
    """Return a copy of an image with a band of near infrared, which water absorbs."""
    with rasterio.open(raster) as dataset:
        values = np.concatenate([dataset.read(), np.where(wet, 10, 200)[None].astype(np.uint8)])
    return write_raster(path, values, photometric="rgb", alpha="no")


def test_a_near_infrared_band_tells_water_that_was_not_there_before(town, learned, lines, flooded, tmp_path):
    nowhere, wet = np.zeros((2, SIDE_PX, SIDE_PX), dtype=bool)
    wet[110:, 125:155] = True
    after = with_infrared(flooded, tmp_path / "wet.tif", wet)
    dry = with_infrared(town.raster, tmp_path / "dry.tif", nowhere)
    as_wet = with_infrared(town.raster, tmp_path / "as wet.tif", wet)
    for before, state in (("", UNDER_WATER), (dry, UNDER_WATER), (as_wet, NOT_SEEN)):
        table, _ = found(learned, lines, after, before=before, near_infrared=4)
        assert table[table["state"] != SEEN][["name", "state"]].to_numpy().tolist() == [["b", state]]


@pytest.mark.parametrize("how", ["index", "polygons", "mask"])
def test_water_and_clouds_are_read_where_the_roads_are_in_the_image(town, learned, lines, flooded, tmp_path, how):
    # Both are narrower than the lines are displaced.
    known = geopandas.read_file(lines)
    known.assign(geometry=known.translate(7, 6)).to_file(lines)
    strip, sky = on_map(box(136, 105, 144, SIDE_PX)), on_map(box(44, 110, 52, SIDE_PX))
    wet, cloudy = (
        rasterize([each], out_shape=(SIDE_PX, SIDE_PX), transform=NORTH_UP, dtype="uint8") for each in (strip, sky)
    )
    given = {
        "index": {"near_infrared": 4},
        "polygons": {
            name: write_layer(tmp_path / f"{name}.gpkg", each) for name, each in (("water", strip), ("clouds", sky))
        },
        "mask": {
            name: write_raster(tmp_path / f"{name}.tif", each) for name, each in (("water", wet), ("clouds", cloudy))
        },
    }[how]
    table, result = found(learned, lines, with_infrared(flooded, tmp_path / "wet.tif", wet > 0), **given)
    assert set(table[table["state"] == UNDER_WATER]["name"]) == {"b"}
    assert result["under_water_m"] == pytest.approx(SIDE_PX - 105, abs=8) and result["not_seen_m"] == 0
    assert result["hidden_m"] == pytest.approx(0 if how == "index" else SIDE_PX - 110, abs=8)


def test_images_that_show_no_known_road_are_left_out_unless_there_is_no_other(town, learned, lines, flooded, tmp_path):
    with rasterio.open(town.raster) as dataset:
        values = dataset.read()
    beside = write_raster(tmp_path / "beside.tif", values, transform=NORTH_UP @ Affine.translation(5000, 0))
    empty = write_raster(tmp_path / "empty.tif", 0 * values, nodata=0)
    status, told, dates = str(tmp_path / "status.gpkg"), [], "2024-09-29, 2024-09-27, 2024-09-28"
    job = RoadStatus(
        lines=lines, raster=beside, rasters=(flooded, empty), dates=dates, model=learned.model, status=status
    )
    roadstatus.run(job, Reporter(told.append))
    table = geopandas.read_file(status)
    assert set(table["image_date"]) == {"2024-09-27"} and (table["state"] == NOT_SEEN).any()
    warnings = [each.message for each in told if isinstance(each, Warning)]
    assert ["beside.tif" in each for each in warnings] == [True, False] and "empty.tif" in warnings[1]
    for rasters in ((), (beside,)):
        with pytest.raises(RoadSegError, match="on the image .*empty.tif where it has data"):
            found(learned, lines, empty, rasters=rasters, dates="2024-09-29")


def test_clouds_that_are_given_lie_on_all_images_of_the_newest_day(town, learned, lines, tmp_path):
    with rasterio.open(town.raster) as dataset:
        values = dataset.read()
    half = SIDE_PX // 2
    left = write_raster(tmp_path / "left.tif", values[:, :, :half])
    right = write_raster(tmp_path / "right.tif", values[:, :, half:], transform=NORTH_UP @ Affine.translation(half, 0))
    clouds = write_layer(tmp_path / "clouds.gpkg", on_map(box(0, 0, SIDE_PX, SIDE_PX)))
    given = {"rasters": (right,), "clouds": clouds}
    table, _ = found(learned, lines, left, **given, dates="2024-09-29T09:00, 2024-09-29T08:00")
    assert set(table["state"]) == {HIDDEN}
    table, _ = found(learned, lines, left, **given, dates="2024-09-29, 2024-09-28")
    assert SEEN in set(table["state"])


def test_what_leaves_little_to_find_is_told(learned, lines, tmp_path):
    blank = write_raster(tmp_path / "blank.tif", np.full((3, SIDE_PX, SIDE_PX), 60, dtype=np.uint8))
    far = write_layer(tmp_path / "far.gpkg", on_map(box(5000, 0, 5100, 100)))
    told = []
    status = str(tmp_path / "status.gpkg")
    job = RoadStatus(lines=lines, raster=blank, model=learned.model, status=status, hazards=far, water=far)
    assert roadstatus.run(job, Reporter(told.append))["not_seen_m"] == 0
    warnings = " ".join(each.message for each in told if isinstance(each, Warning))
    assert all(words in warnings for words in ("sees only 0%", "lies in the hazards", "lies in the water"))


def test_lines_and_images_of_different_places_are_refused(town, learned, lines, flooded, tmp_path):
    far = write_layer(tmp_path / "far known.gpkg", *(affinity.translate(on_map(road), 5000) for road in ROADS))
    with rasterio.open(town.raster) as dataset:
        elsewhere = NORTH_UP @ Affine.translation(5000, 0)
        beside = write_raster(tmp_path / "beside.tif", dataset.read(), transform=elsewhere)
        transparent = write_raster(tmp_path / "rgba.tif", dataset.read((1, 2, 3, 1)), photometric="rgb", alpha="yes")
    cases = [
        ((far, flooded), {}, "No part of the known roads"),
        ((lines, flooded), {"before": beside}, "beside.tif"),
        ((lines, flooded), {"class_field": "highway"}, "highway"),
        ((lines, flooded), {"lines_bridge_field": "bridge"}, "bridge"),
        ((lines, flooded), {"near_infrared": 4}, "no image band 4"),
        ((lines, transparent), {"near_infrared": 4}, "If band 4 is not alpha"),
        ((lines, flooded), {"clouds": beside}, "beside.tif"),
        ((lines, flooded), {"water": lines}, "must be polygons"),
    ]
    for given, options, words in cases:
        with pytest.raises(RoadSegError) as caught:
            found(learned, *given, **options)
        assert re.search(words, str(caught.value)) and caught.value.remedy
    assert not [name for name in files(tmp_path) if "status" in name]


@pytest.fixture
def asked(tmp_path):
    """A hospital, a village beyond the lost road, and two districts that share all roads."""
    sites = [on_map(Point(20, 100)), on_map(Point(140, SIDE_PX - 2))]
    halves = [on_map(box(0, 0, SIDE_PX, 60)), on_map(box(0, 60, SIDE_PX, SIDE_PX))]
    return {
        "sites": write_layer(tmp_path / "sites.gpkg", *sites, name=["hospital", HOSTILE]),
        "sites_name_field": "name",
        "districts": write_layer(tmp_path / "districts.gpkg", *halves, name=["north", "south"]),
        "districts_name_field": "name",
        "place_m": 5.0,
    }


def test_a_village_beyond_a_lost_road_is_cut_off_and_the_report_says_what_to_check(
    town, learned, lines, flooded, asked, tmp_path
):
    outputs = {"reached": str(tmp_path / "reached.gpkg"), "report": str(tmp_path / "report.html")}
    table, result = found(learned, lines, flooded, before=town.raster, class_field="name", **asked, **outputs)
    lost = table[table["state"] == NOT_SEEN].iloc[0]
    assert lost["check"] == 1 and lost["decides"] > 0 and table["check"].notna().sum() == 1
    assert table["paths_share"].between(0, 1).all() and table["paths_share"].max() > 0.3
    reached = geopandas.read_file(outputs["reached"])
    total_m = sum(road.length for road in ROADS)
    assert reached["reached_before_m"].tolist() == pytest.approx([total_m] * 2, rel=1e-3)
    beyond_m = reached["reached_after_m"].tolist()
    assert beyond_m[0] == pytest.approx(total_m - lost.geometry.length - beyond_m[1], rel=1e-3)
    assert result["paths"]["sites"] == 2 and result["paths"]["cut_off"] + result["paths"]["no_road_near"] >= 1

    text = (tmp_path / "report.html").read_text()
    check_self_contained(text)
    page = Page(text)
    assert HOSTILE in page.text and "north" in page.text and "Check 1: b" in page.text and "Check first: b" in page.text
    assert page.elements.count("input") == 50 * page.elements.count("figure") and len(text) < 2_000_000


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"districts": "far"}, "No known road .* lies in the districts"),
        ({"districts_name_field": "ward"}, "no field 'ward'"),
        ({"districts": "sites"}, "must be polygons"),
        ({"sites": "far points"}, "None of the sites .* lies within 5 m"),
        ({"sites_name_field": "ward"}, "no field 'ward'"),
        ({"sites": "districts"}, "must be points"),
        ({"lines_bridge_field": "bridge"}, "no field 'bridge'"),
    ],
)
def test_sites_and_districts_that_do_not_fit_are_refused_before_the_model_runs(
    learned, lines, flooded, asked, tmp_path, changed, words
):
    far = [affinity.translate(on_map(shape), 5000) for shape in (box(0, 0, 9, 9), Point(0, 0))]
    paths = {
        "far": write_layer(tmp_path / "far.gpkg", far[0], name=["far"]),
        "far points": write_layer(tmp_path / "far points.gpkg", far[1], name=["far"]),
        "sites": asked["sites"],
        "districts": asked["districts"],
    }
    options = {**asked, **{name: paths.get(value, value) for name, value in changed.items()}}
    with pytest.raises(RoadSegError, match=words):
        found(learned, lines, flooded, **options)
    assert not [name for name in files(tmp_path) if "status" in name]


def test_a_single_site_has_a_status_and_the_road_that_it_reaches(learned, lines, flooded, tmp_path):
    site = write_layer(tmp_path / "site.gpkg", on_map(Point(20, 100)))
    _, result = found(learned, lines, flooded, sites=site)
    assert (result["paths"]["sites"], result["paths"]["reachable"]) == (1, 1)
    assert 100 < result["paths"]["reached_after_m"] < result["paths"]["reached_before_m"]


def test_sites_to_write_need_sites(learned, lines, flooded):
    options = {"lines": lines, "raster": flooded, "status": "a.gpkg", "reached": "b.gpkg"}
    with pytest.raises(RoadSegError, match="needs sites"):
        from_options(RoadStatus, options)
