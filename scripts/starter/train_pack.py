"""Train starters from a pack on any device that PyTorch has; needs torch, timm and segmentation_models_pytorch alone.

    python train_pack.py starter.pack OUT --start encoder.safetensors --seeds 1 2 3 --without none shanghai dubai

Each run, a seed of a recipe with a source left out, gets its share of --minutes. Recipes joined by + follow each other.
OUT gets the weights of each run, and results.json with its scores, after each run. See pack.py for the file. This
module is long, since it is copied alone to the machine with the device.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import time
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import segmentation_models_pytorch as smp
import torch
from PIL import Image
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from timm.optim import param_groups_weight_decay
from torch import Tensor, nn
from torch.nn import functional

FORMAT = "roadseg-starter-pack-1"
ROAD, IGNORED, TRUE_ROAD, TRUE_IGNORED, UNKNOWN, LINE = (1 << bit for bit in range(6))
# Sources whose images are small, so that a chip's statistics are not quite those of its image.
SMALL = ("roadless", "towns")
THRESHOLDS = np.round(np.arange(0.05, 1, 0.05), 2)
SQUARES, SIDE_PX = 32, 512
MAX_FILE_BYTES = 16_000_000
LOG_STEPS, KEEP_S = 50, 10.0
MEAN, DEVIATION = 110.0, 45.0  # of the 8-bit image that chips are taken for where they are compressed
# Quantization of luminance and chrominance as in the JPEG standard, annex K.
LUMINANCE = (16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22,
             29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87,
             103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99)  # fmt: skip
CHROMINANCE = (17, 18, 24, 47, *[99] * 4, 18, 21, 26, 66, *[99] * 4, 24, 26, 56, *[99] * 5, 47, 66, *[99] * 38)
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Picture:
    """An image on the device, (3, height, width), uint8, its planes there and here, and its record in the manifest."""

    record: dict
    pixels: Tensor
    planes: Tensor
    host: np.ndarray
    roads: np.ndarray


def read_pack(path: Path, device: torch.device) -> tuple[dict, list[Picture]]:
    """Return the manifest of a pack, and its images; raises SystemExit if it is damaged or another file."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if manifest["format"] != FORMAT:
                raise ValueError(f"its format is {manifest['format']!r}, not {FORMAT!r}")
            names = set(archive.namelist())
            endings = ("webp", "png")
            files = [
                [archive.read(f"{number:05}.{end}") if f"{number:05}.{end}" in names else b"" for end in endings]
                for number in range(len(manifest["images"]))
            ]
        with ThreadPoolExecutor() as pool:
            pictures = list(pool.map(lambda each: _picture(*each, device), zip(manifest["images"], files)))
    except (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise SystemExit(
            f"{path} is damaged or no starter pack: {error}. Copy it again, or make it with make starter-pack."
        ) from error
    return manifest, pictures


def _picture(record: dict, files: list[bytes], device: torch.device) -> Picture:
    with Image.open(io.BytesIO(files[0])) as image:
        pixels = np.array(image.convert("RGB")).transpose(2, 0, 1)
    planes = np.zeros(pixels.shape[1:], dtype=np.uint8)
    if files[1]:
        with Image.open(io.BytesIO(files[1])) as image:
            planes = np.array(image)
    if planes.shape != pixels.shape[1:] or planes.dtype != np.uint8:
        raise ValueError(f"the labels of {record['name']} are of another size")
    roads = np.flatnonzero(planes & ROAD).astype(np.int32)
    on_device = (torch.from_numpy(np.ascontiguousarray(each)).to(device) for each in (pixels, planes))
    return Picture(record, *on_device, planes, roads)


def draw_batch(recipe: dict, pictures: dict[str, list[Picture]], rng: Rng) -> tuple[Tensor, Tensor]:
    """Return the chips of a step, (batch, 3, side, side), float32, and bits of their labels, (batch, side, side)."""
    shares = {source: share for source, share in recipe["ground_shares"].items() if source in pictures}
    sources = [*shares, "scenes"] if "scenes" in pictures else [*shares]
    chances = np.array([*shares.values(), 1 - sum(shares.values())][: len(sources)])
    chosen = rng.choice(len(sources), recipe["batch_size"], p=chances / chances.sum())
    chips = []
    for source in (pictures[sources[number]] for number in chosen):
        chips.append(_chip(recipe, source[rng.integers(len(source))], rng))
    images, bits = map(torch.stack, zip(*chips))
    return recolored(varied(images, recipe, rng), recipe, rng), bits


def _chip(recipe: dict, picture: Picture, rng: Rng) -> tuple[Tensor, Tensor]:
    """Return a chip: of a scene at its own scale, by quarter turns; of real ground at any angle and some scale."""
    side, record, shape = recipe["chip_px"], picture.record, np.array(picture.host.shape)
    is_scene = record["source"] == "scenes"
    pixel_m = record["pixel_m"] if is_scene else float(np.exp(rng.uniform(*np.log(recipe["scale_range"]))))
    step_px = pixel_m / record["pixel_m"]
    center = known_place(picture, rng)
    if len(picture.roads) and (not record["is_complete"] or rng.random() < recipe["road_share"]):
        place = np.array(divmod(int(picture.roads[rng.integers(len(picture.roads))]), shape[1]))
        center = place + rng.uniform(-side / 3, side / 3, 2) * step_px
    inner = np.minimum(side * step_px, shape) / 2
    center = np.clip(center, inner, shape - inner)
    mean, deviation = np.array(record["mean"]), np.array(record["deviation"])
    if record["source"] in SMALL:
        own = rng.uniform(0, 1)
        mean, deviation = own * mean + (1 - own) * MEAN, own * deviation + (1 - own) * DEVIATION
    if is_scene:  # its pixels stay as they are
        center, angle = np.floor(center - side / 2) + side / 2, int(rng.integers(4)) * np.pi / 2
    else:
        angle = rng.uniform(0, 2 * np.pi)
    image, bits = resample(picture, center, step_px, angle, side, mean, deviation, is_mirrored=rng.random() < 0.5)
    if not is_scene and rng.random() < recipe["coarse_share"]:
        coarsest = recipe["coarse_range"][1] / max(pixel_m, record["pixel_m"])
        image = coarse(image, float(rng.uniform(1, coarsest))) if coarsest > 1 else image
    return image, bits


def known_place(picture: Picture, rng: Rng) -> np.ndarray:
    """Return a random row and column, one with an image if there are some."""
    for _ in range(20):
        place = rng.uniform(0, 1, 2) * picture.host.shape
        if not picture.host[tuple(place.astype(int))] & UNKNOWN:
            break
    return place


def resample(
    picture: Picture,
    center: np.ndarray,
    step_px: float,
    angle: float,
    side: int,
    mean: np.ndarray,
    deviation: np.ndarray,
    is_mirrored: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return a square of an image, normalized, (3, side, side), and its bits, as `resample` of chips.py does."""
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])  # of x and y
    turn = turn @ np.diag([-1 if is_mirrored else 1, 1]) * side * step_px / 2
    shape, reach = np.array(picture.host.shape), np.abs(turn).sum(1)[::-1]
    first = np.maximum(0, np.floor(center - reach).astype(int) - 1)
    last = np.minimum(shape, np.ceil(center + reach).astype(int) + 2)
    window = np.s_[first[0] : last[0], first[1] : last[1]]
    planes, device = picture.planes[window].float()[None, None], picture.pixels.device
    scale, shift = (
        torch.tensor(each, dtype=torch.float32, device=device) for each in (1 / deviation, -mean / deviation)
    )
    image = picture.pixels[(slice(None), *window)] * scale[:, None, None] + shift[:, None, None]
    image = (image * ((picture.planes[window] & UNKNOWN) == 0))[None]
    if step_px > 1:
        image = blurred(image, np.array([0.5 * (step_px**2 - 1) ** 0.5]))
    size, middle = (last - first)[::-1], (center - first)[::-1]
    theta = np.concatenate([2 * turn / size[:, None], (2 * middle / size - 1)[:, None]], 1)
    theta = torch.tensor(theta, dtype=torch.float32, device=device)[None]
    grid = functional.affine_grid(theta, [1, 3, side, side], align_corners=False)
    found = functional.grid_sample(image, grid, "bilinear", "zeros", align_corners=False)[0]
    bits = functional.grid_sample(planes, grid, "nearest", "border", align_corners=False)[0, 0].byte()
    is_beyond = (grid[0].abs() > 1).any(-1) | ((bits & UNKNOWN) > 0)
    return found * ~is_beyond, torch.where(is_beyond, bits.new_tensor(IGNORED | TRUE_IGNORED | UNKNOWN), bits)


def blurred(images: Tensor, radius_px: np.ndarray) -> Tensor:
    """Return images, (batch, channels, height, width), each under a Gaussian of its own."""
    batch, channels, height, width = images.shape
    reach = min(math.ceil(4 * float(radius_px.max())), height - 1, width - 1)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / np.maximum(radius_px, 1e-3)[:, None]) ** 2)
    weights = (weights / weights.sum(1, keepdims=True)).repeat(channels, 0)
    weights = torch.tensor(weights, dtype=images.dtype, device=images.device)[:, None]
    found = functional.pad(images.reshape(1, batch * channels, height, width), [reach] * 4, "replicate")
    found = functional.conv2d(found, weights[:, :, None], groups=batch * channels)
    return functional.conv2d(found, weights[:, :, :, None], groups=batch * channels).reshape(images.shape)


def coarse(image: Tensor, factor: float) -> Tensor:
    """Return an image, (3, side, side), as with pixels larger by a factor, enlarged again."""
    side = image.shape[-1]
    found = blurred(image[None], np.array([0.5 * (factor**2 - 1) ** 0.5]))
    few = max(1, round(side / factor))
    return functional.interpolate(
        functional.interpolate(found, [few] * 2, mode="bilinear"), [side] * 2, mode="bilinear"
    )[0]


def varied(images: Tensor, recipe: dict, rng: Rng) -> Tensor:
    """Return augmented chips, (batch, 3, side, side); see appearance.py, whose shares and ranges these are."""
    images = _colored(images, recipe, rng)
    for share, change in (
        (recipe["disturbed_share"], _detailed),
        (recipe["haze_share"], _hazy),
        (recipe["noisy_share"], _noisy),
        (recipe["jpeg_share"], _compressed),
    ):
        chosen = np.flatnonzero(rng.random(len(images)) < share)
        if len(chosen):
            index = torch.from_numpy(chosen).to(images.device)
            images = images.index_copy(0, index, change(images[index], recipe, rng))
    return images


def _column(values: np.ndarray, images: Tensor) -> Tensor:
    """Return numbers, (batch,) or (batch, channels), to compute with images."""
    tensor = torch.tensor(values, dtype=images.dtype, device=images.device)
    return tensor.reshape(*values.shape, *[1] * (4 - values.ndim))


def _colored(images: Tensor, recipe: dict, rng: Rng) -> Tensor:
    count = len(images)
    kind = rng.random(count)
    is_gray, is_mixed = kind < recipe["gray_share"], kind < recipe["gray_share"] + recipe["mixed_share"]
    mixed = np.eye(3) + rng.normal(0, 0.22, (count, 3, 3))
    mixed /= np.linalg.norm(mixed, axis=2, keepdims=True)
    grays = np.repeat(rng.dirichlet([2, 2, 2], count)[:, None], 3, 1)
    mixes = np.where(is_gray[:, None, None], grays, np.where(is_mixed[:, None, None], mixed, np.eye(3)))
    images = torch.einsum("nij,njhw->nihw", torch.tensor(mixes, dtype=images.dtype, device=images.device), images)
    spread = images.std((1, 2, 3), keepdim=True).clamp(min=0.5)
    images = images / torch.where(_column(is_gray, images) > 0, spread, torch.ones_like(spread))
    curve = rng.uniform(-0.15, 0.15, count) * (rng.random(count) < 0.5)
    images = images + _column(curve, images) * ((images**2).clamp(max=6) - 1)
    of_band = ~is_gray[:, None]
    gain = np.exp(rng.normal(0, 0.2, (count, 1)) + rng.normal(0, 0.05, (count, 3)) * of_band)
    bias = rng.normal(0, 0.25, (count, 1)) + rng.normal(0, 0.08, (count, 3)) * of_band
    return images * _column(gain, images) + _column(bias, images)


def _detailed(images: Tensor, recipe: dict, rng: Rng) -> Tensor:
    smooth = blurred(images, rng.uniform(0.4, 1.3, len(images)))
    return smooth + _column(rng.uniform(*recipe["detail_range"], len(images)), images) * (images - smooth)


def _hazy(images: Tensor, recipe: dict, rng: Rng) -> Tensor:
    density = torch.tensor(rng.uniform(0, 0.6, (len(images), 1, 4, 4)), dtype=images.dtype, device=images.device)
    density = functional.interpolate(density, images.shape[2:], mode="bilinear")
    return images * (1 - density) + _column(rng.uniform(0.3, 1.5, len(images)), images) * density


def _noisy(images: Tensor, recipe: dict, rng: Rng) -> Tensor:
    return images + torch.randn_like(images) * _column(rng.uniform(0.02, 0.2, len(images)), images)


def _compressed(images: Tensor, recipe: dict, rng: Rng) -> Tensor:
    """Return the images as JPEG rounds them: 8 x 8 cosines of luminance, and of chrominance at half the size."""
    quality = rng.integers(*recipe["jpeg_qualities"], len(images))
    scale = np.where(quality < 50, 5000 / quality, 200 - 2 * quality)[:, None] / 100
    to_ycc = np.array([[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]])
    ycc = torch.einsum("ij,njhw->nihw", images.new_tensor(to_ycc), (images * DEVIATION + MEAN).clamp(0, 255) - 128)
    luminance, chrominance = (np.clip(np.round(np.array(table) * scale), 1, 255) for table in (LUMINANCE, CHROMINANCE))
    halves = _rounded(functional.avg_pool2d(ycc[:, 1:], 2), chrominance)
    ycc = torch.cat([_rounded(ycc[:, :1], luminance), functional.interpolate(halves, scale_factor=2)], 1)
    rgb = torch.einsum("ij,njhw->nihw", images.new_tensor(np.linalg.inv(to_ycc)), ycc)
    return ((rgb + 128).clamp(0, 255) - MEAN) / DEVIATION


def _rounded(planes: Tensor, table: np.ndarray) -> Tensor:
    batch, channels, height, width = planes.shape
    turn = np.arange(8)
    cosines = np.cos((2 * turn + 1) * turn[:, None] * np.pi / 16) * np.where(turn[:, None], 0.5, 8**-0.5)
    cosines = torch.tensor(cosines, dtype=planes.dtype, device=planes.device)
    steps = torch.tensor(table, dtype=planes.dtype, device=planes.device).reshape(batch, 1, 1, 1, 8, 8)
    blocks = planes.reshape(batch, channels, height // 8, 8, width // 8, 8).transpose(3, 4)
    blocks = torch.round(cosines @ blocks @ cosines.T / steps) * steps
    return (cosines.T @ blocks @ cosines).transpose(3, 4).reshape(planes.shape)


def recolored(images: Tensor, recipe: dict, rng: Rng) -> Tensor:
    """Return the chips of a step, some with mean and covariance between their own and another's, or negative."""
    count = len(images)
    flat = images.flatten(2)
    means = flat.mean(2, keepdim=True)
    centered = flat - means
    covariance = centered @ centered.mT / flat.shape[2] + 1e-2 * torch.eye(3, device=images.device)
    roots = torch.linalg.cholesky_ex(covariance)[0]
    other = torch.from_numpy(rng.integers(count, size=count)).to(images.device)
    part = _column(rng.uniform(0, 1, count) * (rng.random(count) < recipe["recolored_share"]), images)[..., 0]
    whitened = torch.linalg.solve_triangular(roots, centered, upper=False)
    colored = roots.lerp(roots[other], part) @ whitened + means.lerp(means[other], part)
    sign = 1 - 2 * (rng.random(count) < recipe["negative_share"])
    return colored.reshape(images.shape) * _column(sign, images)


def loss_of(logits: Tensor, bits: Tensor, line_weight: float) -> Tensor:
    """Return focal and Dice loss of road, as training_core.learning.losses, and the recall of center-lines."""
    road, line = ((bits[:, None] & bit > 0).float() for bit in (ROAD, LINE))
    known = (bits[:, None] & IGNORED == 0).float()
    margin, probability = logits * (1 - 2 * road), logits.sigmoid()
    focal = (0.5 * known * margin.sigmoid() ** 2 * functional.softplus(margin)).sum() / known.sum().clamp(min=1)
    hits, total = (probability * road).sum(), (probability * known).sum() + road.sum()
    dice = 1 - (2 * hits + 1) / (total + 1)
    lines = 1 - ((probability * line).sum() + 1) / (line.sum() + 1)
    return 0.75 * focal + 0.25 * dice + line_weight * lines


def build_network(recipe: dict, start: dict[str, Tensor]) -> nn.Module:
    """Return a U-Net, with the weights of a whole one or of its encoder where there are some."""
    decoder = recipe["decoder_channels"]
    model = smp.Unet(recipe["encoder"], encoder_weights=None, decoder_channels=decoder)
    wanted = model.state_dict()
    within = "encoder.model." if recipe["encoder"].startswith("tu-") else "encoder."
    is_whole = any(name.startswith("segmentation_head.") for name in start)
    named = start if is_whole else {within + name.removeprefix("model."): each for name, each in start.items()}
    taken = {name: each for name, each in named.items() if name in wanted and each.shape == wanted[name].shape}
    if start and not any(name.startswith("encoder.") and name.endswith(".weight") for name in taken):
        raise SystemExit(f"--start holds no weights of {recipe['encoder']}. Choose others, or none.")
    model.load_state_dict({**wanted, **taken})
    if recipe["mixed_styles_share"]:
        encoder = model.encoder.model
        for layer in (encoder.bn1, *encoder.blocks[:2]):
            layer.register_forward_hook(lambda *passed: mixed_styles(*passed, share=recipe["mixed_styles_share"]))
    return model


def mixed_styles(module: nn.Module, _inputs: object, features: Tensor, share: float) -> Tensor:
    """Return features, (batch, channels, height, width), with the styles of the chips mixed in a share of the steps."""
    if not module.training or torch.rand(()) > share:
        return features
    mean = features.mean((2, 3), keepdim=True).detach()
    deviation = (features.var((2, 3), keepdim=True) + 1e-5).sqrt().detach()
    order = torch.randperm(len(features)).to(features.device)
    own = torch.distributions.Beta(0.3, 0.3).sample((len(features), 1, 1, 1)).to(features)
    normalized = (features - mean) / deviation
    return normalized * deviation.lerp(deviation[order], 1 - own) + mean.lerp(mean[order], 1 - own)


def rate_at(done: float, peak: float, warm_up: float) -> float:
    """Return the learning rate when a fraction of the training is done: a warm-up, then a cosine."""
    if done < warm_up:
        return peak * max(done / warm_up, 0.05)
    return peak * max(0.5 * (1 - math.cos(math.pi * (1 - min(done, 1.0)) / (1 - warm_up))), 0.01)


class Training:
    """A network in training on a device, the average of its weights, and a copy of that which outlasts the device."""

    def __init__(self, recipe: dict, start: dict[str, Tensor], device: torch.device) -> None:
        torch.manual_seed(recipe["seed"])
        self.recipe, self.device, self.step, self.loss, self.kept = recipe, device, 0, math.nan, {}
        self._rng = np.random.default_rng([recipe["seed"], 1])
        self.model = build_network(recipe, start).to(device, memory_format=torch.channels_last).train()
        self._optimizer = torch.optim.AdamW(param_groups_weight_decay(self.model, 0.01), lr=0.0)
        self._live = {name: each for name, each in self.model.state_dict().items() if each.is_floating_point()}
        self._mean = {name: each.detach().clone() for name, each in self._live.items()}

    def train(self, pictures: dict[str, list[Picture]], steps: int, seconds: float) -> None:
        """Train for some steps or seconds, whichever are over first."""
        began, kept, losses = time.monotonic(), time.monotonic(), []
        while self.step < steps and (elapsed := time.monotonic() - began) < seconds:
            done = max(self.step / steps, elapsed / seconds)
            losses.append(self._train_step(draw_batch(self.recipe, pictures, self._rng), done))
            if self.step % LOG_STEPS == 0 or self.step == steps:
                self.loss = float(torch.stack(losses[-LOG_STEPS:]).mean())
                if not math.isfinite(self.loss):
                    raise RuntimeError("the loss is no number any more; lower learning_rate")
                print(f"step {self.step}, {elapsed:.0f} s: loss {self.loss:.4f}", flush=True)
            if time.monotonic() - kept > KEEP_S:
                self.keep()
                kept = time.monotonic()
        self.keep()

    def keep(self) -> None:
        """Copy the average from the device."""
        weights = {**self.model.state_dict(), **self._mean}
        self.kept = {name: each.detach().to("cpu", copy=True).contiguous() for name, each in weights.items()}

    def forward(self, images: Tensor) -> Tensor:
        """Return logits, (batch, 1, height, width), float32."""
        kind = self.device.type
        with torch.autocast(kind, torch.bfloat16, enabled=kind != "cpu"):
            return self.model(images.contiguous(memory_format=torch.channels_last)).float()

    def _train_step(self, batch: tuple[Tensor, Tensor], done: float) -> Tensor:
        recipe = self.recipe
        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(done, recipe["learning_rate"], recipe["warm_up_fraction"])
        self._optimizer.zero_grad(set_to_none=True)
        loss = loss_of(self.forward(batch[0]), batch[1], recipe["center_line_weight"])
        loss.backward()
        self._optimizer.step()
        self.step += 1
        kept = min(recipe["averaging"], self.step / (self.step + 9))
        with torch.no_grad():
            torch._foreach_lerp_(list(self._mean.values()), list(self._live.values()), 1 - kept)
        return loss.detach()

    @torch.inference_mode()
    def scores(self, pictures: list[Picture], tolerances_m: dict[str, float]) -> dict:
        """Return relaxed F1 by source at THRESHOLDS of the average, and the share of false road without roads."""
        self.model.load_state_dict(self.kept)
        self.model.eval()
        f1, false = {}, np.zeros(len(THRESHOLDS))
        for source in dict.fromkeys(each.record["source"] for each in pictures):
            there = [each for each in pictures if each.record["source"] == source]
            rng, counts = np.random.default_rng(0), np.zeros((5, len(THRESHOLDS)))
            for number in range(SQUARES):
                counts += self._counts(there[number * len(there) // SQUARES], tolerances_m.get(source, 3.0), rng)
            predicted, correct, true, found, pixels = counts
            if source in tolerances_m:
                precision, recall = correct / np.maximum(1, predicted), found / np.maximum(1, true)
                f1[source] = 2 * precision * recall / np.maximum(1e-9, precision + recall)
            elif source == "roadless":
                false = predicted / np.maximum(1, pixels)
        return {"f1": f1, "false_share": false}

    def _counts(self, picture: Picture, tolerance_m: float, rng: Rng) -> np.ndarray:
        resolution_m, record = self.recipe["resolution_m"], picture.record
        step_px, shape = resolution_m / record["pixel_m"], np.array(picture.host.shape)
        side = max(32, min(SIDE_PX, int(shape.min() / step_px) // 32 * 32))
        inner = np.minimum(side * step_px, shape) / 2
        center = np.clip(known_place(picture, rng), inner, shape - inner)
        statistics = np.array(record["mean"]), np.array(record["deviation"])
        image, bits = resample(picture, center, step_px, 0.0, side, *statistics)
        probability, radius_px = self.forward(image[None])[0, 0].sigmoid(), tolerance_m / resolution_m
        true, counted = bits & TRUE_ROAD > 0, bits & TRUE_IGNORED == 0
        near_true, near = dilated(true.float(), radius_px) > 0, dilated(probability, radius_px)
        of_pixels = ((probability, counted), (probability, counted & near_true), (near, true))
        predicted, correct, found = (
            [int((values[where] >= threshold).sum()) for threshold in THRESHOLDS] for values, where in of_pixels
        )
        ones = np.ones(len(THRESHOLDS))
        return np.array([predicted, correct, int(true.sum()) * ones, found, int(counted.sum()) * ones])


def dilated(values: Tensor, radius_px: float) -> Tensor:
    """Return the greatest value within a radius of each pixel, (height, width)."""
    height, reach = len(values), int(radius_px)
    padded = functional.pad(values[None], (0, 0, reach, reach))
    found = values
    for row in range(-reach, reach + 1):
        width = int(math.sqrt(radius_px**2 - row**2))
        there = functional.max_pool2d(padded[:, reach + row : reach + row + height], (1, 2 * width + 1), 1, (0, width))
        found = torch.maximum(found, there[0])
    return found


def save_weights(folder: Path, name: str, weights: dict[str, Tensor], told: dict) -> None:
    """Write weights in half precision, in several files where they take more than MAX_FILE_BYTES."""
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for key, each in weights.items():
        tensor = each.half() if each.is_floating_point() else each
        size += tensor.nbytes + 200  # for its place in the header
        if size > MAX_FILE_BYTES and parts[-1]:
            parts, size = [*parts, {}], tensor.nbytes
        parts[-1][key] = tensor
    for number, part in enumerate(parts):
        beside = folder / f"{name}.part"
        save_file(part, beside, metadata={"told": json.dumps(told)})
        beside.replace(folder / (f"{name}.safetensors" if number == 0 else f"{name}.{number}.safetensors"))


def row_of(scores: dict, without: str) -> dict:
    """Return scores at the threshold that is best for the mean of the sources that it learned from."""
    known = [values for source, values in scores["f1"].items() if source != without]
    best = int(np.mean(known, axis=0).argmax()) if known else 0
    return {
        "threshold": float(THRESHOLDS[best]),
        "f1": {source: round(float(values[best]), 4) for source, values in scores["f1"].items()},
        "best_f1": {source: round(float(values.max()), 4) for source, values in scores["f1"].items()},
        "false_share": round(float(scores["false_share"][best]), 5),
        "f1_by_threshold": {source: np.round(values, 4).tolist() for source, values in scores["f1"].items()},
    }


def run(
    stages: list[dict],
    pack: tuple[dict, list[Picture]],
    without: str,
    start: dict[str, Tensor],
    steps: int,
    seconds: float,
) -> tuple[dict[str, Tensor], dict]:
    """Train recipes one after the other, and return the weights, empty if there are none yet, and what is known."""
    manifest, pictures = pack
    learned: dict[str, list[Picture]] = {}
    for each in pictures:
        if not each.record["is_held_out"] and each.record["source"] != without:
            learned.setdefault(each.record["source"], []).append(each)
    scored = [each for each in pictures if each.record["is_held_out"] or each.record["source"] == without]
    began, kept, told, training = time.monotonic(), {}, {"state": "done", "steps": 0}, None
    try:
        for recipe in stages:
            share = recipe["steps"] / sum(each["steps"] for each in stages)
            training = Training(recipe, kept or start, pictures[0].pixels.device)
            training.train(learned, max(1, round(steps * share)), 0.9 * seconds * share)
            told["steps"] += training.step
            kept = training.kept
        told |= {"loss": round(training.loss, 4), **row_of(training.scores(scored, manifest["tolerance_m"]), without)}
    except (RuntimeError, MemoryError) as error:  # memory is short, or a device is gone
        kept = training.kept or kept if training else kept
        told["state"] = f"cut off: {(str(error) or type(error).__name__).splitlines()[0]}"
    minutes = round((time.monotonic() - began) / 60, 2)
    learned_from = {source: len(there) for source, there in learned.items()}
    return kept, {**told, "minutes": minutes, "learned_from": learned_from, "stages": stages}


def stages_of(name: str, seed: int, recipes: dict[str, dict], changes: list[str]) -> list[dict]:
    """Return the recipes whose names are joined by +, with changes; raises SystemExit if one of these is not known."""
    changed = {each.partition("=")[0]: each.partition("=")[2] for each in changes}
    try:
        for key, text in changed.items():
            changed[key] = json.loads(text if text[:1] in "-0123456789.[{" else json.dumps(text))
        found = [{**recipes[each], **changed, "seed": recipes[each]["seed"] + 1000 * seed} for each in name.split("+")]
        for key, value in changed.items():
            former = recipes[name.split("+")[0]][key]
            if isinstance(value, (int, float)) != isinstance(former, (int, float)):
                raise ValueError(f"{key} is not of the kind of {former!r}")
    except (KeyError, ValueError) as error:
        raise SystemExit(f"The pack has no such recipe or hyperparameter: {error}. Recipes: {[*recipes]}.") from error
    return found


def main() -> None:
    """Train all runs; what was trained is kept where the device fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=Path)
    parser.add_argument("out", type=Path, help="folder for the results")
    parser.add_argument("--start", type=Path, help="safetensors of an encoder or a network; none: random weights")
    parser.add_argument("--recipes", nargs="+", default=["imagenet+styled"], help="of the pack")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--without", nargs="+", default=["none"], help="the source that each run leaves out")
    parser.add_argument("--minutes", type=float, default=8.0, help="for all runs together")
    parser.add_argument("--steps", type=int, default=10**9, help="of each run at most")
    parser.add_argument("--set", nargs="*", default=[], help="hyperparameters of all recipes, such as batch_size=32")
    arguments = parser.parse_args()
    began = time.monotonic()
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    try:
        start = load_file(arguments.start) if arguments.start else {}
    except (OSError, SafetensorError) as error:
        raise SystemExit(f"--start {arguments.start} cannot be read: {error}. Choose a safetensors file.") from error
    try:
        pack = read_pack(arguments.pack, device)
    except RuntimeError as error:
        raise SystemExit(
            f"The pack does not fit into the memory of {device}, or the device is gone: {error}"
        ) from error
    sources = {each.record["source"] for each in pack[1]}
    if unknown := set(arguments.without) - sources - {"none"}:
        raise SystemExit(f"--without: the pack has no source {', '.join(sorted(unknown))}, only {sorted(sources)}.")
    choices = product(arguments.recipes, arguments.seeds, arguments.without)
    runs = [
        (stages_of(name, seed, pack[0]["recipes"], arguments.set), seed, without) for name, seed, without in choices
    ]
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(f"{device}: {len(pack[1])} images, read in {time.monotonic() - began:.0f} s", flush=True)
    rows: list[dict] = []
    for number, (stages, seed, without) in enumerate(runs):
        seconds = (60 * arguments.minutes - (time.monotonic() - began)) / (len(runs) - number)
        weights, told = run(stages, pack, without, start, arguments.steps, max(1.0, seconds))
        told = {"run": number, "seed": seed, "without": without, "device": str(device), **told}
        if weights:
            save_weights(arguments.out, f"run{number}", weights, told)
        rows.append(told)
        (arguments.out / "results.json").write_text(json.dumps(rows, indent=1))
        f1 = ", ".join(f"{source} {value:.3f}" for source, value in told.get("f1", {}).items())
        print(
            f"run {number}, seed {seed}, without {without}: {told['state']}; {told['steps']} steps; F1 {f1}", flush=True
        )
        if told["state"] != "done":
            kept = "its last weights are kept" if weights else "it has no weights yet"
            raise SystemExit(f"Run {number} of {len(runs)} was {told['state']}; {kept}, and the runs before it.")


if __name__ == "__main__":
    main()
