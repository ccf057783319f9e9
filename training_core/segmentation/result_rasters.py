"""Result rasters: mask, probability and road classes as cloud optimized GeoTIFFs, written tile by tile.

Scope: files, colors, tags and overviews. Independent of models.
"""

from __future__ import annotations

import colorsys
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import numpy as np

from ..geodata.geotiff import BandFile
from ..geodata.grid import Grid
from ..geodata.pixel_codes import CERTAIN, CLASSES_BAND, MASK_BAND, PROBABILITY_BAND, ROAD, to_mask
from ..geodata.road_classes import CLASSES_TAG, RoadClass, to_document
from ..geodata.tiling import Tile
from .inference import Prediction
from .work_plan import Results

ROAD_COLOR = (255, 140, 0, 255)
_DESCRIPTIONS = {"mask": MASK_BAND, "probability": PROBABILITY_BAND, "classes": CLASSES_BAND}


class ResultWriter:
    """Writes the results of an image as its tiles come. A context manager, which finishes the files at its end.

    Road is from the probability `threshold` on. All files get `tags` as metadata.
    """

    def __init__(
        self,
        grid: Grid,
        results: Results,
        threshold: float,
        classes: Sequence[RoadClass] = (),
        tags: Optional[dict[str, str]] = None,
    ) -> None:
        self._threshold = threshold
        self._files: dict[str, BandFile] = {}
        for name, path in results.named().items():
            file = BandFile(Path(path), grid, "average" if name == "probability" else "nearest")
            self._files[name] = file
            file.dataset.set_band_description(1, _DESCRIPTIONS[name])
            if name == "probability":
                file.dataset.scales = (1 / CERTAIN,)
            else:
                colors = class_colors(len(classes)) if name == "classes" else {1: ROAD_COLOR}
                file.dataset.write_colormap(1, {0: (0, 0, 0, 0), **colors})
            own_tags = {CLASSES_TAG: json.dumps(to_document(classes))} if name == "classes" else {}
            file.dataset.update_tags(**own_tags, **(tags or {}))

    def __enter__(self) -> "ResultWriter":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *error: object) -> None:
        for file in self._files.values():
            if kind is None:
                file.finish()
            else:
                file.close()

    def write(self, tile: Tile, prediction: Prediction) -> np.ndarray:
        """Write one tile's core, and return its mask: (height, width) uint8; see `to_mask`."""
        mask = to_mask(prediction.probability, self._threshold)
        for name, file in self._files.items():
            if name == "classes" and prediction.classes is not None:
                file.write(np.where(mask == ROAD, prediction.classes, mask), tile)
            elif name != "classes":
                file.write(mask if name == "mask" else prediction.probability, tile)
        return mask


def class_colors(count: int) -> dict[int, tuple[int, int, int, int]]:
    """Return an RGBA color for each class number, from 1: hues evenly around the circle."""
    colors = {}
    for number in range(count):
        red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(number / count, 0.8, 0.95))
        colors[number + 1] = red, green, blue, 255
    return colors
