"""Images cut into scenes that overlap or touch, as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from affine import Affine

from tests.core.support.rasters import NORTH_UP, write_raster
from training_core.events import Reporter
from training_core.geodata.rasters import MODEL, Band, ModelInput
from training_core.regions.catalog import read_catalog
from training_core.regions.mosaic import find_mosaics

RGB = ModelInput(tuple(Band(name, 80.0, 40.0) for name in ("red", "green", "blue")), 1.0)


def wanted(resolution_m: float = 1.0, scaling: str = MODEL) -> ModelInput:
    return ModelInput(RGB.bands, resolution_m, scaling)


def noise(height: int, width: int, bands: int = 3, seed: int = 0) -> np.ndarray:
    """Return an image of values from 1 to 254, so that 0 and 255 are free for nodata."""
    return np.random.default_rng(seed).integers(1, 255, (bands, height, width), dtype=np.uint8)


def cut(path: Path, image: np.ndarray, window: tuple, transform: Affine = NORTH_UP, **profile: object) -> str:
    """Write the part of an image in a window: column, row, width and height."""
    column, row, width, height = window
    part = image[:, row : row + height, column : column + width]
    profile = {"photometric": "rgb", **profile} if len(image) >= 3 else profile
    return write_raster(path, part, transform=transform @ Affine.translation(column, row), **profile)


def scenes_of(paths: list[str], model_input: ModelInput = RGB) -> dict:
    """Return the scenes in files, by name; none may be bad."""
    catalog = read_catalog(paths, model_input, None, Reporter())
    assert not catalog.problems, catalog.problems
    return {scene.name: scene for scene in catalog.scenes}


def mosaics_of(paths: list[str], reach_px: int = 0, model_input: ModelInput = RGB) -> list:
    return find_mosaics(list(scenes_of(paths, model_input).values()), reach_px)
