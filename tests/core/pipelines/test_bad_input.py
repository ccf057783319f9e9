"""What jobs do with bad input: a refusal that names the file or layer, with a remedy, and nothing left behind."""

import importlib
import itertools
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import rasterio
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from shapely.geometry import Point, box

from tests.core.support.rasters import write_layer, write_raster
from tests.core.support.towns import Town, image_of, on_map, plant_model
from training_core.errors import ImageryError, LabelError, LayerError, ModelFileError, OutputError, RoadSegError
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options

pytestmark = pytest.mark.filterwarnings("ignore:'crs' was not provided")

READS_IMAGE = ("finetune", "segment", "vectorize", "extractroads", "evaluate")
READS_LABELS = ("finetune", "evaluate")
READS_AOI = ("finetune", "segment", "extractroads", "evaluate")
READS_MODEL = ("finetune", "segment", "extractroads", "evaluate")


@dataclass(frozen=True)
class Place:
    """Good inputs, a folder for bad ones, and one for outputs."""

    town: Town
    model: str
    bad: Path
    out: Path

    def options(self, job: str) -> dict:
        """Options with which a job goes well, all of its outputs asked for."""
        image, images = {"raster": self.town.raster}, {"rasters": [self.town.raster]}
        labels, model = {"roads": self.town.roads}, {"model": self.model}
        compute = (
            {}
            if job in ("vectorize", "exportmodel", "quantize")
            else {"engine": "native", "precision": "fp32", "threads": 1}
        )
        roads, mask = {"roads": str(self.out / "roads.gpkg")}, {"mask": str(self.out / "mask.tif")}
        return compute | {
            "finetune": images | labels | {
                "model": str(self.out / "new.safetensors"), "report": str(self.out / "new.html"),
                "base_model": self.model, "minutes": 0.05, "chip_px": 64,
            },
            "segment": image | model | mask | {"probability": str(self.out / "probability.tif")},
            "vectorize": image | roads | {"nodes": str(self.out / "nodes.gpkg")},
            "extractroads": image | model | roads | mask,
            "evaluate": images | labels | model,
            "exportmodel": model | {"onnx": str(self.out / "model.onnx")},
            "quantize": images | model | {"onnx": str(self.out / "model.onnx")},
        }[job]  # fmt: skip

    def run(self, job: str, **options) -> dict:
        checked = from_options(JOBS[job], self.options(job) | options)
        return importlib.import_module(f"training_core.pipelines.{job}").run(checked, Reporter())

    def refusal(self, job: str, *names: str, of: type = RoadSegError, **options) -> RoadSegError:
        """Do a job that must be refused; check that the refusal names what it must, and return it."""
        before = sorted(self.bad.rglob("*"))
        with pytest.raises(of) as refused:
            self.run(job, **options)
        for name in names:
            assert name in refused.value.message
        assert refused.value.message.endswith(".") and refused.value.remedy.endswith(".")
        assert ".part" not in str(refused.value)
        assert [path for path in self.out.rglob("*") if path.is_file()] == []
        assert sorted(self.bad.rglob("*")) == before
        return refused.value


@pytest.fixture
def place(town, planted, tmp_path):
    for name in ("bad", "out"):
        (tmp_path / name).mkdir()
    return Place(town, planted, tmp_path / "bad", tmp_path / "out")


def pairs(jobs, spoils, seen_by_all=2):
    """Pairs of jobs and ways to spoil an input: all for one job, the last of them for each; tests/hostile has all."""
    spoils = list(spoils)
    most, *others = sorted(jobs, key=lambda job: job != ("segment" if "segment" in jobs else "evaluate"))
    return [(most, spoil) for spoil in spoils] + [(job, spoil) for job in others for spoil in spoils[-seen_by_all:]]


def with_image(job, path):
    return {"rasters": [str(path)]} if job in READS_LABELS else {"raster": str(path)}


def ground(height=128, width=128):
    return image_of(np.zeros((height, width), bool))


def half(path):
    write_raster(path, ground(), tiled=True, blockxsize=32, blockysize=32, compress="deflate")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def beheaded(path):
    write_raster(path, ground())
    path.write_bytes(path.read_bytes()[:60])


def alpha_alone(path):
    write_raster(path, np.full((128, 128), 255, np.uint8))
    with rasterio.open(path, "r+") as dataset:
        dataset.colorinterp = [rasterio.enums.ColorInterp.alpha]


NO_FILES = {
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "empty": lambda path: path.touch(),
    "text": lambda path: path.write_text("no raster at all\n" * 100),
}
BAD_IMAGES = NO_FILES | {
    "beheaded": beheaded,
    "half": half,
    "without bands": lambda path: path.write_text(
        '<VRTDataset rasterXSize="9" rasterYSize="9"><SRS>EPSG:32633</SRS></VRTDataset>'
    ),
    "without CRS": lambda path: write_raster(path, ground(), crs=None),
    "complex numbers": lambda path: write_raster(path, ground().astype(np.complex64)),
}
EMPTY_IMAGES = {
    "of alpha alone": alpha_alone,
    "without data": lambda path: write_raster(path, 0 * ground(), nodata=0, photometric="rgb"),
}


@pytest.mark.parametrize(
    ("job", "spoil"), [*pairs(READS_IMAGE, BAD_IMAGES), *((job, spoil) for job in READS_AOI for spoil in EMPTY_IMAGES)]
)
def test_a_bad_image_is_refused_by_name(place, job, spoil):
    path = place.bad / "Bild नेपाल.tif"
    (BAD_IMAGES | EMPTY_IMAGES)[spoil](path)
    kind = RoadSegError if spoil == "without data" else ImageryError  # which no labels touch either
    place.refusal(job, "Bild नेपाल.tif", of=kind, **with_image(job, path))


@pytest.mark.parametrize(("job", "bands"), [("segment", 1), ("segment", 2), ("extractroads", 4), ("evaluate", 8)])
def test_an_image_of_other_bands_than_the_models_is_refused(place, job, bands):
    values = image_of(np.zeros((64, 64), bool), bands)
    path = write_raster(place.bad / "bands.tif", values, photometric="minisblack")
    refused = place.refusal(job, "bands.tif", f"{bands} image bands", of=ImageryError, **with_image(job, path))
    assert "fine-tune" in refused.remedy


@pytest.mark.parametrize("bands", [1, 8])
def test_any_number_of_bands_is_mapped_with_a_model_for_it(place, bands):
    values = image_of(np.zeros((64, 64), bool), bands)
    path = write_raster(place.bad / "bands.tif", values, photometric="minisblack")
    with rasterio.open(path) as dataset:
        names = tuple(description or f"band {index}" for index, description in enumerate(dataset.descriptions, 1))
    model = plant_model(place.bad / "model.safetensors", names)
    for job in ("segment", "extractroads"):
        place.run(job, raster=path, model=model)
    assert (place.out / "probability.tif").is_file() and (place.out / "roads.gpkg").is_file()


@pytest.mark.parametrize("job", ["segment", "extractroads", "evaluate"])
def test_an_image_of_one_pixel_is_mapped(place, job):
    path = write_raster(place.bad / "pixel.tif", ground(1, 1), photometric="rgb")
    place.run(job, **with_image(job, path), **({"aoi": place.town.aoi} if job == "evaluate" else {}))


def test_a_color_picture_in_place_of_a_mask_is_refused_by_name(place):
    path = write_raster(place.bad / "town.tif", ground(64, 64), photometric="rgb")
    place.refusal("vectorize", "town.tif has 3 bands that differ", of=ImageryError, raster=path)


@pytest.mark.parametrize(("height", "words"), [(1, "No drawn road lies on"), (60, "Only 960 pixels of")])
def test_an_image_too_small_to_learn_from_is_refused_by_name(place, height, words):
    path = write_raster(place.bad / "small.tif", ground(height, 16), photometric="rgb")
    roads = write_layer(place.bad / "roads.gpkg", on_map(box(0, 40, 16, 50)))
    place.refusal("finetune", words, "small.tif", of=LabelError, rasters=[path], roads=roads, aoi=place.town.aoi)


LABELS = on_map(box(0, 40, 128, 50)), on_map(box(40, 0, 50, 128))


BAD_LAYERS = NO_FILES | {
    "no features": lambda path: write_layer(path),
    "no geometry": lambda path: write_layer(path, None, a=[1]),
    "no CRS": lambda path: write_layer(path, *LABELS, crs=None),
    "points": lambda path: write_layer(path, *(Point(shape.centroid) for shape in LABELS)),
}


@pytest.mark.parametrize(("job", "spoil"), pairs(READS_LABELS, BAD_LAYERS))
def test_bad_roads_are_refused_by_name(place, job, spoil):
    path = place.bad / "Straßen नेपाल.gpkg"
    BAD_LAYERS[spoil](path)
    place.refusal(job, "drawn roads", "Straßen नेपाल.gpkg", of=LayerError, roads=str(path))


@pytest.mark.parametrize(("job", "spoil"), pairs(READS_AOI, BAD_LAYERS))
def test_a_bad_area_is_refused_by_name(place, job, spoil):
    path = place.bad / "area.gpkg"
    BAD_LAYERS[spoil](path)
    place.refusal(job, "area of interest", "area.gpkg", of=LayerError, aoi=str(path))


@pytest.mark.parametrize(
    ("job", "layer"), [*itertools.product(READS_LABELS, ("roads", "aoi")), ("segment", "aoi"), ("extractroads", "aoi")]
)
def test_layers_that_do_not_touch_the_image_are_refused_with_it(place, job, layer):
    path = write_layer(place.bad / "far.gpkg", on_map(box(50_000, 0, 50_100, 100)))
    names = ("drawn road",) if job in READS_LABELS else ()
    place.refusal(job, *names, "area of interest", "town.tif", of=(LabelError, LayerError), **{layer: path})


def zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", b"\x80\x02}q\x00.")


BAD_MODELS = NO_FILES | {
    "cut": lambda path: path.write_bytes(Path(plant_model(path)).read_bytes()[:100_000]),
    "pickled": lambda path: path.write_bytes(b"\x80\x02}q\x00."),
    "saved by torch": lambda path: torch.save({"weight": torch.zeros(3)}, path),
    "zipped": zipped,
    "of others": lambda path: save_file({"weight": torch.zeros(3)}, path),
}


def with_model(job, path):
    return {"base_model" if job == "finetune" else "model": str(path)}


@pytest.mark.parametrize(("job", "spoil"), pairs(READS_MODEL, BAD_MODELS))
def test_a_bad_model_is_refused_by_name(place, job, spoil):
    path = place.bad / "model.safetensors"
    BAD_MODELS[spoil](path)
    place.refusal(job, "model.safetensors", of=ModelFileError, **with_model(job, path))


OUTPUTS = [
    ("finetune", "model", "new.safetensors"),
    ("finetune", "report", "new.html"),
    ("segment", "mask", "mask.tif"),
    ("segment", "probability", "probability.tif"),
    ("vectorize", "roads", "roads.gpkg"),
    ("vectorize", "nodes", "nodes.gpkg"),
    ("extractroads", "roads", "roads.gpkg"),
    ("extractroads", "mask", "mask.tif"),
]


@pytest.mark.parametrize(("job", "field", "name"), OUTPUTS)
def test_an_output_that_cannot_be_written_is_refused_by_name(place, job, field, name):
    (place.bad / "file").write_text("no folder")
    destination = str(place.bad / "file" / name)
    place.refusal(job, destination, of=OutputError, **{field: destination})


@pytest.mark.parametrize(("job", "field", "name"), OUTPUTS)
def test_a_former_output_survives_a_run_that_fails(place, job, field, name):
    half(place.bad / "half.tif")
    destination = place.bad / name
    destination.write_text("former")
    place.refusal(job, "half.tif", **with_image(job, place.bad / "half.tif"), **{field: str(destination)})
    assert destination.read_text() == "former"


def write_with_pixel(path, value, dtype="float32", **profile):
    values = ground().astype(dtype)
    values[:, 64, 64] = value
    return write_raster(path, values, **profile)


@pytest.mark.parametrize(
    ("job", "value", "dtype"),
    # To a training, whose own deviation it enlarges, 1e20 is an outlier with which it can compute.
    [(job, value, dtype) for job in READS_MODEL
     for value, dtype in ((1e300, "float64"), (-3.4028235e38, "float32"), (1e20, "float32"))
     if (job, value) != ("finetune", 1e20)],
)  # fmt: skip
def test_values_with_which_no_model_can_compute_are_refused_and_never_background(place, job, value, dtype):
    path = write_with_pixel(place.bad / "undeclared.tif", value, dtype)
    refusal = place.refusal(job, "undeclared.tif", of=ImageryError, **with_image(job, path))
    assert "declare it as the raster's nodata value" in refusal.remedy


def test_the_same_values_declared_as_no_data_are_none(place):
    path = write_with_pixel(place.bad / "declared.tif", -3.4028235e38, nodata=-3.4028235e38)
    place.run("segment", raster=path)
    with rasterio.open(place.out / "mask.tif") as mask:
        assert (mask.read(1) == 255).sum() == 1


def write_changed(path, model, change):
    """Write a model whose weights a function has changed."""
    with safe_open(model, "pt") as file:
        metadata = file.metadata()
    weights = load_file(model)
    change(weights)
    save_file(weights, path, metadata=metadata)
    return str(path)


WEIGHT, VARIANCE = "decoder.blocks.1.conv2.0.weight", "encoder.bn1.running_var"


@pytest.mark.parametrize(
    ("job", "name", "value"),
    [
        *((job, WEIGHT, value) for job, value in
          pairs([*READS_MODEL, "exportmodel", "quantize"], [float("nan"), float("inf"), 3e38], 1)),
        ("segment", VARIANCE, -1.0),
    ],
)  # fmt: skip
def test_a_model_with_a_weight_that_cannot_be_is_refused_with_its_name(place, job, name, value):
    path = write_changed(
        place.bad / "nan.safetensors", place.model, lambda weights: weights[name].view(-1)[:1].fill_(value)
    )
    place.refusal(job, "nan.safetensors", name, of=ModelFileError, **with_model(job, path))


def test_a_model_whose_numbers_overflow_within_is_refused_and_never_background(place):
    def enlarge(weights):
        for tensor in weights.values():
            if tensor.dim() == 4:
                tensor *= 1e12

    path = write_changed(place.bad / "large.safetensors", place.model, enlarge)
    place.refusal("segment", "large.safetensors", Path(place.town.raster).name, of=ModelFileError, model=path)
