"""How wide a halo must be: for the very result of the undivided image, or for nearly all of its mask.

Knows predictors and their reach; knows nothing of files. A tile's edge cuts off what the network would see beyond it,
which tells less the farther away it is. So an image is cut once, and what the cut changes is counted by the distance
from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from torch import nn

from ..errors import JobError
from ..geodata.pixel_codes import to_byte, to_mask
from ..geodata.tiling import STRIDE_PX
from ..models.receptive_field import measure_receptive_field
from .inference import Predictor

# Of a tile's mask, the share that is to be as if the image were undivided.
AGREEMENT = 0.9999
# Core of the tiles for which that is found; of larger ones, less lies near an edge.
CORE_PX = 1024
# Samples on which it is found: their side, and how many of them.
SAMPLE_PX, SAMPLES = 1344, 3
WIDEST_PX = SAMPLE_PX // 2


def exact_halo_px(network: nn.Module, bands: int) -> int:
    """Return the narrowest halo with which tiles give the very result of the undivided image.

    Raises
    ------
    JobError
        There is none: the network looks at the whole image.
    """
    reach = measure_receptive_field(network, bands)
    if reach is None:
        raise JobError(
            "With this model every pixel depends on the whole image, so that no halo (halo) is exact.",
            "Choose auto or a number of pixels.",
        )
    return reach.halo_px


def middles(images: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the middle of each of the largest images, as samples for `sufficient_halo_px`.

    Parameters
    ----------
    images : iterable of (values, known)
        Arrays (bands, height, width) and (height, width).
    """
    for values, known in sorted(images, key=lambda image: -image[1].size)[:SAMPLES]:
        starts = (max(0, (size - SAMPLE_PX) // 2) for size in known.shape)
        rows, columns = (slice(start, start + SAMPLE_PX) for start in starts)
        yield values[:, rows, columns], known[rows, columns]


def sufficient_halo_px(predictor: Predictor, samples: Iterable[tuple[np.ndarray, np.ndarray]], threshold: float) -> int:
    """Return the narrowest halo that leaves at least AGREEMENT of the mask as it is in the undivided image.

    Parameters
    ----------
    predictor : Predictor
    samples : iterable of (values, known)
        Typical pieces of images: arrays (bands, height, width) and (height, width). What is farther from the middle of
        all of them than their edges are is not looked at.
    threshold : float
        Probability from which a pixel is road.
    """
    changed, counted = np.zeros(WIDEST_PX), np.zeros(WIDEST_PX)
    for values, known in samples:
        for at_distance in _changes(predictor, values, known, threshold):
            depth = at_distance.shape[0]
            changed[:depth] += np.nansum(at_distance, axis=1)
            counted[:depth] += np.isfinite(at_distance).sum(axis=1)
    by_distance = changed / np.maximum(1, counted)
    # What all four edges of a core of CORE_PX change, where the halo keeps the cut so far away.
    beyond = 4 / CORE_PX * np.cumsum(by_distance[::-1])[::-1]
    enough = [halo for halo in range(STRIDE_PX, WIDEST_PX, STRIDE_PX) if beyond[halo] <= 1 - AGREEMENT]
    return enough[0] if enough else WIDEST_PX


def _changes(predictor: Predictor, values: np.ndarray, known: np.ndarray, threshold: float) -> Iterator[np.ndarray]:
    """Yield for a cut in the middle, seen from either side, along columns and along rows, what it changes.

    Each is an array (distance from the cut, place along it): 1 changed, 0 not, NaN no data.
    """
    for along, there in ((values, known), (values.transpose(0, 2, 1), known.T)):
        middle = there.shape[0] // 2 // STRIDE_PX * STRIDE_PX
        if not middle:
            continue
        whole = _mask(predictor, along, there, threshold)
        upper = _mask(predictor, along[:, :middle], there[:middle], threshold)
        lower = _mask(predictor, along[:, middle:], there[middle:], threshold)
        for cut, undivided in ((lower, whole[middle:]), (upper[::-1], whole[:middle][::-1])):
            yield np.where(np.isnan(undivided), np.nan, cut != undivided)[:WIDEST_PX]


def _mask(predictor: Predictor, values: np.ndarray, known: np.ndarray, threshold: float) -> np.ndarray:
    """Return 1 for road, 0 for none, and NaN for no data."""
    mask = to_mask(to_byte(predictor.probability(values, known), known), threshold)
    return np.where(known, mask, np.nan)
