"""How images of the same ground may differ: colors, haze, blur, sharpening, noise, coarse pixels, JPEG, and style.

Scope: chips as normalized arrays, and features of a network. Independent of where they come from.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import gaussian_filter, zoom
from torch import nn
from torchvision.io import decode_image, encode_jpeg

from scripts.starter.recipe import Recipe

# Of an image of 8 bits that chips are taken for where they are compressed.
_MEAN, _DEVIATION = 110.0, 45.0


def varied(image: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Return an augmented image, (3, height, width), float32 or float64.

    Parameters
    ----------
    image : ndarray (3, height, width), float32
        Of mean 0 and standard deviation 1.
    recipe : Recipe
        Shares of the chips that are augmented in each way.
    """
    image = _detailed(_colored(image, recipe, rng), recipe, rng)
    if rng.random() < recipe.haze_share:
        image = _hazy(image, rng)
    if rng.random() < recipe.noisy_share:
        image = image + rng.normal(0, rng.uniform(0.02, 0.2), image.shape)
    if rng.random() < recipe.jpeg_share:
        image = _compressed(image, int(rng.integers(*recipe.jpeg_qualities)))
    return image


def coarse(image: np.ndarray, factor: float) -> np.ndarray:
    """Return an image as it would be with pixels larger by a factor, enlarged again, of the same shape and dtype.

    Parameters
    ----------
    image : ndarray (3, side, side), float32
    factor : float
        At least 1.
    """
    radius_px = 0.5 * (factor**2 - 1) ** 0.5
    side = image.shape[-1]
    few = max(1, round(side / factor))
    blurred = gaussian_filter(image, (0, radius_px, radius_px))
    small = np.stack([zoom(band, few / side, order=1, grid_mode=True, mode="nearest") for band in blurred])
    return np.stack([zoom(band, side / few, order=1, grid_mode=True, mode="nearest") for band in small])


def recolored(images: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Return the chips of a step, some with the colors of others, or negative.

    A chip gets mean and covariance of its bands between its own and another's (Reinhard et al., "Color transfer between
    images", 2001), so that no source has colors of its own. A negative has bright roads where they were dark.

    Parameters
    ----------
    images : ndarray (batch, 3, side, side), float32
        0 where nothing is known.
    """
    flat = images.reshape(len(images), 3, -1)
    means = flat.mean(2)
    roots = [np.linalg.cholesky(np.cov(chip) + 1e-2 * np.eye(3)) for chip in flat]
    found = images.copy()
    for number, image in enumerate(images):
        if rng.random() < recipe.recolored_share:
            other, part = int(rng.integers(len(images))), rng.uniform(0, 1)
            root = (1 - part) * roots[number] + part * roots[other]
            mean = (1 - part) * means[number] + part * means[other]
            whitened = np.linalg.solve(roots[number], flat[number] - means[number][:, None])
            colored = (root @ whitened + mean[:, None]).reshape(image.shape)
            found[number] = np.where((image != 0).any(0), colored, 0)
        if rng.random() < recipe.negative_share:
            found[number] = -found[number]
    return found


def mix_styles(layer: nn.Module, share: float) -> None:
    """Have a layer mix the style of the chips of a step, mean and deviation of each channel, in a share of the steps.

    Only in training. See Zhou et al., "Domain generalization with MixStyle", ICLR 2021.
    """

    def mix(module: nn.Module, _inputs: object, features: torch.Tensor) -> torch.Tensor:
        if not module.training or torch.rand(()) > share:
            return features
        mean = features.mean((2, 3), keepdim=True).detach()
        deviation = (features.var((2, 3), keepdim=True) + 1e-5).sqrt().detach()
        order = torch.randperm(len(features)).to(features.device)
        own = torch.distributions.Beta(0.3, 0.3).sample((len(features), 1, 1, 1)).to(features)
        normalized = (features - mean) / deviation
        return normalized * deviation.lerp(deviation[order], 1 - own) + mean.lerp(mean[order], 1 - own)

    layer.register_forward_hook(mix)


def _colored(image: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Return the image in gray, with mixed bands, or in its own; with another gamma, gain and bias."""
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
    return image * gain.astype(np.float32) + bias.astype(np.float32)


def _detailed(image: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Return some images blurred or sharpened."""
    if rng.random() >= recipe.disturbed_share:
        return image
    radius_px = rng.uniform(0.4, 1.3)
    blurred = gaussian_filter(image, (0, radius_px, radius_px))
    return blurred + np.float32(rng.uniform(*recipe.detail_range)) * (image - blurred)


def _hazy(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the image under thin haze, denser in some places than in others."""
    _, height, width = image.shape
    density = zoom(rng.uniform(0, 0.6, (4, 4)), (height / 4, width / 4), order=1, grid_mode=True, mode="nearest")
    density = density.astype(np.float32)
    return image * (1 - density) + rng.uniform(0.3, 1.5) * density


def _compressed(image: np.ndarray, quality: int) -> np.ndarray:
    """Return the image as JPEG of that quality gives it back."""
    pixels = torch.from_numpy(np.clip(image * _DEVIATION + _MEAN, 0, 255).astype(np.uint8))
    read = decode_image(encode_jpeg(pixels.contiguous(), quality)).numpy()
    return (read.astype(np.float32) - _MEAN) / _DEVIATION
