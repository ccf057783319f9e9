"""Small towns with bright roads on dark ground, drawn roads to go with them, and models that know no roads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from affine import Affine
from rasterio.features import rasterize
from shapely import affinity
from shapely.geometry import LineString, box

from tests.core.support.rasters import NORTH_UP, write_layer, write_raster
from training_core.events import Event, Reporter
from training_core.geodata.rasters import Band
from training_core.jobs import FineTune
from training_core.models.architectures import Architecture, build_network
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_model
from training_core.pipelines import finetune

SIDE_PX, ROAD_M = 192, 10.0
RGB = ("red", "green", "blue")
# In meters from the upper left corner, y downwards; north-south roads, one across, and one aslant.
ROADS = (
    LineString([(48, 0), (48, SIDE_PX)]),
    LineString([(140, 0), (140, SIDE_PX)]),
    LineString([(0, 100), (SIDE_PX, 100)]),
    LineString([(48, 30), (140, 70)]),
)


@dataclass(frozen=True)
class Town:
    """A town's files, and where its roads truly are: (height, width), bool."""

    raster: str
    roads: str
    aoi: str
    truth: np.ndarray

    @property
    def labeled(self) -> dict[str, Any]:
        """The options of a job that reads its image and its labels."""
        return {"rasters": (self.raster,), "roads": self.roads, "aoi": self.aoi, "width_m": ROAD_M}


def on_map(shape, transform: Affine = NORTH_UP):
    """Return a shape in columns and rows as it lies on the map."""
    return affinity.affine_transform(
        shape, [transform.a, transform.b, transform.d, transform.e, transform.c, transform.f]
    )


def true_roads() -> np.ndarray:
    return rasterize([road.buffer(ROAD_M / 2) for road in ROADS], out_shape=(SIDE_PX, SIDE_PX)) > 0


def image_of(truth: np.ndarray, bands: int = 3, dtype: str = "uint8", seed: int = 0) -> np.ndarray:
    """Return the image of a town: ground around 60, roads around 170, in the unit of the dtype's full range / 255."""
    random = np.random.default_rng(seed)
    values = np.where(truth, 170, 60) + random.normal(0, 12, (bands, *truth.shape))
    scale = 1 if np.dtype(dtype).itemsize == 1 else 200
    return (values.clip(0, 255) * scale).astype(dtype)


def make_town(folder: Path, name: str = "town", bands: int = 3, dtype: str = "uint8", polygons: bool = False) -> Town:
    truth = true_roads()
    profile = {"photometric": "rgb"} if bands >= 3 else {}
    raster = write_raster(folder / f"{name}.tif", image_of(truth, bands, dtype), **profile)
    drawn = [on_map(road.buffer(ROAD_M / 2) if polygons else road) for road in ROADS]
    roads = write_layer(folder / f"{name}_roads.gpkg", *drawn)
    aoi = write_layer(folder / f"{name}_aoi.gpkg", on_map(box(0, 0, SIDE_PX, SIDE_PX)))
    return Town(raster, roads, aoi, truth)


def plant_model(
    path: Path,
    bands: tuple[str, ...] = RGB,
    resolution_m: float = 1.0,
    threshold: float = 0.5,
    training: dict[str, Any] | None = None,
) -> str:
    """Write a model with random weights: quick to make, with results that vary over an image."""
    torch.manual_seed(0)
    network = build_network(Architecture(encoder="resnet18", in_channels=len(bands)))
    with torch.no_grad():
        network.segmentation_head[0].bias.zero_()
        network.segmentation_head[0].weight.mul_(5)
    card = ModelCard(
        architecture=Architecture(encoder="resnet18", in_channels=len(bands)),
        bands=tuple(Band(name, 80.0, 40.0) for name in bands),
        resolution_m=resolution_m,
        threshold=threshold,
        training=training or {},
    )
    save_model(path, network.state_dict(), card)
    return str(path)


@dataclass(frozen=True)
class Learned:
    """A fine-tuning that is done: its result, its events, its model and its report."""

    result: dict[str, Any]
    told: list[Event]
    model: str
    report: str


def learn(town: Town, base_model: str, folder: Path) -> Learned:
    """Fine-tune on a town, until the roads are found."""
    told: list[Event] = []
    job = FineTune(
        **town.labeled,
        base_model=base_model,
        model=str(folder / "town model.safetensors"),
        report=str(folder / "report.html"),
        steps=24,
        chip_px=96,
        learning_rate=0.002,
        engine="native",
        threads=1,
    )
    return Learned(finetune.run(job, Reporter(told.append)), told, job.model, job.report)
