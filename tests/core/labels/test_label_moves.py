"""Drawn roads moved onto those in each image before they are learned from."""

import re

import geopandas
import numpy as np
import pytest

from tests.core.support.rasters import NORTH_UP
from tests.core.support.towns import SIDE_PX
from training_core.events import Log, Reporter
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.jobs import FineTune
from training_core.labels.training_images import read_training_images


def read(folder, rasters, roads, **options):
    """Return the images to train on, and what is logged of moves."""
    events = []
    job = FineTune(
        rasters=rasters, roads=str(roads), width_m=10.0, base_model="", model=str(folder / "m.safetensors"), **options
    )
    images = read_training_images(job, None, Reporter(events.append)).in_memory
    return images, [event.message for event in events if isinstance(event, Log) and "moved" in event.message]


def agreement(image, truth):
    """Return the IoU of all labels of an image with the roads that it shows, where it is labeled."""
    label = np.where(image.training == IGNORE, image.validation, image.training)
    rows, columns = (
        round(value) for value in (NORTH_UP.f - image.grid.transform.f, image.grid.transform.c - NORTH_UP.c)
    )
    shown = np.pad(truth, SIDE_PX)[SIDE_PX + rows :, SIDE_PX + columns :][: label.shape[0], : label.shape[1]]
    known = label != IGNORE
    return (known & (label == ROAD) & shown).sum() / (known & ((label == ROAD) | shown)).sum()


def test_moved_roads_lie_in_the_area_where_they_are_moved_to(town, tmp_path):
    drawn, reporter = geopandas.read_file(town.roads), Reporter()
    drawn.buffer(12).to_file(tmp_path / "area.gpkg")
    drawn.assign(geometry=drawn.translate(21, -21)).to_file(tmp_path / "off.gpkg")
    options = {"roads": str(tmp_path / "off.gpkg"), "aoi": str(tmp_path / "area.gpkg"), "move_roads": True}
    job = FineTune(rasters=(town.raster,), base_model="", model=str(tmp_path / "m.safetensors"), **options)
    read_training_images(job, None, reporter)
    assert not any("lie outside" in warning for warning in reporter.warnings)


def test_roads_are_moved_onto_those_in_the_image_and_right_ones_stay(town, tmp_path):
    drawn = geopandas.read_file(town.roads)
    drawn.assign(geometry=drawn.translate(6, -5)).to_file(tmp_path / "off.gpkg")
    (before,), logs = read(tmp_path, (town.raster,), tmp_path / "off.gpkg")
    assert agreement(before, town.truth) < 0.4 and logs == []
    (after,), (log,) = read(tmp_path, (town.raster,), tmp_path / "off.gpkg", move_roads=True)
    assert agreement(after, town.truth) > 0.85
    found = re.fullmatch(r"town\.tif: the drawn roads are moved by ([\d.]+) m to the north-west\.", log)
    assert float(found[1]) == pytest.approx(np.hypot(6, 5), abs=1)
    (right,), (log,) = read(tmp_path, (town.raster,), town.roads, move_roads=True)
    (plain,), _ = read(tmp_path, (town.raster,), town.roads)
    assert np.array_equal(right.training, plain.training) and "not moved" in log
