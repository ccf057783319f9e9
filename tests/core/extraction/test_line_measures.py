"""The class and the speed of lines, from rasters of classes."""

import json

import geopandas
import numpy as np
import pandas
import pytest
import rasterio
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st
from rasterio.crs import CRS
from rasterio.features import rasterize
from shapely.geometry import box

from tests.core.support.rasters import NORTH_UP, UTM, write_raster
from training_core.errors import ImageryError
from training_core.events import Reporter
from training_core.extraction.line_measures import percentile_class
from training_core.extraction.road_extraction import extract_network
from training_core.geodata.grid import Grid
from training_core.geodata.road_classes import CLASSES_TAG, RoadClass, class_array, to_document
from training_core.geodata.road_raster import array_raster
from training_core.jobs import CleanNetwork, Vectorize
from training_core.pipelines.cleannetwork import clean_layer
from training_core.pipelines.vectorize import run

CLASSES = (RoadClass("residential", 30.0), RoadClass("primary", 72.0))
SLOW, FAST = 1, 2
# Columns, rows: two streets from north to south, and a road across that joins them.
STREETS, ROAD = (box(56, 0, 65, 200), box(236, 0, 245, 200)), box(60, 96, 240, 105)
OPTIONS = Vectorize(min_area_m2=0)


def painted(*shapes):
    """A raster of (shape, number)s, later ones above earlier ones."""
    return rasterize(shapes, out_shape=(200, 300), transform=Affine.identity(), dtype="uint8")


TOWN = painted((STREETS[0], SLOW), (STREETS[1], SLOW), (ROAD, FAST))


def extracted(numbers, classes=CLASSES, road=None, **options):
    road = array_raster((numbers > 0) if road is None else road, np.ones(numbers.shape, dtype=bool), **options)
    grid = Grid(CRS.from_string(UTM), NORTH_UP, 300, 200)
    return extract_network(road, grid, OPTIONS, Reporter(), class_array(numbers, classes)).roads


def test_the_class_is_that_of_the_85th_percentile_of_speeds_and_of_one_speed_that_of_most_votes():
    speeds = np.array([30.0, 72.0, 50.0])
    votes = np.array([[85, 15, 0], [84, 16, 0], [84, 8, 8], [0, 0, 7], [17, 3, 0], [16, 4, 0]])
    assert percentile_class(votes, speeds).tolist() == [0, 1, 2, 2, 0, 1]
    speeds = np.array([30.0, 72.0, 30.0])
    assert percentile_class(np.array([[50, 5, 45], [30, 0, 31], [1, 20, 79]]), speeds).tolist() == [0, 2, 1]


@given(st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), st.permutations([20.0, 30.0, 50.0]))
def test_the_speed_is_numpys_percentile_of_the_pixels(votes, speeds):
    expected = np.percentile(np.repeat(speeds, votes), 85, method="inverted_cdf")
    assert speeds[percentile_class(np.array([votes]), np.array(speeds))[0]] == expected


def test_each_line_has_its_class_its_speed_and_its_time():
    roads = extracted(TOWN)
    assert len(roads) == 5
    across = roads["length_m"] > 150
    assert roads["road_class"][across].tolist() == ["primary"]
    assert roads["road_class"][~across].tolist() == ["residential"] * 4
    assert roads["speed_kmh"].tolist() == [72.0 if each else 30.0 for each in across]
    assert roads["travel_time_s"][across].iloc[0] == pytest.approx(180 / 20, rel=0.01)  # 72 km/h are 20 m/s
    assert roads["travel_time_s"].tolist() == pytest.approx((roads["length_m"] * 3.6 / roads["speed_kmh"]).tolist())
    assert roads["highway"].tolist() == roads["road_class"].tolist()
    assert "maxspeed" not in roads.columns


def test_a_short_street_does_not_take_the_class_of_the_roads_that_it_joins():
    """Of the 60 m from the middle of one road to that of the other, 30 m lie on the roads."""
    wide = painted((box(40, 80, 50, 140), SLOW), (box(0, 60, 300, 90), FAST), (box(0, 120, 300, 150), FAST))
    roads = extracted(wide)
    found = dict(zip(roads["length_m"].round(-1), roads["road_class"]))
    assert len(roads) == 5 and found[60.0] == "residential" and set(roads["road_class"]) == {"primary", "residential"}


def test_lines_without_classified_pixels_have_no_class_speed_or_time():
    numbers = painted((ROAD, FAST))
    road = numbers > 0
    numbers[:] = 0
    numbers[0, 0] = 255
    roads = extracted(numbers, road=road)
    assert roads["road_class"].tolist() == [None] and roads["highway"].tolist() == ["road"]
    assert roads[["speed_kmh", "travel_time_s"]].isna().all(axis=None)


def test_classes_that_openstreetmap_does_not_know_or_that_are_not_given_are_tagged_road():
    roads = extracted(TOWN, (RoadClass("16-32 km/h", 30.0), RoadClass(" Motorway", 72.0)))
    assert sorted(set(roads["highway"])) == ["motorway", "road"]
    grid = Grid(CRS.from_string(UTM), NORTH_UP, 300, 200)
    roads = extract_network(array_raster(TOWN > 0, np.ones(TOWN.shape, bool)), grid, OPTIONS, Reporter()).roads
    assert not {"road_class", "speed_kmh", "travel_time_s"} & set(roads.columns)
    assert set(roads["highway"]) == {"road"}


def test_parts_of_a_line_have_times_of_their_own():
    roads = extracted(painted((ROAD, FAST)))
    side = box(*(NORTH_UP @ (150, 100)), *(NORTH_UP @ (150, 20))).boundary  # whatever cuts the line in its middle
    layer = geopandas.GeoDataFrame({"speed_kmh": [30.0]}, geometry=[side], crs=UTM)
    parts = clean_layer(pandas.concat([roads, layer], ignore_index=True), CleanNetwork(), Reporter()).roads
    expected = (parts["length_m"] * 3.6 / parts["speed_kmh"]).tolist()
    assert len(parts) > 2 and parts["travel_time_s"].tolist() == pytest.approx(expected)


def write_town(folder, numbers=TOWN, tag=None, name="classes.tif", **profile):
    path = write_raster(folder / name, numbers, nodata=255, **profile)

    with rasterio.open(path, "r+") as dataset:
        if tag != "":
            dataset.update_tags(**{CLASSES_TAG: tag or json.dumps(to_document(CLASSES))})
    return path


@pytest.fixture
def mask(tmp_path):
    return write_raster(tmp_path / "mask.tif", (TOWN > 0).astype(np.uint8), nodata=255)


def test_the_job_writes_the_classes_of_the_class_raster(mask, tmp_path):
    job = Vectorize(raster=mask, classes=write_town(tmp_path), roads=str(tmp_path / "roads.gpkg"))
    assert run(job, Reporter())["count"] == 5
    roads = geopandas.read_file(job.roads)
    assert roads["road_class"].value_counts().to_dict() == {"residential": 4, "primary": 1}
    assert roads["travel_time_s"].tolist() == pytest.approx((roads["length_m"] * 3.6 / roads["speed_kmh"]).tolist())


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"tag": ""}, "has no names and speeds"),
        ({"tag": "no JSON"}, "has no names and speeds"),
        ({"tag": '[{"name": "track"}]'}, "has no names and speeds"),
        ({"tag": "[]"}, "does not hold numbers of road classes"),
        ({"numbers": TOWN.astype(np.float32)}, "does not hold numbers of road classes"),
        ({"numbers": TOWN * 3}, "holds numbers from 0 to 6, but has 2 classes"),
        ({"numbers": TOWN[:, :-1]}, r"and .*mask\.tif are not on the same grid"),
        ({"transform": NORTH_UP @ Affine.translation(1, 0)}, "not on the same grid"),
        ({"crs": "EPSG:32634"}, "not on the same grid"),
    ],
)
def test_a_raster_that_does_not_fit_is_refused(mask, tmp_path, details, message):
    classes = write_town(tmp_path, **details)
    job = Vectorize(raster=mask, classes=classes, roads=str(tmp_path / "roads.gpkg"))
    with pytest.raises(ImageryError, match=message) as refused:
        run(job, Reporter())
    assert classes in refused.value.message and "Segment roads" in refused.value.remedy
    assert sorted(path.name for path in tmp_path.iterdir()) == ["classes.tif", "mask.tif"]
