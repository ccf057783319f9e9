"""Training data of the starter model: chips of generated scenes with color, blur and noise augmentation.

Scope: scenes, and how their images may differ. Independent of the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import shapely
from rasterio.features import rasterize
from scipy.ndimage import gaussian_filter, zoom

from recipe import Recipe
from training_core.scenes.scene import make_scene
from training_core.segmentation.symmetries import turned
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
    is_varied = rng.random() < step / recipe.plain_steps
    is_coarse = is_varied and rng.random() < recipe.coarse_share
    pixel_m = float(np.exp(rng.uniform(*np.log(recipe.coarse_range if is_coarse else recipe.scale_range))))
    enlarged = pixel_m / recipe.resolution_m if is_coarse else 1.0
    scene = make_scene(
        round(recipe.scene_px / enlarged),
        int(rng.integers(2**31)),
        pixel_m,
        region="any" if is_varied else "temperate",
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


def draw_batch(recipe: Recipe, worlds: list[World], number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the chips, (batch, 3, side, side), float32, and labels, (batch, side, side), uint8, of a step.

    Parameters
    ----------
    recipe : Recipe
    worlds : list of World
        The scenes that chips are drawn from.
    number : int
        Of the step; the same number gives the same chips.
    """
    rng = np.random.default_rng([recipe.seed, 1, number])
    chips = [_draw(recipe, worlds[rng.integers(len(worlds))], rng) for _ in range(recipe.batch_size)]
    images, labels = zip(*chips)
    return np.stack(images), np.stack(labels)


def _draw(recipe: Recipe, world: World, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    side, reach = recipe.chip_px, recipe.scene_px - recipe.chip_px
    start = rng.integers(0, reach + 1, 2)
    if len(world.roads) and rng.random() < recipe.road_share:
        center = np.array(divmod(int(world.roads[rng.integers(len(world.roads))]), recipe.scene_px))
        start = np.clip(center - side // 2 + rng.integers(-side // 3, side // 3 + 1, 2), 0, reach)
    window = np.s_[start[0] : start[0] + side, start[1] : start[1] + side]
    image = world.image[(slice(None), *window)].astype(np.float32)
    if world.is_varied:
        image = varied(image, recipe, rng)
    symmetry = int(rng.integers(8))
    return turned(image, symmetry).astype(np.float32), turned(world.labels[window][None], symmetry)[0]


def varied(image: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Return an augmented image, (3, height, width), float32 or float64: other colors, blurred, sharpened or noisy.

    Parameters
    ----------
    image : ndarray (3, height, width), float32
        Of mean 0 and standard deviation 1.
    recipe : Recipe
        Shares of the chips that are augmented in each way.
    rng : Generator
    """
    kind = rng.random()
    if kind < recipe.gray_share:
        gray = np.tensordot(rng.dirichlet([2, 2, 2]).astype(np.float32), image, 1)
        image = np.broadcast_to(gray / max(float(gray.std()), 0.5), image.shape)
    elif kind < recipe.gray_share + recipe.mixed_share:
        mix = np.eye(3) + rng.normal(0, 0.22, (3, 3))
        mix /= np.linalg.norm(mix, axis=1, keepdims=True)
        image = np.tensordot(mix.astype(np.float32), image, 1)
    if rng.random() < 0.5:  # a curve, as of another gamma
        image = image + rng.uniform(-0.15, 0.15) * (np.minimum(image**2, 6) - 1)
    gain = np.exp(rng.normal(0, 0.2) + rng.normal(0, 0.05, (3, 1, 1)) * (kind >= recipe.gray_share))
    bias = rng.normal(0, 0.25) + rng.normal(0, 0.08, (3, 1, 1)) * (kind >= recipe.gray_share)
    image = image * gain.astype(np.float32) + bias.astype(np.float32)
    if rng.random() < recipe.disturbed_share:
        radius_px = rng.uniform(0.4, 1.3)
        blurred = np.stack([gaussian_filter(band, radius_px) for band in image])
        image = blurred + np.float32(rng.uniform(*recipe.detail_range)) * (image - blurred)
    if rng.random() < recipe.disturbed_share:
        image = image + rng.normal(0, rng.uniform(0.02, 0.2), image.shape)
    return image
