"""Chips of scenes and of real ground, and their labels, as the starter is trained on them.

Scope: which chips there are in a step. Independent of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch.nn.functional import grid_sample

from scripts.starter.appearance import coarse, recolored, varied
from scripts.starter.real_ground import ROADLESS, TOWNS, Ground
from scripts.starter.recipe import Recipe
from scripts.starter.worlds import World
from training_core.geodata.pixel_codes import IGNORE
from training_core.segmentation.inference import turned

Chip = tuple[np.ndarray, np.ndarray]


def draw_batch(recipe: Recipe, worlds: list[World], grounds: dict[str, list[Ground]], number: int) -> Chip:
    """Return the chips, (batch, 3, side, side), float32, and labels, (batch, side, side), uint8, of a step.

    Parameters
    ----------
    worlds : list of World
        The scenes that chips are drawn from.
    grounds : dict of str to list of Ground
        Real ground that chips are drawn from, by source; may be empty.
    number : int
        Of the step; the same number gives the same chips.
    """
    rng = np.random.default_rng([recipe.seed, 1, number])
    chips = [_draw(recipe, worlds, grounds, rng) for _ in range(recipe.batch_size)]
    images, labels = zip(*chips)
    return recolored(np.stack(images), recipe, rng), np.stack(labels)


def _draw(recipe: Recipe, worlds: list[World], grounds: dict[str, list[Ground]], rng: np.random.Generator) -> Chip:
    """Return a chip of a scene or of real ground, each source having its share."""
    chance = rng.random()
    for source, share in recipe.ground_shares.items():
        if source not in grounds:
            continue
        if chance < share:
            return _ground_chip(recipe, grounds[source][rng.integers(len(grounds[source]))], rng)
        chance -= share
    return _scene_chip(recipe, worlds[rng.integers(len(worlds))], rng)


def _scene_chip(recipe: Recipe, world: World, rng: np.random.Generator) -> Chip:
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


def _ground_chip(recipe: Recipe, ground: Ground, rng: np.random.Generator) -> Chip:
    """Return a chip of real ground, at any angle and of some ground size, in other colors."""
    side, shape = recipe.chip_px, ground.labels.shape
    pixel_m = float(np.exp(rng.uniform(*np.log(recipe.scale_range))))
    step_px = pixel_m / ground.pixel_m
    center = known_place(ground, rng)
    if len(ground.roads) and (not ground.is_complete or rng.random() < recipe.road_share):
        place = np.array(divmod(int(ground.roads[rng.integers(len(ground.roads))]), shape[1]))
        center = place + rng.uniform(-side / 3, side / 3, 2) * step_px
    inner = np.minimum(side * step_px, shape) / 2  # so that little of the chip is beyond the image
    center = np.clip(center, inner, shape - inner)
    mean, deviation = _normalization(ground, rng)
    image, labels = resample(ground, center, step_px, rng.uniform(0, 2 * np.pi), side, mean, deviation)
    if rng.random() < recipe.coarse_share:
        coarsest = recipe.coarse_range[1] / max(pixel_m, ground.pixel_m)
        if coarsest > 1:
            image = coarse(image, float(rng.uniform(1, coarsest)))
    if rng.random() < 0.5:
        image, labels = image[..., ::-1], labels[..., ::-1]
    return np.ascontiguousarray(varied(image, recipe, rng), dtype=np.float32), np.ascontiguousarray(labels)


def known_place(ground: Ground, rng: np.random.Generator) -> np.ndarray:
    """Return a random row and column, one with an image if there are some."""
    for _ in range(20):
        place = rng.uniform(0, 1, 2) * ground.known.shape
        if ground.known[tuple(place.astype(int))]:
            break
    return place


def _normalization(ground: Ground, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation to normalize a chip by: where the image is small, not quite its own.

    A field alone has other statistics than one that is part of an image with much else in it.
    """
    if ground.source not in (ROADLESS, TOWNS):
        return ground.mean, ground.deviation
    own = np.float32(rng.uniform(0, 1))
    return own * ground.mean + (1 - own) * np.float32(110), own * ground.deviation + (1 - own) * np.float32(45)


def resample(
    ground: Ground,
    center: Sequence[float],
    step_px: float,
    angle: float,
    side: int,
    mean: np.ndarray,
    deviation: np.ndarray,
) -> Chip:
    """Return a square of real ground, normalized, and its labels: nothing known beyond the image.

    Parameters
    ----------
    center : sequence of float
        Row and column in the image.
    step_px : float
        Pixels of the image for each of the square.
    angle : float
        In radians.
    side : int
        In pixels of the square.
    mean, deviation : ndarray (3,), float32
        To normalize by.

    Returns
    -------
    image : ndarray (3, side, side), float32
        0 where nothing is known.
    labels : ndarray (side, side), uint8
    """
    height, width = ground.labels.shape
    offsets = (np.arange(side) - (side - 1) / 2) * step_px
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    rows, columns = np.tensordot(turn, np.stack(np.meshgrid(offsets, offsets, indexing="ij")), 1)
    rows, columns = rows + center[0], columns + center[1]
    top, left = max(0, int(rows.min()) - 1), max(0, int(columns.min()) - 1)
    window = np.s_[top : min(height, int(rows.max()) + 3), left : min(width, int(columns.max()) + 3)]
    known = ground.known[window]
    image = (ground.image[(slice(None), *window)] - mean[:, None, None]) / deviation[:, None, None] * known
    if step_px > 1:
        blur_px = 0.5 * (step_px**2 - 1) ** 0.5
        image = gaussian_filter(image, (0, blur_px, blur_px))
    planes = torch.from_numpy(np.concatenate([image, ground.labels[window][None], ~known[None]]).astype(np.float32))
    places = np.stack([(columns - left) / known.shape[1], (rows - top) / known.shape[0]], axis=-1) * 2 - 1
    grid = torch.from_numpy(places.astype(np.float32))[None]
    found = grid_sample(planes[None, :3], grid, "bilinear", "zeros", align_corners=False)[0].numpy()
    nearest = grid_sample(planes[None, 3:], grid, "nearest", "border", align_corners=False)[0].numpy()
    labels = nearest[0].astype(np.uint8)
    is_beyond = (rows < 0) | (rows >= height) | (columns < 0) | (columns >= width) | (nearest[1] > 0)
    labels[is_beyond] = IGNORE
    found[:, is_beyond] = 0
    return found, labels
