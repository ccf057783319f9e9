"""A scene as a whole: plan it from a seed, paint any part of it, or make it at once.

Scope: how the parts fit together, and where on Earth the scene is put. Independent of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import geopandas as gpd
import numpy as np
import shapely
from affine import Affine
from rasterio.crs import CRS
from shapely.geometry import box

from ..system.processor import core_count
from .biomes import choose_biome
from .land import plan_land
from .layouts import LAYOUTS
from .painting import Scenery, margin_px, paint
from .picture import BANDS, Camera, Canvas, Look, take
from .streets import lay_pavement, plan_streets

SCENE_CRS = CRS.from_epsg(32633)
_CORNER = (500_000.0, 5_400_000.0)  # map coordinates of the south-west corner, where UTM is true to 0.04 %
TILE_PX = 512
_SPARSE_SHARE = 0.22  # of the scenes anywhere, or around palms
_MAX_WORKERS = 8  # each needs some 100 MB


@dataclass(frozen=True)
class ScenePlan:
    """A scene not painted yet.

    `transform` leads from (column, row) of pixel corners to map coordinates. `roads` are the true ones in `SCENE_CRS`.
    They are cut where they meet and at the image's border. Columns are road_class (motorway, motorway_link, primary,
    secondary, residential or track), width_m, surface and bridge.
    """

    size_px: int
    resolution_m: float
    transform: Affine
    roads: gpd.GeoDataFrame
    scenery: Scenery


@dataclass(frozen=True)
class Scene:
    """A painted scene: (bands, H, W) `image`; see ScenePlan for `roads` and `transform`."""

    image: np.ndarray
    roads: gpd.GeoDataFrame
    transform: Affine


def plan_scene(
    size_px: int,
    seed: int,
    resolution_m: float = 0.5,
    layout: str = "auto",
    biome: str = "temperate",
    bands: str = "rgb",
    bit_depth: int = 8,
    conditions: str = "fair",
) -> ScenePlan:
    """Return the plan of a square scene; the same arguments give the same plan.

    The layout is one of LAYOUTS, or `auto` to leave it to the seed, which chooses sparse land only in the biomes
    monsoon and any. The biome is one of BIOMES, or `any`, by which the seed chooses one and varies its colors. Bands
    are rgb, pan (one band) or rgbn (with near infrared), the bit depth 8 (uint8) or 11 (uint16). Conditions are fair, a
    summer's day and a good camera straight above, or varied: any season, climate, sun and camera.
    """
    side_m = size_px * resolution_m
    rng = np.random.default_rng(seed)
    if layout == "auto":
        is_sparse = biome in ("any", "monsoon") and rng.random() < _SPARSE_SHARE
        layout = "sparse" if is_sparse else str(rng.choice([name for name in LAYOUTS if name != "sparse"]))
    streets = plan_streets(side_m, layout, rng)
    place = choose_biome(biome, layout == "sparse", rng)
    land, look = plan_land(side_m, streets, place, rng), Look.of(conditions, rng)
    camera = Camera.of(conditions, rng, bands, bit_depth, look.seed)
    scenery = Scenery(streets, lay_pavement(streets), land, place, look, camera)
    west, south = _CORNER
    transform = Affine(resolution_m, 0, west, 0, -resolution_m, south + side_m)
    return ScenePlan(size_px, resolution_m, transform, _true_roads(streets.roads, side_m), scenery)


def _true_roads(roads: gpd.GeoDataFrame, side_m: float) -> gpd.GeoDataFrame:
    inside = roads[["road_class", "width_m", "surface", "bridge", "geometry"]].clip(box(0, 0, side_m, side_m))
    inside = inside.explode(ignore_index=True)
    inside = inside[(inside.geom_type == "LineString") & (inside.length > 1.0)].reset_index(drop=True)
    inside.geometry = shapely.transform(inside.geometry.to_numpy(), lambda points: points + _CORNER)
    return inside.set_crs(SCENE_CRS)


def paint_window(plan: ScenePlan, column: int, row: int, width: int, height: int) -> np.ndarray:
    """Return a part of the image: (bands, height, width) uint8 or uint16."""
    margin, pixel_m = margin_px(plan.scenery, plan.resolution_m), plan.resolution_m
    canvas = Canvas(
        west_m=(column - margin) * pixel_m,
        north_m=(plan.size_px - row + margin) * pixel_m,
        width=width + 2 * margin,
        height=height + 2 * margin,
        pixel_m=pixel_m,
    )
    image = take(paint(plan.scenery, canvas), canvas, plan.scenery.camera)
    return image[:, margin : margin + height, margin : margin + width]


def paint_tiles(plan: ScenePlan) -> Iterator[tuple[tuple[int, int, int, int], np.ndarray]]:
    """Yield the image in tiles, row by row, a few painted at a time.

    A tile is (column, row, width, height) in pixels and a (bands, height, width) array of uint8 or uint16.
    """
    starts, side = range(0, plan.size_px, TILE_PX), plan.size_px
    tiles = [(c, r, min(TILE_PX, side - c), min(TILE_PX, side - r)) for r in starts for c in starts]
    workers = min(len(tiles), core_count(), _MAX_WORKERS)
    with ThreadPoolExecutor(workers) as pool:
        for first in range(0, len(tiles), workers):
            batch = tiles[first : first + workers]
            yield from zip(batch, pool.map(lambda tile: paint_window(plan, *tile), batch))


def make_scene(size_px: int, seed: int, resolution_m: float = 0.5, **options: Any) -> Scene:
    """Return a square aerial scene with its true roads."""
    return paint_scene(plan_scene(size_px, seed, resolution_m, **options))


def paint_scene(plan: ScenePlan) -> Scene:
    """Return the planned scene, painted."""
    camera = plan.scenery.camera
    image = np.empty((len(BANDS[camera.bands]), plan.size_px, plan.size_px), dtype=camera.dtype)
    for (column, row, width, height), pixels in paint_tiles(plan):
        image[:, row : row + height, column : column + width] = pixels
    return Scene(image, plan.roads, plan.transform)
