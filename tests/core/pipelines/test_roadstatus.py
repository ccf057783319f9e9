"""The job roadstatus: a town of which a road is covered, the fields of its lines, and input that does not fit."""

import geopandas
import numpy as np
import pytest
import rasterio
from affine import Affine
from shapely import affinity, box

from tests.core.support.rasters import NORTH_UP, files, write_layer, write_raster
from tests.core.support.towns import ROADS, SIDE_PX, on_map
from training_core.errors import RoadSegError
from training_core.events import Reporter, Warning
from training_core.jobs import RoadStatus
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


def test_what_leaves_little_to_find_is_told(learned, lines, tmp_path):
    rough = np.random.default_rng(0).normal(60, 12, (1, SIDE_PX, SIDE_PX)).repeat(3, axis=0)
    blank = write_raster(tmp_path / "blank.tif", rough.astype(np.uint8))
    far = write_layer(tmp_path / "far.gpkg", on_map(box(5000, 0, 5100, 100)))
    told = []
    status = str(tmp_path / "status.gpkg")
    job = RoadStatus(lines=lines, raster=blank, model=learned.model, status=status, hazards=far)
    assert roadstatus.run(job, Reporter(told.append))["not_seen_m"] == 0
    warnings = " ".join(each.message for each in told if isinstance(each, Warning))
    assert "sees only 0%" in warnings and "lies in the hazards" in warnings


def test_lines_and_images_of_different_places_are_refused(town, learned, lines, flooded, tmp_path):
    far = write_layer(tmp_path / "far known.gpkg", *(affinity.translate(on_map(road), 5000) for road in ROADS))
    with rasterio.open(town.raster) as dataset:
        elsewhere = NORTH_UP @ Affine.translation(5000, 0)
        beside = write_raster(tmp_path / "beside.tif", dataset.read(), transform=elsewhere)
    cases = [
        ((far, flooded), {}, "No part of the known roads"),
        ((lines, flooded), {"before": beside}, "beside.tif"),
        ((lines, flooded), {"class_field": "highway"}, "highway"),
        ((lines, flooded), {"lines_bridge_field": "bridge"}, "bridge"),
        ((lines, flooded), {"near_infrared": 4}, "no image band 4"),
        ((lines, flooded), {"clouds": beside}, "beside.tif"),
        ((lines, flooded), {"water": lines}, "must be polygons"),
    ]
    for given, options, words in cases:
        with pytest.raises(RoadSegError, match=words):
            found(learned, *given, **options)
    assert not [name for name in files(tmp_path) if "status" in name]
