"""Cities as a model might see them: the probability of generated street plans, with noise and with gaps under trees."""

from __future__ import annotations

import numpy as np
import shapely
from affine import Affine
from rasterio.crs import CRS
from rasterio.features import rasterize
from scipy.ndimage import gaussian_filter

from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import CERTAIN
from training_core.geodata.road_raster import RoadRaster, byte_raster
from training_core.scenes.scene import plan_scene

RESOLUTION_M, THRESHOLD = 0.5, 0.5
# Share of the city under trees, in standard deviations, and what is left of the probability there.
_TREES_FROM, _SEEN_UNDER_TREES = 1.2, 0.45


def city_probability(size_px: int, layout: str, seed: int) -> np.ndarray:
    """Return probability bytes: (size_px, size_px), uint8."""
    plan = plan_scene(size_px, seed, RESOLUTION_M, layout=layout)
    areas = plan.roads.geometry.buffer(plan.roads.width_m / 2)
    truth = rasterize(areas, out_shape=(size_px, size_px), transform=plan.transform).astype(np.float32)
    rng = np.random.default_rng(seed)

    def noise(sigma: float) -> np.ndarray:
        return gaussian_filter(rng.standard_normal(truth.shape, dtype=np.float32), sigma, truncate=3) * sigma

    trees = noise(8)
    seen = np.where(trees > _TREES_FROM * trees.std(), np.float32(_SEEN_UNDER_TREES), np.float32(1))
    visible = gaussian_filter(truth * seen, 1.5, truncate=3)
    return np.rint(np.clip(0.95 * visible + 0.5 * noise(5) + 0.4 * noise(1.5), 0, 1) * CERTAIN).astype(np.uint8)


def raster_of(probability: np.ndarray, threshold: float = THRESHOLD) -> RoadRaster:
    return byte_raster(probability, threshold)


def grid_of_size(width: int, height: int) -> Grid:
    transform = Affine(RESOLUTION_M, 0, 500_000, 0, -RESOLUTION_M, 5_800_000)
    return Grid(CRS.from_epsg(32633), transform, width, height)


def same_lines(one, other, digits_m=0.01):
    """Number of lines of one table that the other has as well, in either direction, and of those that it has not."""
    shapes = [
        set(shapely.to_wkb(shapely.normalize(shapely.set_precision(table.geometry.to_numpy(), digits_m))).tolist())
        for table in (one, other)
    ]
    return len(shapes[0] & shapes[1]), len(shapes[0] ^ shapes[1])
