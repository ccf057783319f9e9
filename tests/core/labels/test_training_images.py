"""Training images: of many, a sample is in memory, and the others are read when it is their turn."""

import dataclasses
import re

import numpy as np
import pytest

import training_core.labels.training_images as training_images
from tests.core.support.rasters import NORTH_UP, write_raster
from tests.core.support.towns import image_of, true_roads
from training_core.errors import ImageryError
from training_core.events import Reporter
from training_core.geodata.pixel_codes import IGNORE
from training_core.jobs import FineTune
from training_core.labels.training_images import read_training_images
from training_core.models.loading import load_weights
from training_core.pipelines import finetune

TILES = 12


@pytest.fixture
def towns(tmp_path, monkeypatch):
    """The folders of images and masks of a row of towns, of which three fit into the sample."""
    monkeypatch.setattr(training_images, "SAMPLE_PX", 3 * 192 * 192)
    monkeypatch.setattr(training_images, "PART_PX", 96)
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    truth = true_roads()
    for number in range(TILES):
        there = {"transform": NORTH_UP @ NORTH_UP.translation(192 * number, 0)}
        write_raster(tmp_path / "images" / f"{number}.tif", image_of(truth, seed=number), photometric="rgb", **there)
        write_raster(tmp_path / "masks" / f"{number}.tif", truth.astype(np.uint8), **there)
    return tmp_path


def job_of(towns, **options):
    rasters = tuple(str(towns / "images" / f"{number}.tif") for number in range(TILES))
    masks = tuple(str(towns / "masks" / f"{number}.tif") for number in range(TILES))
    usual = {"rasters": rasters, "masks": masks, "model": str(towns / "model.safetensors"), "chip_px": 64}
    return FineTune(**{**usual, **options})


def read(job):
    return read_training_images(job, None, Reporter())


def test_sample_and_others_are_all_there_is_of_the_images(towns):
    found = read(job_of(towns))
    others = [found.read(part) for part in found.others]
    assert sum(image.known.size for image in found.in_memory) == pytest.approx(3 * 192 * 192, abs=96 * 96)
    assert sum(image.known.size for image in [*found.in_memory, *others]) == TILES * 192 * 192
    assert len(found.paths) == TILES
    # As if they had been read whole, but for the held-out blocks.
    everything = read(dataclasses.replace(job_of(towns), sample="image"))
    assert not everything.others
    whole = {image.name: image for image in everything.in_memory}
    for part, image in zip(found.others, others):
        window = np.s_[part.row : part.row + 96, part.column : part.column + 96]
        of = whole[part.path]
        np.testing.assert_array_equal(image.values, of.values[(slice(None), *window)])
        labels = np.where(of.training[window] == IGNORE, of.validation[window], of.training[window])
        both = (image.training != IGNORE) & (labels != IGNORE)
        np.testing.assert_array_equal(image.training[both], labels[both])
        assert image.bands == found.in_memory[0].bands
    assert found.labeled_px == pytest.approx(everything.labeled_px, rel=0.05)


def test_a_training_learns_from_a_sample_and_the_others(towns, planted):
    job = job_of(towns, base_model=planted, steps=3, batch_size=2, engine="native", threads=1)
    assert finetune.run(job, Reporter())["steps"] == 3
    _, card = load_weights(job.model)
    assert card.training["images"] == [f"{number}.tif" for number in range(TILES)]
    assert card.training["labeled_px"] > 0.6 * TILES * 192 * 192


def test_an_image_that_is_damaged_within_is_named_when_it_is_read(towns):
    found = read(job_of(towns))
    part = found.others[0]
    with open(part.path, "r+b") as file:
        file.truncate(2000)
    with pytest.raises(ImageryError, match=re.escape(part.path)):
        found.read(part)
