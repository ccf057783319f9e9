import json

import geopandas
import numpy as np
import pytest
import rasterio
import torch
from hypothesis import given
from hypothesis import strategies as st
from rasterio.features import rasterize
from shapely.geometry import LineString

from tests.core.support.rasters import NORTH_UP, write_raster
from tests.core.support.towns import RGB, ROAD_M, ROADS, SIDE_PX, image_of, on_map, plant_model, true_roads
from training_core.errors import JobError, LayerError
from training_core.events import Log, Reporter
from training_core.geodata.grid import Grid
from training_core.geodata.rasters import Band
from training_core.geodata.road_classes import (
    CLASSES_TAG,
    OTHER_KMH,
    RoadClass,
    find_classes,
    from_document,
    to_document,
)
from training_core.jobs import ExtractRoads, FineTune, LabelOptions, Segment, Vectorize
from training_core.labels.drawing import Drawing
from training_core.learning.losses import class_loss, road_loss, without_classes
from training_core.models.architectures import Architecture, adapt_head, build_network
from training_core.models.loading import load_network
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_model
from training_core.pipelines import extractroads, finetune, segment, vectorize


def roads_of(**fields):
    lines = [on_map(road) for road in ROADS]
    return geopandas.GeoDataFrame(fields, geometry=lines[: len(next(iter(fields.values())))], crs="EPSG:32633")


def test_classes_are_values_with_the_median_of_their_speeds_or_what_is_usual():
    roads = roads_of(highway=["track", "primary", None, "track "], speed=[10, 60, 50, 20.0])
    classes, numbers = find_classes(roads, "highway", "speed")
    assert classes == (RoadClass("primary", 60.0), RoadClass("track", 15.0))
    assert numbers.tolist() == [2, 1, 0, 2]
    classes, _ = find_classes(roads_of(highway=["motorway", "track"]), "highway", "")
    assert [each.name for each in classes] == ["motorway", "track"]
    assert [each.speed_kmh for each in classes] == [pytest.approx(88.5), round(OTHER_KMH, 1)]
    slow, _ = find_classes(roads_of(highway=["path"], speed=[0.01]), "highway", "speed")
    assert from_document(to_document(slow)) == slow  # a model file with a speed of 0 could not be read


def test_speeds_fall_into_bins_of_ten_miles_an_hour():
    roads = roads_of(speed=[16.0, 17.0, 112.0, 300.0])
    classes, numbers = find_classes(roads, "", "speed")
    assert [each.name for each in classes] == ["0-16 km/h", "16-32 km/h", "over 97 km/h"]
    assert numbers.tolist() == [1, 2, 3, 3]
    assert classes[2].speed_kmh == 206.0
    assert find_classes(roads_of(speed=[0, -3, None, 20]), "", "speed")[1].tolist() == [0, 0, 0, 1]


def test_fields_that_tell_no_classes_are_refused():
    with pytest.raises(LayerError, match=r"'highway' of the drawn roads \(roads\.gpkg\) has no usable values"):
        find_classes(roads_of(highway=["", None]), "highway", "", "roads.gpkg")
    many = geopandas.GeoDataFrame({"id": range(40)}, geometry=[LineString([(0, 0), (1, 1)])] * 40)
    with pytest.raises(LayerError, match="40 different values"):
        find_classes(many, "id", "")


def test_classes_are_burned_where_their_roads_lie():
    grid = Grid(rasterio.CRS.from_epsg(32633), NORTH_UP, SIDE_PX, SIDE_PX)
    labels = Drawing(
        roads_of(c=[1, 2, 3, 4]), None, LabelOptions(width_m=ROAD_M), class_numbers=np.array([2, 0, 1, 1])
    ).burn(grid)
    top, left = labels.row, labels.column
    at = {
        place: labels.classes[place[1] - top, place[0] - left] for place in [(48, 10), (140, 10), (90, 100), (80, 10)]
    }
    assert at == {(48, 10): 2, (140, 10): 0, (90, 100): 1, (80, 10): 0}
    assert (labels.values[labels.classes > 0] == 1).all()
    assert Drawing(roads_of(c=[1]), None, LabelOptions()).burn(grid).classes is None


@given(st.integers(0, 2**31))
def test_the_loss_of_classes_counts_only_roads_of_known_class(seed):
    """Against a loop over the pixels."""
    random = np.random.default_rng(seed)
    logits = torch.from_numpy(random.normal(size=(2, 3, 4, 5))).requires_grad_()
    labels = torch.from_numpy(random.choice([0, 1, 2, 3, 4, 255], (2, 4, 5)).astype(np.uint8))
    by_class = {}
    for image, row, column in np.ndindex(2, 4, 5):
        number = int(labels[image, row, column]) - 2
        if 0 <= number < 3:
            chance = torch.sigmoid(logits[image, :, row, column])
            right = [chance[each] if each == number else 1 - chance[each] for each in range(3)]
            by_class.setdefault(number, []).append(-torch.stack(right).log().mean())
    means = [torch.stack(losses).mean() for losses in by_class.values()]
    expected = torch.stack(means).mean() if means else torch.zeros(())
    found = class_loss(logits, labels)
    assert found.item() == pytest.approx(expected.item(), abs=1e-9)
    found.backward()
    has_class = ((labels >= 2) & (labels != 255))[:, None].expand_as(logits)
    assert (logits.grad[~has_class] == 0).all()
    assert set(without_classes(labels).unique().tolist()) <= {0, 1, 255}
    road_loss(logits[:, :1], without_classes(labels)[:, None]).backward()


def test_a_head_keeps_the_classes_that_stay():
    old = build_network(Architecture(encoder="resnet18", classes=3)).state_dict()
    fresh = build_network(Architecture(encoder="resnet18", classes=4)).state_dict()
    adapted = adapt_head(old, fresh, ("track", "primary"), ("primary", "service", "track"))
    for part in ("segmentation_head.0.weight", "segmentation_head.0.bias"):
        for new, source in enumerate([old[part][0], old[part][2], fresh[part][2], old[part][1]]):
            torch.testing.assert_close(adapted[part][new], source, atol=0, rtol=0)


CLASSES = (RoadClass("bright", 50.0), RoadClass("dark", 20.0))


@pytest.fixture(scope="module")
def two_classes(tmp_path_factory):
    """A model that predicts two classes by random weights, and its U-Net."""
    path = tmp_path_factory.mktemp("classes") / "model.safetensors"
    torch.manual_seed(0)
    architecture = Architecture(encoder="resnet18", classes=3)
    unet = build_network(architecture).eval()
    save_model(path, unet.state_dict(), ModelCard(architecture, tuple(Band(n, 80.0, 40.0) for n in RGB), 1.0,
                                                     classes=CLASSES))  # fmt: skip
    return str(path), unet


@pytest.mark.parametrize("engine", ["native", "openvino"])
def test_the_raster_of_classes_says_the_likeliest_where_a_road_is(two_classes, tmp_path, engine):
    model, unet = two_classes
    values = image_of(true_roads()[:96, :96])
    raster = write_raster(tmp_path / "town.tif", values, photometric="rgb")
    paths = {name: str(tmp_path / f"{name}.tif") for name in ("mask", "classes")}
    job = Segment(raster=raster, model=model, engine=engine, precision="fp32", threads=1, **paths)
    assert segment.run(job, Reporter())["classes"] == paths["classes"]
    with torch.inference_mode():
        channels = torch.sigmoid(unet(torch.from_numpy((values[None].astype("float32") - 80) / 40)))[0].numpy()
    expected = np.where(np.rint(254 * channels[0]) >= 127, 1 + channels[1:].argmax(axis=0), 0)
    with rasterio.open(paths["classes"]) as found, rasterio.open(paths["mask"]) as mask:
        assert (found.read(1) == expected).mean() > 0.99 and len(np.unique(expected)) == 3
        assert ((found.read(1) > 0) == (mask.read(1) == 1)).all()
        assert json.loads(found.tags()[CLASSES_TAG]) == to_document(CLASSES)
        assert found.colormap(1)[1] != found.colormap(1)[2]


def test_lines_get_their_classes_in_one_go_as_one_after_the_other(two_classes, tmp_path):
    raster = write_raster(tmp_path / "town.tif", image_of(true_roads()), photometric="rgb")
    common = {"raster": raster, "model": two_classes[0], "engine": "native", "precision": "fp32", "threads": 1}
    crumbs = {"min_area_m2": 0.0, "min_length_m": 5.0, "threshold": 0.5, "stub_m": 0.0}
    paths = {name: str(tmp_path / f"{name}.tif") for name in ("probability", "classes")}
    at_once = {"classes": str(tmp_path / "same.tif"), "roads": str(tmp_path / "at_once.gpkg")}
    done = extractroads.run(ExtractRoads(**common, **at_once, **crumbs), Reporter())
    assert {name: done[name] for name in at_once} == at_once
    segment.run(Segment(**common, **paths, threshold=0.5), Reporter())
    after = str(tmp_path / "after.gpkg")
    vectorize.run(Vectorize(raster=paths["probability"], classes=paths["classes"], roads=after, **crumbs), Reporter())
    with rasterio.open(at_once["classes"]) as same, rasterio.open(paths["classes"]) as classes:
        np.testing.assert_array_equal(same.read(), classes.read())
        assert same.tags()[CLASSES_TAG] == classes.tags()[CLASSES_TAG]
    one, other = geopandas.read_file(at_once["roads"]), geopandas.read_file(after)
    known = other["road_class"].notna()  # not where lines lie on what only hysteresis and closing have made road
    assert known.sum() > 5 and set(one["road_class"]) <= {"bright", "dark"}
    for column in ("road_class", "speed_kmh", "travel_time_s"):
        assert one[column][known].tolist() == other[column][known].tolist()


@pytest.mark.parametrize(("job", "run"), [(Segment, segment.run), (ExtractRoads, extractroads.run)])
def test_a_model_without_classes_is_refused_where_they_are_wanted(town, planted, tmp_path, job, run):
    roads = {"roads": str(tmp_path / "roads.gpkg")} if job is ExtractRoads else {}
    asked = job(raster=town.raster, model=planted, classes=str(tmp_path / "classes.tif"), engine="native", **roads)
    with pytest.raises(JobError, match="predicts no road classes"):
        run(asked, Reporter())
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("enough_memory")
def test_classes_that_look_different_are_learned(tmp_path):
    """Roads from north to south are bright, the others less so."""
    names = ["bright", "bright", "dull", "dull"]
    truth = [rasterize([road.buffer(ROAD_M / 2)], out_shape=(SIDE_PX, SIDE_PX)) > 0 for road in ROADS]
    values = image_of(true_roads())
    values[:, truth[2] | truth[3]] -= 50
    raster = write_raster(tmp_path / "town.tif", values, photometric="rgb")
    drawn = roads_of(kind=names)
    drawn.to_file(tmp_path / "roads.gpkg")
    events = []
    job = FineTune(
        rasters=(raster,), roads=str(tmp_path / "roads.gpkg"), class_field="kind", width_m=ROAD_M, steps=60, chip_px=96,
        base_model=plant_model(tmp_path / "base.safetensors"), model=str(tmp_path / "model.safetensors"),
        learning_rate=0.002, engine="native", threads=1, batch_size=2,
    )  # fmt: skip
    result = finetune.run(job, Reporter(events.append))
    _, card = load_network(job.model)
    assert [each.name for each in card.classes] == ["bright", "dull"]
    assert card.metrics["class_accuracy"] == result["validation"]["class_accuracy"] > 0.8
    assert any("Training on 2 road classes: bright" in event.message for event in events if isinstance(event, Log))
