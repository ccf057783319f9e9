"""Generated scenes to train the starter on: plain ones first, then ones of any biome, season and camera.

Scope: scenes as arrays. Independent of the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import shapely
from rasterio.features import rasterize
from scipy.ndimage import zoom

from scripts.starter.recipe import Recipe
from training_core.scenes.scene import make_scene
from training_core.system.processor import core_count


@dataclass(frozen=True)
class World:
    """A scene to train on.

    Parameters
    ----------
    image : ndarray (3, side, side), float16
        Each band of mean 0 and standard deviation 1 over the scene.
    labels : ndarray (side, side), uint8
        1 on roads.
    roads : ndarray (N,), int
        Flat indexes of the road pixels.
    is_varied : bool
        Whether its chips get color augmentation.
    """

    image: np.ndarray
    labels: np.ndarray
    roads: np.ndarray
    is_varied: bool


def make_worlds(recipe: Recipe, numbers: Iterable[int]) -> list[World]:
    """Return the worlds of some numbers, each of which always gives the same world."""
    with ThreadPoolExecutor(core_count()) as pool:
        return list(pool.map(lambda number: make_world(recipe, number), numbers))


def make_world(recipe: Recipe, number: int) -> World:
    """Return the world of a number: plain ones first, then more and more varied ones; all of negative numbers are."""
    rng = np.random.default_rng([recipe.seed, abs(number), number < 0])
    step = number // recipe.scenes * recipe.steps_per_world if number >= 0 else recipe.steps
    is_varied = rng.random() * recipe.plain_steps <= step
    is_coarse = is_varied and rng.random() < recipe.coarse_share
    pixel_m = float(np.exp(rng.uniform(*np.log(recipe.coarse_range if is_coarse else recipe.scale_range))))
    enlarged = pixel_m / recipe.resolution_m if is_coarse else 1.0
    scene = make_scene(
        round(recipe.scene_px / enlarged),
        int(rng.integers(2**31)),
        pixel_m,
        biome="any" if is_varied else "temperate",
        conditions="varied" if is_varied and rng.random() < recipe.conditions_share else "fair",
    )
    image = scene.image.astype(np.float32)
    if is_coarse:
        image = np.stack([zoom(band, recipe.scene_px / len(band), order=1) for band in image])
    image -= image.mean(axis=(1, 2), keepdims=True)
    image /= image.std(axis=(1, 2), keepdims=True) + 1e-3
    labels = _burned(scene.roads, scene.transform, enlarged, image.shape[1:])
    return World(image.astype(np.float16), labels, np.flatnonzero(labels), is_varied)


def _burned(roads, transform, enlarged: float, shape: tuple[int, ...]) -> np.ndarray:
    if roads.empty:
        return np.zeros(shape, dtype=np.uint8)
    surfaces = shapely.buffer(roads.geometry.to_numpy(), roads.width_m.to_numpy() / 2, cap_style="flat")
    return rasterize(surfaces, out_shape=shape, transform=transform @ transform.scale(1 / enlarged), dtype="uint8")
