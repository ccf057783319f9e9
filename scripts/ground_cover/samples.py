"""Pixels of known ground cover: generated scenes, labeled ground, and both with painted clouds and floods.

Scope: where the truth comes from. Independent of the features and of the classifier. Water of real images lies in the
boxes of `water.csv`, in fractions of the image's sides. Canopy is UC Merced's class forest. All else is roads of label
masks, and classes of UC Merced and images of desert without trees, water and clouds.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter, uniform_filter

from training_core.scenes.painting import Scenery, margin_px, paint
from training_core.scenes.picture import Canvas, take
from training_core.scenes.scene import plan_scene
from training_core.segmentation.ground_cover import CANOPY, CLOUD, OTHER, SHADOW, WATER

UNKNOWN = 255
SCENES, SCENE_PX, SCENE_M = 60, 320, 1.0
# Pixels of real images in meters.
PIXEL_M = {"massachusetts": 1.0, "massachusetts_more": 1.0, "dubai": 0.7, "shanghai": 0.76, "ucmerced": 0.305}
BARE = (
    "agricultural", "airplane", "baseballdiamond", "buildings", "freeway", "intersection", "mobilehomepark",
    "parkinglot", "runway", "storagetanks", "tenniscourt", "overpass",
)  # fmt: skip
SIDES = ("left", "top", "right", "bottom")
DESERT = ("t7_005", "t7_006", "t7_007")
# Images without water are cut to this side.
MOST_PX = 800
MOSAICS, A_SIDE = 40, 4


@dataclass(frozen=True)
class Known:
    """An image in pixels of about a meter, (bands, H, W) float32, and its classes, (H, W) uint8, UNKNOWN included."""

    source: str
    values: np.ndarray
    classes: np.ndarray


def all_known(real: Path, seed: int = 0) -> Iterator[Known]:
    """Yield images with known cover, each as it is, once under painted clouds, and once with water and debris."""
    rng = np.random.default_rng(seed)
    for known in (*scenes(), *real_images(real), *mosaics(real, rng)):
        yield known
        yield clouded(known, rng)
        yield flooded(known, rng)


def scenes() -> Iterator[Known]:
    """Yield generated scenes, with what changes in the picture where water, crowns or shadows are painted otherwise."""
    for seed in range(SCENES):
        plan = plan_scene(SCENE_PX, 9000 + seed, SCENE_M, "auto", "any", conditions="varied")
        scenery = plan.scenery
        scenery = replace(scenery, look=replace(scenery.look, turned=0.0))
        margin = margin_px(scenery, SCENE_M)
        canvas = Canvas(-margin, SCENE_PX + margin, SCENE_PX + 2 * margin, SCENE_PX + 2 * margin, SCENE_M)
        light, inner = paint(scenery, canvas), np.s_[margin:-margin, margin:-margin]
        others = [repainted(scenery, names) for names in (("crown", "autumn", "palm"), ("water",))]
        others.append(replace(scenery, look=replace(scenery.look, sun_altitude=np.pi / 2)))  # without shadows
        crown, water, shade = (
            (np.abs(paint(other, canvas) - light).max(axis=0) > 0.02)[inner].astype(np.float32) for other in others
        )
        classes = np.full(crown.shape, UNKNOWN, dtype=np.uint8)
        crowns = uniform_filter(crown, 9)
        classes[(crowns < 0.1) & (water == 0) & (shade == 0)] = OTHER
        classes[(uniform_filter(shade, 5) > 0.9) & (crowns < 0.1) & (water == 0)] = SHADOW
        classes[(uniform_filter(water, 5) > 0.95) & (crowns < 0.1)] = WATER
        classes[crowns > 0.75] = CANOPY
        image = take(light, canvas, scenery.camera)[(slice(None), *inner)].astype(np.float32)
        yield Known(f"scene {seed}", image, classes)


def repainted(scenery: Scenery, names: tuple[str, ...]) -> Scenery:
    """Return a scenery in which things of some palettes have no color."""
    palette = scenery.biome.palette
    black = {name: np.zeros_like(palette[name]) for name in names if name in palette}
    return replace(scenery, biome=replace(scenery.biome, palette={**palette, **black}))


def real_images(real: Path) -> Iterator[Known]:
    """Yield images of Massachusetts, Dubai and Shanghai with known water, and with roads as the rest."""
    boxes: dict[str, list[list[float]]] = {}
    for row in csv.DictReader(Path(__file__).with_name("water.csv").open()):
        boxes.setdefault(row["image"], []).append([float(row[side]) for side in SIDES])
    for ground in ("massachusetts", "massachusetts_more", "dubai", "shanghai"):
        for number, path in enumerate(sorted((real / ground / "images").iterdir())):
            name = str(path.relative_to(real))
            if name not in boxes and number % 3:
                continue
            values = reduced(path, ground)
            mask = Image.open(real / ground / "masks" / f"{path.stem}.png").resize(values.shape[:0:-1], Image.NEAREST)
            classes = np.where(np.asarray(mask) == 255, OTHER, UNKNOWN).astype(np.uint8)
            if path.stem in DESERT:
                classes[:] = OTHER
            for box in boxes.get(name, ()):
                left, top, right, bottom = (np.array(box) * np.tile(classes.shape[::-1], 2)).astype(int)
                classes[top:bottom, left:right] = WATER
            part = np.s_[:MOST_PX, :MOST_PX] if name not in boxes else np.s_[:, :]
            if (classes[part] != UNKNOWN).any():
                yield Known(name, values[(slice(None), *part)], classes[part])


def mosaics(real: Path, rng: np.random.Generator) -> Iterator[Known]:
    """Yield squares of tiles of UC Merced: forest, what is bare, and water by its boxes; no source is in two."""
    tiles = [(path, OTHER) for name in BARE for path in sorted((real / "ucmerced" / name).iterdir())[::3]]
    tiles += [(path, CANOPY) for path in sorted((real / "ucmerced" / "forest").iterdir())]
    water = [row for row in csv.DictReader(Path(__file__).with_name("water.csv").open()) if "ucmerced" in row["image"]]
    tiles += [(real / row["image"], row) for row in water]
    order = rng.permutation(len(tiles))[: MOSAICS * A_SIDE**2]
    for number, chosen in enumerate(np.array_split(order, len(order) // A_SIDE**2)):
        side = round(256 * PIXEL_M["ucmerced"])
        values, classes = np.zeros((3, A_SIDE * side, A_SIDE * side), np.float32), None
        classes = np.full(values.shape[1:], UNKNOWN, dtype=np.uint8)
        for place, tile in enumerate(chosen[: A_SIDE**2]):
            path, known = tiles[tile]
            at = np.s_[place // A_SIDE * side :, place % A_SIDE * side :]
            image = reduced(path, "ucmerced")[:, :side, :side]
            part = values[:, at[0], at[1]][:, : image.shape[1], : image.shape[2]]
            part[:] = image
            label = classes[at][: image.shape[1], : image.shape[2]]
            if isinstance(known, int):
                label[4:-4, 4:-4] = known
            else:
                left, top, right, bottom = (int(float(known[name]) * side) for name in SIDES)
                label[top:bottom, left:right] = WATER
        yield Known(f"mosaic {number}", values, classes)


def reduced(path: Path, ground: str) -> np.ndarray:
    """Return an image in pixels of about a meter, (3, H, W) float32."""
    image = Image.open(path).convert("RGB")
    size = [max(1, round(side * PIXEL_M[ground])) for side in image.size]
    return np.asarray(image.resize(size, Image.BOX), dtype=np.float32).transpose(2, 0, 1)


def clouded(known: Known, rng: np.random.Generator) -> Known:
    """Return an image under soft clouds and their shadows."""
    bright, alpha = np.percentile(known.values, 98), blobs(known.classes.shape, rng)
    alpha = np.clip(alpha * rng.uniform(1.0, 6.0), 0, rng.uniform(0.85, 1.0))
    away = rng.integers(30, 120, 2) * rng.choice([-1, 1], 2)
    shade = gaussian_filter(np.roll(alpha, away, axis=(0, 1)), 3) * rng.uniform(0.35, 0.7)
    tint = np.array([1.0, 0.95, 0.87])[:, None, None] if len(known.values) == 3 else 1.0
    values = known.values * (1 - shade * tint)
    inner = 1 + rng.uniform(0.0, 0.1) * blobs(alpha.shape, rng)
    values += alpha * (bright * rng.uniform(0.85, 1.25) * inner - values)
    classes = known.classes.copy()
    classes[(alpha > 0.1) | (shade > 0.15)] = UNKNOWN
    classes[(shade > 0.3) & (alpha < 0.05) & (known.classes == OTHER)] = SHADOW
    classes[alpha > 0.55] = CLOUD
    return _with(known, values, classes)


def flooded(known: Known, rng: np.random.Generator) -> Known:
    """Return an image in which water covers some ground, and mud or rubble some other, which is neither."""
    bright, shape = np.percentile(known.values, 98), known.classes.shape
    flood, debris = (np.clip(20 * blobs(shape, rng), 0, 1) for _ in range(2))
    grain = gaussian_filter(rng.normal(size=shape), rng.uniform(0.4, 1.5))
    grain *= bright / grain.std()
    values, shares = known.values.copy(), (rng.uniform(0.3, 0.7), rng.uniform(0.85, 1.0))
    for mask, share, lightness, noise in (
        (debris, shares[0], rng.uniform(0.25, 0.6), rng.uniform(0.02, 0.2)),
        (flood, shares[1], rng.uniform(0.08, 0.55), rng.uniform(0.0, 0.015)),
    ):
        ground = values if mask is debris else gaussian_filter(values, (0, 2, 2))
        tint = np.array([1 + rng.uniform(-0.15, 0.3), 1, 1 - rng.uniform(-0.2, 0.4)])[:, None, None]
        values += mask * (share * bright * lightness * tint + (1 - share) * ground + noise * grain - values)
    classes = known.classes.copy()
    classes[(debris > 0) | (flood > 0)] = UNKNOWN
    classes[(debris > 0.95) & (flood == 0) & np.isin(known.classes, (OTHER, CANOPY, UNKNOWN))] = OTHER
    classes[flood > 0.95] = WATER
    return _with(known, values, classes)


def blobs(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return fractal noise, of deviation 1 and mostly below 0: (H, W) float64."""
    scale = rng.uniform(0.3, 1.0)
    noise = sum(gaussian_filter(rng.normal(size=shape), side * scale) * side**1.6 for side in (40, 20, 10, 5, 2.5))
    return (noise - np.quantile(noise, rng.uniform(0.6, 0.85))) / noise.std()


def _with(known: Known, values: np.ndarray, classes: np.ndarray) -> Known:
    top = 255 if known.values.max() <= 255 else 2047
    return Known(known.source, np.clip(values, 0, top).astype(np.float32), classes)
