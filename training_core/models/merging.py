"""Merging models that began from the same base: what must be the same, the weighted average, and new statistics.

Models that were fine-tuned from one base stay close enough to each other for their weights to be averaged (federated
averaging: McMahan et al., 2017, Communication-efficient learning of deep networks from decentralized data). Models of
different bases do not: their filters are in another order.

Scope: cards, weights and arrays. Independent of files.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import update_bn

from ..errors import ImageryError, ModelFileError, shown
from ..geodata.rasters import IMAGE, Band
from ..geodata.tiling import STRIDE_PX
from .architectures import Architecture
from .model_card import ModelCard

# Ground resolutions may differ by this fraction: grids have whole pixels.
RESOLUTION_TOLERANCE = 0.02
# A band may deviate from the common one by this factor in its standard deviation, and by this many deviations in its
# mean.
FURTHEST_SCALING = 4.0
BATCH_SIZE = 4  # of the chips on which statistics are measured
# Members of the cards that must be the same in models that are merged.
_COMPARED: dict[str, Callable[[ModelCard], object]] = {
    "architectures": lambda card: card.architecture.name,
    "encoders": lambda card: card.architecture.encoder,
    "decoders": lambda card: card.architecture.decoder_channels,
    "bands": lambda card: card.band_names,
    "classes": lambda card: [f"{each.name} {each.speed_kmh:g} km/h" for each in card.classes],
    "normalizations": lambda card: card.scaling,
}


def check_mergeable(first: tuple[str, ModelCard], other: tuple[str, ModelCard]) -> str:
    """Check that two models, each a file's path and a card, have the same network, input and base.

    Return a warning if the base is known by its name alone. Raises ModelFileError if they differ, or one has no base.
    """
    for path, card in (first, other):
        if not any(_base(card)):
            raise ModelFileError(
                f"{path} names no base model: it was trained from random weights. Weights of models without a common "
                "base have nothing in common, and cannot be averaged.",
                "Choose models that Fine-tune a model made from one base model.",
            )
    for what, one, another in _differences(first[1], other[1]):
        raise ModelFileError(
            f"{first[0]} and {other[0]} cannot be merged: their {what} differ ({one}; {another}).",
            "Choose models of the same kind, fine-tuned from one base model.",
        )
    if all(_base(card)[1] for _, card in (first, other)):
        return ""
    return (
        f"{first[0]} or {other[0]} comes from an older version, and gives only the name of its base model, "
        f"{shown(_base(first[1])[0])}. If the base models are different files of that name, the merged model is "
        "useless."
    )


def _base(card: ModelCard) -> tuple[str, str]:
    """Return name and digest of a model's base; empty where the card lacks them."""
    name, digest = (card.training.get(key) for key in ("base_model", "base_sha256"))
    return (name if isinstance(name, str) else "", digest if isinstance(digest, str) else "")


def _differences(first: ModelCard, other: ModelCard) -> Iterable[tuple[str, str, str]]:
    """Yield each difference between two models, in words for messages: the property and both values."""
    for what, of in _COMPARED.items():
        if of(first) != of(other):
            yield what, shown(of(first)), shown(of(other))
    if not math.isclose(first.resolution_m, other.resolution_m, rel_tol=RESOLUTION_TOLERANCE):
        yield "ground resolutions", f"{first.resolution_m:.4g} m", f"{other.resolution_m:.4g} m"
    (name, digest), (other_name, other_digest) = map(_base, (first, other))
    if (digest != other_digest) if digest and other_digest else (name != other_name):
        yield "base models", f"{shown(name)} {digest[:12]}".strip(), f"{shown(other_name)} {other_digest[:12]}".strip()


def learned_px(card: ModelCard) -> int:
    """Return how many labeled pixels a model can have seen in training, its weight in an average; 0 if unknown.

    That is the labeled pixels of its images, or the pixels of all chips of all steps, whichever are fewer: a large area
    does not count where few steps were taken, nor do many steps on a small one.
    """
    labeled_px = _count(card.training, "labeled_px")
    taken = [_count(card.training, key) for key in ("steps", "batch_size", "accumulation")]
    return min(labeled_px, math.prod(taken) * card.chip_px**2) if all(taken) else labeled_px


def _count(training: dict[str, Any], key: str) -> int:
    """Return a count in an untrusted card; 0 where it is missing."""
    value = training.get(key)
    return value if type(value) is int and 0 < value < 1 << 62 else 0


def common_bands(cards: list[ModelCard], fractions: list[float], paths: list[str]) -> tuple[Band, ...]:
    """Return the bands of a merged model: mean and deviation of all training images together.

    The models have the same bands. The sum of their fractions is 1. Raises ModelFileError if values of a band are too
    different for one normalization.
    """
    merged = []
    for number, band in enumerate(cards[0].bands):
        bands = [card.bands[number] for card in cards]
        # The variance of all values together: within each model's images, and between their means.
        mean = sum(fraction * each.mean for fraction, each in zip(fractions, bands))
        variance = sum(fraction * (each.std**2 + (each.mean - mean) ** 2) for fraction, each in zip(fractions, bands))
        common = Band(band.name, mean, math.sqrt(variance))
        if cards[0].scaling != IMAGE and not all(_is_near(each, common) for each in bands):
            ranges = [f"{each.mean:.4g} ± {each.std:.4g} in {path}" for path, each in zip(paths, bands)]
            raise ModelFileError(
                f"The models were trained on values of different ranges in the band {shown(band.name)}: "
                f"{', '.join(ranges)}.",
                "Merge models of images of the same bit depth and processing.",
            )
        merged.append(common)
    return tuple(merged)


def _is_near(band: Band, common: Band) -> bool:
    ratio, shift = common.std / band.std, (common.mean - band.mean) / band.std
    return 1 / FURTHEST_SCALING <= ratio <= FURTHEST_SCALING and abs(shift) <= FURTHEST_SCALING


def rescaled(
    weights: dict[str, Tensor], architecture: Architecture, old: tuple[Band, ...], new: tuple[Band, ...]
) -> dict[str, Tensor]:
    """Return weights, (...), float32 or int64, that compute the same of values with another normalization.

    Only the image's border differs. The first convolution takes on the other scale, and the batch normalization after
    it, or its bias, the other mean.
    """
    if old == new:
        return weights
    ratios = torch.tensor([after.std / before.std for before, after in zip(old, new)], dtype=torch.float64)
    shifts = torch.tensor([(after.mean - before.mean) / before.std for before, after in zip(old, new)]).double()
    first, normalization = f"{architecture.first_layer}.weight", architecture.first_normalization
    filters = weights[first].double()
    # An old value is ratio * new value + shift. The ratio goes into the filters; the shift adds a constant to each
    # output channel, which the running mean subtracts.
    constant = (filters.sum(dim=(2, 3)) * shifts).sum(dim=1)
    offset = f"{normalization}.running_mean"
    return {
        **weights,
        first: (filters * ratios[:, None, None]).float(),
        offset: (weights[offset].double() - constant).float(),
    }


def average_weights(models: Iterable[tuple[float, dict[str, Tensor]]]) -> dict[str, Tensor]:
    """Return the weighted average of weights, (...), float32 or int64, summed in FP64, and the largest counts.

    Each model comes with its weight in the average. The sum of these is 1.
    """
    total: dict[str, Tensor] = {}
    for fraction, weights in models:
        for name, tensor in weights.items():
            if not tensor.is_floating_point():
                total[name] = torch.maximum(total.get(name, tensor), tensor)
            elif name in total:
                total[name].add_(tensor.double(), alpha=fraction)
            else:
                total[name] = tensor.double() * fraction
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in total.items()}


def measure_statistics(model: nn.Module, chips: Sequence[np.ndarray], check: Callable[[], None]) -> int:
    """Replace a model's statistics of batch normalization by their means over batches of chips; return their number.

    Averaged weights need new statistics. Chips are (1, bands, height, width) float32, normalized. `check` is called
    before each batch. Chips of one stride do not count: they become a single pixel in the deepest layer, which has no
    deviation. Raises ImageryError if all chips are so small.
    """
    by_shape: defaultdict[tuple[int, ...], list[np.ndarray]] = defaultdict(list)
    for chip in chips:
        if chip[0, 0].size > STRIDE_PX**2:
            by_shape[chip.shape].append(chip)
    if not by_shape:
        raise ImageryError("The images are too small to measure batch normalization on.", "Choose other images.")

    def batches() -> Iterator[Tensor]:
        for alike in by_shape.values():
            count = -(-len(alike) // BATCH_SIZE)
            for first in range(count):  # chips that lie far apart, so that a batch shows several images, as in training
                check()
                batch = torch.from_numpy(np.concatenate(alike[first::count]))
                yield batch.contiguous(memory_format=torch.channels_last)

    update_bn(batches(), model)
    return sum(map(len, by_shape.values()))


def merged_card(
    cards: list[ModelCard], fractions: list[float], paths: list[str], bands: tuple[Band, ...], learned: list[int]
) -> ModelCard:
    """Return the card of a merged model, without scores: nothing has measured it.

    The threshold is the mean of theirs, weighted by fractions with the sum 1, and by image where all are. The halo is
    the largest, or unknown where one is. `learned` counts labeled pixels; 0 where unknown.
    """
    name, digest = next((_base(card) for card in cards if _base(card)[1]), _base(cards[0]))
    images = [card.training.get("images") for card in cards]
    names = {image for each in images if isinstance(each, list) for image in each if isinstance(image, str)}
    attribution = {source: text for card in cards for source, text in card.attribution.items()}
    halos_px = [card.halo_px for card in cards]
    sources = [
        {
            "model": Path(path).name,
            "share": round(fraction, 6),
            "labeled_px": px,
            "steps": _count(card.training, "steps"),
        }
        for path, fraction, px, card in zip(paths, fractions, learned, cards)
    ]
    return replace(
        cards[0],
        bands=bands,
        threshold=sum(fraction * card.threshold for fraction, card in zip(fractions, cards)),
        threshold_by_image=all(card.threshold_by_image for card in cards),
        chip_px=max(card.chip_px for card in cards),
        halo_px=max(halos_px) if all(halos_px) else 0,
        training={
            "merged": sources,
            "images": sorted(names),
            "labeled_px": sum(learned),
            "base_model": name,
            "base_sha256": digest,
            **({"attribution": attribution} if attribution else {}),
            "notes": ["Merged, and not validated since: evaluate it before use."],
        },
        metrics={},
        license=cards[0].license if all(card.license == cards[0].license for card in cards) else "",
    )
