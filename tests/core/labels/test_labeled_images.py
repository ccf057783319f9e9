"""Labeled images: any band count, any size, few roads; the split, and images larger than memory."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from shapely.geometry import LineString

import training_core.system.large_arrays
from tests.core.support.rasters import write_layer, write_raster
from tests.core.support.towns import RGB, ROAD_M, ROADS, image_of, make_town, on_map, true_roads
from training_core.errors import LabelError, ResourceError
from training_core.events import Reporter
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.geodata.rasters import Band, ModelInput
from training_core.jobs import LabelOptions
from training_core.labels.drawing import read_drawing
from training_core.labels.labeled_images import find_images, read_labeled_images
from training_core.labels.training_images import split_for_validation
from training_core.learning.chips import ChipSampler

ROOT = Path(__file__).parents[3]


def read(raster, roads, aoi="", options=None, bands=(), base=None, reporter=None):
    drawing = read_drawing(str(roads), str(aoi), options or LabelOptions(width_m=ROAD_M), reporter or Reporter())
    parts = find_images((str(raster),), drawing, 0.0, bands, base, reporter or Reporter())
    return read_labeled_images(parts, drawing, reporter or Reporter())[0]


def amounts_of_road(images):
    return [sum((getattr(image, of) == ROAD).sum() for image in images) for of in ("training", "validation")]


def assert_learnable(images, size_px=96):
    """Both sides have road, a fair part of it is trained on, and chips show it."""
    split = split_for_validation(images, 0.2, 256, 0)
    learned, apart = amounts_of_road(split)
    assert learned + apart == amounts_of_road(images)[0] and 0.05 < apart / (learned + apart) < 0.5
    for image in split:
        assert ((image.training == IGNORE) | (image.validation == IGNORE)).all()
    chips, labels = ChipSampler(split, size_px, 0).batch(0, 20)
    assert np.isfinite(chips).all() and np.mean([(label == ROAD).any() for label in labels]) > 0.4


@pytest.mark.parametrize("chosen", [(0, 1, 2), (0, 1, 3), (2, 3, 0), (1, 2, 3)])
@pytest.mark.parametrize("with_aoi", [True, False])
def test_three_roads_are_enough(town, tmp_path, chosen, with_aoi):
    roads = write_layer(tmp_path / "roads.gpkg", *(on_map(ROADS[number]) for number in chosen))
    assert_learnable(read(town.raster, roads, town.aoi if with_aoi else ""))


def test_a_single_short_road_is_refused_with_the_reason(town, tmp_path):
    roads = write_layer(tmp_path / "roads.gpkg", on_map(LineString([(72, 80), (86, 80)])))
    with pytest.raises(LabelError, match=r"Too few roads are drawn.*Draw roads in more places"):
        split_for_validation(read(town.raster, roads, town.aoi), 0.2, 256, 0)


def test_where_no_drawn_road_is_sure_this_is_told(town, tmp_path):
    roads = write_layer(tmp_path / "roads.gpkg", *map(on_map, ROADS), sure=[False] * len(ROADS))
    with pytest.raises(LabelError, match=r"No drawn road lies on") as refused:
        read(town.raster, roads, town.aoi, LabelOptions(sure_field="sure"))
    assert "unsure" in refused.value.remedy


@pytest.mark.parametrize(("bands", "learned"), [(4, RGB), (8, RGB), (1, ("band 1",))])
def test_bands_of_a_base_model_are_found_by_name_and_others_are_all_taken(tmp_path, bands, learned):
    town = make_town(tmp_path, bands=bands)
    reporter = Reporter()
    base = ModelInput(tuple(Band(name) for name in RGB), 1.0)
    images = read(town.raster, town.roads, town.aoi, base=base, reporter=reporter)
    assert tuple(band.name for band in images[0].bands) == learned
    assert len(reporter.warnings) == (1 if bands == 1 else 0)


@pytest.fixture
def tight(monkeypatch):
    """As if memory could hold next to nothing."""
    monkeypatch.setattr(training_core.system.large_arrays, "MAX_IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(training_core.system.large_arrays, "STRIP_PX", 256 * 50)


def holey(folder):
    """A town of 600 x 180 px, float, with a corner that has no data."""
    truth = np.tile(true_roads(), (4, 1))[:600, :180]
    values = image_of(truth).astype(np.float32)
    values[:, 400:, :60] = np.nan
    return write_raster(folder / "holey.tif", values, photometric="rgb")


def test_a_large_image_is_read_in_strips_into_a_mapped_file(tmp_path, monkeypatch, town, tight):
    raster = holey(tmp_path)
    (mapped,) = read(raster, town.roads, town.aoi)
    (mapped_split,) = split_for_validation([mapped], 0.2, 256, 0)
    monkeypatch.undo()
    (whole,) = read(raster, town.roads, town.aoi)
    (whole_split,) = split_for_validation([whole], 0.2, 256, 0)
    for name in ("values", "known", "training", "validation"):
        assert isinstance(getattr(mapped_split, name), np.memmap)
        assert not isinstance(getattr(whole_split, name), np.memmap)
        np.testing.assert_array_equal(getattr(mapped_split, name), getattr(whole_split, name))
    assert mapped.grid == whole.grid
    for band, other in zip(mapped.bands, whole.bands):
        assert (band.mean, band.std) == (pytest.approx(other.mean), pytest.approx(other.std))
    for first, second in zip(*(ChipSampler([image], 64, 1).batch(3, 4) for image in (mapped_split, whole_split))):
        np.testing.assert_array_equal(first, second)


@pytest.mark.skipif(os.name != "posix", reason="TMPDIR is for POSIX systems")
def test_a_killed_process_leaves_no_file(tmp_path):
    script = (
        "import os, signal; from training_core.system import large_arrays; large_arrays.MAX_IN_MEMORY_BYTES = 0;"
        "array = large_arrays.allocate((1000, 1000), 'u1'); array[:] = 7; print(type(array).__name__, flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert ended.stdout.strip() == "memmap" and ended.returncode < 0
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ResourceError) as refused:
        training_core.system.large_arrays.allocate((1 << 20, 1 << 20, 1 << 10), np.uint8)
    assert str(tmp_path) in refused.value.message and "GB" in refused.value.message
    assert "TMPDIR" in refused.value.remedy and list(tmp_path.iterdir()) == []


def test_strips_cover_an_image_once(monkeypatch):
    monkeypatch.setattr(training_core.system.large_arrays, "STRIP_PX", 1000)
    for height, width, multiple in ((1, 1, 1), (999, 10, 1), (1000, 10, 32), (77, 5000, 16), (5, 3, 256)):
        parts = training_core.system.large_arrays.strips(height, width, multiple)
        assert [row for part in parts for row in range(height)[part]] == list(range(height))
        assert all(part.start % multiple == 0 for part in parts)
