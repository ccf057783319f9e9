"""A small image with roads, and the parts of a session on it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.core.support.towns import SIDE_PX, Town
from training_core.geodata.grid import Grid
from training_core.geodata.rasters import Image, find_bands, open_raster
from training_core.live.image_windows import ImageWindows
from training_core.models.base_model import BaseModel, read_base_model
from training_core.models.engines import NativeEngine


@dataclass(frozen=True, repr=False)
class Desk:
    """The town's image in windows, and a model that has learned nothing."""

    town: Town
    windows: ImageWindows
    base: BaseModel
    engine: NativeEngine

    @property
    def grid(self) -> Grid:
        return self.windows.grid

    @property
    def extent(self) -> list[float]:
        return list(self.grid.outline.bounds)


@pytest.fixture
def desk(town, planted):
    from training_core.events import Reporter

    base = read_base_model(planted, "auto", "auto", Reporter())
    with open_raster(town.raster) as dataset, Image(dataset, find_bands(dataset, base.card.input)) as image:
        assert image.grid.width == SIDE_PX
        yield Desk(town, ImageWindows(image), base, NativeEngine("fp32"))
