"""Drawn roads moved onto those that a model sees in each image before they are learned from."""

import re
from functools import partial

import geopandas
import numpy as np
import pytest

from tests.core.support.rasters import NORTH_UP
from tests.core.support.towns import SIDE_PX
from training_core.comparison.moved_roads import moves_onto_images
from training_core.events import Log, Reporter, Warning
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.jobs import FineTune, Segment
from training_core.labels.training_images import read_training_images


def read(folder, raster, roads, model=""):
    """Return the image to train on, its roads moved by a model, and what is told of the move."""
    events = []
    job = FineTune(
        rasters=(raster,), roads=str(roads), width_m=10.0, base_model="", model=str(folder / "m.safetensors")
    )
    reporter = Reporter(events.append)
    moves = partial(moves_onto_images, options=Segment(model=model), reporter=reporter) if model else None
    (image,) = read_training_images(job, None, reporter, moves).in_memory
    told = [event.message for event in events if isinstance(event, (Log, Warning)) and "moved" in event.message]
    return image, told


def agreement(image, truth):
    """Return the IoU of all labels of an image with the roads that it shows, where it is labeled."""
    label = np.where(image.training == IGNORE, image.validation, image.training)
    rows, columns = (
        round(value) for value in (NORTH_UP.f - image.grid.transform.f, image.grid.transform.c - NORTH_UP.c)
    )
    shown = np.pad(truth, SIDE_PX)[SIDE_PX + rows :, SIDE_PX + columns :][: label.shape[0], : label.shape[1]]
    known = label != IGNORE
    return (known & (label == ROAD) & shown).sum() / (known & ((label == ROAD) | shown)).sum()


def test_roads_are_moved_onto_those_in_the_image_and_right_ones_stay(town, learned, tmp_path):
    drawn = geopandas.read_file(town.roads)
    drawn.assign(geometry=drawn.translate(6, -5)).to_file(tmp_path / "off.gpkg")
    before, told = read(tmp_path, town.raster, tmp_path / "off.gpkg")
    assert agreement(before, town.truth) < 0.4 and told == []
    after, (told,) = read(tmp_path, town.raster, tmp_path / "off.gpkg", learned.model)
    assert agreement(after, town.truth) > 0.85
    moved = re.fullmatch(r"town\.tif: the drawn roads are moved by ([\d.]+) m in the median, [\d.]+ m at most\.", told)
    assert float(moved[1]) == pytest.approx(np.hypot(6, 5), abs=1)
    right, _ = read(tmp_path, town.raster, town.roads, learned.model)
    assert agreement(right, town.truth) > 0.85


def test_without_lines_that_show_an_offset_nothing_moves_and_it_is_told(town, learned, tmp_path):
    drawn = geopandas.read_file(town.roads)
    drawn.assign(geometry=drawn.buffer(5)).to_file(tmp_path / "areas.gpkg")
    kept, (told,) = read(tmp_path, town.raster, tmp_path / "areas.gpkg", learned.model)
    plain, _ = read(tmp_path, town.raster, tmp_path / "areas.gpkg")
    assert np.array_equal(kept.training, plain.training) and "not moved" in told
