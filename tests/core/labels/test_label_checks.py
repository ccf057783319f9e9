"""Warnings about labels before training starts."""

import re

import geopandas
import numpy as np
import pytest
from affine import Affine
from shapely import affinity
from shapely.geometry import LineString, MultiPolygon, box

from tests.core.support.rasters import NORTH_UP, write_layer, write_raster
from tests.core.support.towns import ROAD_M, ROADS, SIDE_PX, image_of, on_map, true_roads
from training_core.errors import LabelError
from training_core.events import Log, Reporter, Warning
from training_core.jobs import LabelOptions
from training_core.labels.drawing import read_drawing
from training_core.labels.label_checks import check_labels
from training_core.labels.labeled_images import find_images, read_labeled_images
from training_core.labels.training_images import split_for_validation

OPTIONS = LabelOptions(width_m=ROAD_M)


def check(rasters, roads, aoi="", options=OPTIONS, is_sample=False):
    """Return what is logged and warned of before training."""
    events = []
    drawing = read_drawing(str(roads), str(aoi), options, Reporter())
    parts = find_images(tuple(map(str, rasters)), drawing, 0.0, (), None, Reporter())
    images, _ = read_labeled_images(parts, drawing, Reporter())
    check_labels(split_for_validation(images, 0.2, 256, 0), drawing, Reporter(events.append), is_sample)
    return tuple([event.message for event in events if isinstance(event, kind)] for kind in (Log, Warning))


def test_a_good_drawing_is_logged_without_a_warning(town):
    logs, warnings = check([town.raster], town.roads, town.aoi)
    (log,) = logs
    assert re.search(r"town\.tif: 192 x 192 px at 1\.00 m, [\d,]+ labeled px, [\d.]+% of them road", log)
    share = float(re.search(r"([\d.]+)% of them road", log)[1])
    assert share == pytest.approx(100 * true_roads().mean(), abs=6)
    assert warnings == []


def test_hardly_any_road_is_warned_of(tmp_path):
    values = image_of(np.zeros((600, 600), bool))
    raster = write_raster(tmp_path / "land.tif", values, photometric="rgb")
    # Four tracks in a corner of what is otherwise empty ground.
    tracks = [on_map(LineString([(20, at), (70, at)])) for at in (20, 60, 100, 140)]
    roads = write_layer(tmp_path / "roads.gpkg", *tracks)
    aoi = write_layer(tmp_path / "aoi.gpkg", on_map(box(0, 0, 600, 600)))
    _, warnings = check([raster], roads, aoi, LabelOptions(width_m=4.0))
    assert len(warnings) == 1 and re.search(r"Only 0\.\d\d% of the labeled pixels of land\.tif are road", warnings[0])


def test_hardly_anything_but_road_is_warned_of(town):
    _, warnings = check([town.raster], town.roads, "", LabelOptions(width_m=40.0, background_m=2.0))
    assert any(re.search(r"\d\d% of the labeled pixels of town\.tif are road.*width", message) for message in warnings)


def test_roads_outside_of_the_area_are_counted(town, tmp_path):
    aoi = write_layer(tmp_path / "half.gpkg", on_map(box(0, 0, SIDE_PX, 90)))
    _, warnings = check([town.raster], town.roads, aoi)
    total_m = sum(road.length for road in ROADS)
    outside_m = SIDE_PX + 2 * (SIDE_PX - 90)  # the road across, and what is south of row 90
    words = r"([\d,]+) m of the ([\d,]+) m of road read from town_roads\.gpkg lie outside half\.gpkg, (\d) of 4"
    found = re.search(words, warnings[0])
    # Ground meters are 0.04 % apart from those of UTM.
    assert float(found[1].replace(",", "")) == pytest.approx(outside_m, rel=0.01)
    assert float(found[2].replace(",", "")) == pytest.approx(total_m, rel=0.01)
    assert found[3] == "1"


def test_an_area_without_any_road_near_is_refused(town, tmp_path):
    roads = write_layer(tmp_path / "roads.gpkg", on_map(LineString([(900, 0), (900, 100)])))
    with pytest.raises(LabelError, match=r"No drawn road lies on .*town\.tif, within the area of interest\."):
        check([town.raster], roads, town.aoi)


def test_polygons_of_the_area_without_roads_are_named(town, tmp_path):
    places = [
        box(0, 0, SIDE_PX, 90),
        box(60, 110, 90, 150),  # between the roads
        MultiPolygon([box(40, 120, 60, 150), box(60, 160, 70, 170)]),  # one of its two parts is on a road
        box(60, 160, 90, 180),
        box(5000, 0, 5100, 100),  # on no image
    ]
    aoi = write_layer(tmp_path / "places.gpkg", *map(on_map, places))
    _, warnings = check([town.raster], town.roads, aoi)
    assert any("2 of 5 polygons of places.gpkg contain no drawn road (number 2, 4)" in message for message in warnings)


def test_few_roads_are_warned_of(town, tmp_path):
    drawn = geopandas.read_file(town.roads)
    drawn["sure"] = [True, True, True, False]
    for count, options, expected in ((2, OPTIONS, "Only 2 of"), (3, OPTIONS, ""), (1, OPTIONS, "Only 1 of")):
        drawn.iloc[:count].to_file(tmp_path / f"{count}.gpkg")
        _, warnings = check([town.raster], tmp_path / f"{count}.gpkg", "", options)
        assert [message[: len("Only 2 of")] for message in warnings] == ([expected] if expected else [])
    drawn.iloc[1:].to_file(tmp_path / "unsure.gpkg")
    _, warnings = check([town.raster], tmp_path / "unsure.gpkg", "", LabelOptions(width_m=ROAD_M, sure_field="sure"))
    assert any("Only 2 of the roads in unsure.gpkg" in message for message in warnings)


WINDS = {
    "east": (30, 0), "north-east": (21, 21), "north": (0, 30), "north-west": (-21, 21),
    "west": (-30, 0), "south-west": (-21, -21), "south": (0, -30), "south-east": (21, -21),
}  # fmt: skip
# The 45 degrees between neighboring winds allow for half of that, which at 30 m is some 11 m.
OFFSET = r"The roads in {} seem to be offset by about (\d+) m to the {} from the roads in {}\. "


def offsets(warnings):
    return [message for message in warnings if "seem to be offset" in message]


@pytest.mark.parametrize("wind", WINDS)
def test_a_layer_that_lies_off_the_image_is_warned_of(town, tmp_path, wind):
    drawn = geopandas.read_file(town.roads)
    drawn.assign(geometry=drawn.translate(*WINDS[wind])).to_file(tmp_path / "moved.gpkg")
    _, warnings = check([town.raster], tmp_path / "moved.gpkg")
    (message,) = offsets(warnings)
    assert 25 <= float(re.match(OFFSET.format(r"moved\.gpkg", wind, r"town\.tif"), message)[1]) <= 35


def test_a_sample_tells_balance_and_offset_but_not_which_roads_lie_outside(town, tmp_path):
    aoi = write_layer(tmp_path / "half.gpkg", on_map(box(0, 0, SIDE_PX, 120)))
    moved = write_layer(tmp_path / "moved.gpkg", *(on_map(affinity.translate(road, 20, 0)) for road in ROADS))
    logs, warnings = check([town.raster], moved, aoi, is_sample=True)
    assert len(logs) == 1 and re.match(r"a sample of 1 images: [\d,]+ labeled px, [\d.]+% of them road", logs[0])
    assert offsets(warnings) == warnings and len(warnings) == 1


def test_the_offset_is_measured_on_the_ground_in_whatever_grid(town, tmp_path):
    # South up, columns of half a meter: 30 m to the east are 60 columns, to the north downwards.
    transform = Affine(0.5, 0, NORTH_UP.c, 0, 1, NORTH_UP.f - SIDE_PX)
    values = np.repeat(image_of(true_roads()), 2, axis=2)[:, ::-1]
    raster = write_raster(tmp_path / "flipped.tif", values, transform=transform, photometric="rgb")
    drawn = geopandas.read_file(town.roads)
    drawn.assign(geometry=drawn.translate(21, 21)).to_file(tmp_path / "moved.gpkg")
    _, warnings = check([raster], tmp_path / "moved.gpkg")
    (message,) = offsets(warnings)
    assert re.match(OFFSET.format(r"moved\.gpkg", "north-east", r"flipped\.tif"), message)
    assert offsets(check([raster], town.roads)[1]) == []


def test_roads_drawn_a_little_off_are_no_fault(town, tmp_path):
    drawn = geopandas.read_file(town.roads)
    drawn.assign(geometry=drawn.translate(4, -4)).to_file(tmp_path / "moved.gpkg")
    assert offsets(check([town.raster], tmp_path / "moved.gpkg")[1]) == []


@pytest.mark.parametrize("values", [np.full((3, SIDE_PX, SIDE_PX), 90, np.uint8), image_of(np.zeros((SIDE_PX,) * 2))])
def test_an_image_that_shows_no_roads_accuses_nobody(town, tmp_path, values):
    raster = write_raster(tmp_path / "plain.tif", values, photometric="rgb")
    assert offsets(check([raster], town.roads, town.aoi)[1]) == []


REAL = {
    "banepa": ("banepa_rgb.tif", "banepa_northwest_roads.geojson", "banepa_northwest_aoi.geojson",
               LabelOptions(width_field="width_m", sure_field="sure")),
    "vegas pan": ("vegas_pan.tif", "vegas_pan_roads.geojson", "", LabelOptions()),
    "vegas rgb": ("vegas_img0_rgb.tif", "vegas_img0_roads.geojson", "", LabelOptions()),
}  # fmt: skip


def moved(path, folder, east_m, north_m):
    layer = geopandas.read_file(path)
    metric = layer.to_crs(layer.estimate_utm_crs())
    metric.assign(geometry=metric.translate(east_m, north_m)).to_file(folder / "moved.gpkg")
    return folder / "moved.gpkg"


@pytest.mark.slow
@pytest.mark.parametrize("place", REAL)
def test_real_roads_are_found_to_lie_where_they_do(real_data, tmp_path, place):
    raster, roads, aoi, options = REAL[place]
    area = real_data / aoi if aoi else ""
    _, warnings = check([real_data / raster], real_data / roads, area, options)
    assert warnings == []
    for wind in ("north", "south-east", "west"):
        layer = moved(real_data / roads, tmp_path, *WINDS[wind])
        (message,) = offsets(check([real_data / raster], layer, area, options)[1])
        assert 22 <= float(re.match(OFFSET.format(r"moved\.gpkg", wind, re.escape(raster)), message)[1]) <= 38
