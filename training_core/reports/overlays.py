"""Overlays: pictures of an image with its labels, and with what a model found and missed, for reports on a model.

Scope: panels and their colors. Independent of the rest of a page.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..comparison.evaluation import Panel
from ..geodata.pixel_codes import IGNORE, ROAD, reaches
from ..jobs import Job
from ..models.engines import Engine
from ..system import processor
from .colors import FAINT, FALSE_ALARM_COLOR, HIT_COLOR, MISS_COLOR, YELLOW, rgb
from .page import ReportRecord, write_page

_MAX_PANEL_PX = 512
LABEL_COLOR, UNKNOWN_COLOR = YELLOW, FAINT
_DIMMED, _HATCH_PX = 0.6, 9
# The colors of overlays by their meaning.
_LEGEND = {
    "drawn road": LABEL_COLOR,
    "true positive (found)": HIT_COLOR,
    "false negative (missed)": MISS_COLOR,
    "false positive (false alarm)": FALSE_ALARM_COLOR,
    "predicted on unlabeled ground": UNKNOWN_COLOR,
}


@dataclass(frozen=True, kw_only=True)
class ModelRecord(ReportRecord):
    """The content of every report on a model: also the engine, and the probability from which a pixel is road."""

    engine: Engine[Any]
    threshold: float
    panels: Sequence[Panel] = ()
    hardware: str = field(default_factory=processor.name)


def write_model_page(template: str, path: Path, job_type: type[Job], record: ModelRecord, **values: Any) -> None:
    """Write a report on a model, with its panels; see `page.write_page`."""
    panels = [_pictures_of(panel, record.threshold) for panel in record.panels]
    write_page(template, path, job_type, record, panels=panels, legend=_LEGEND, **values)


def _pictures_of(panel: Panel, threshold: float) -> dict[str, Any]:
    """Return a panel's caption, and its pictures as data URLs by name."""
    image, truth, probability = map(reduced, (panel.image, panel.truth, panel.probability))
    prediction = prediction_overlay(image, truth, reaches(probability, threshold))
    pictures = {"image": image, "labels": label_overlay(image, truth), "prediction": prediction}
    return {"caption": panel.caption, "pictures": {name: data_url(picture) for name, picture in pictures.items()}}


def label_overlay(image: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return an image with its labels: road tinted, ignored pixels dimmed and hatched.

    Both pictures are (height, width, 3) uint8; truth is (height, width), uint8: 0 background, 1 road, 255 ignored.
    """
    picture = _dimmed(image, truth == IGNORE)
    return _tinted(picture, truth == ROAD, LABEL_COLOR, 0.6)


def prediction_overlay(image: np.ndarray, truth: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return an image with true positives, false negatives and false positives, and predictions on ignored pixels.

    Pictures and truth are as for `label_overlay`. The mask of predicted road is (height, width) bool.
    """
    is_road, ignored = truth == ROAD, truth == IGNORE
    picture = _dimmed(image, ignored)
    picture = _tinted(picture, mask & ignored, UNKNOWN_COLOR, 0.45)
    picture = _tinted(picture, mask & is_road, HIT_COLOR, 0.7)
    picture = _tinted(picture, ~mask & is_road, MISS_COLOR, 0.75)
    return _tinted(picture, mask & ~is_road & ~ignored, FALSE_ALARM_COLOR, 0.75)


def reduced(pixels: np.ndarray) -> np.ndarray:
    """Return every n-th row and column of pixels, (height, width, ...) any dtype; no side exceeds 512 pixels."""
    step = max(1, -(-max(pixels.shape[:2]) // _MAX_PANEL_PX))
    return pixels[::step, ::step]


def data_url(picture: np.ndarray, form: str = "png") -> str:
    """Return a (height, width, 3) uint8 picture as a file in a URL: png, or jpeg, which is smaller and not exact."""
    from matplotlib.image import imsave  # takes half a second to load, and only reports need it

    file = io.BytesIO()
    imsave(file, np.ascontiguousarray(picture), format=form)
    return f"data:image/{form};base64," + base64.b64encode(file.getvalue()).decode("ascii")


def _tinted(image: np.ndarray, where: np.ndarray, color: str, strength: float) -> np.ndarray:
    picture = image.copy()
    picture[where] = np.rint(image[where] * (1 - strength) + np.array(rgb(color)) * strength).astype(np.uint8)
    return picture


def _dimmed(image: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the image dimmed, desaturated and hatched where it is ignored."""
    # Pixels on every ninth diagonal are lighter, which hatches the area.
    row, column = np.arange(where.shape[0])[:, None], np.arange(where.shape[1])
    light = np.where((row + column) % _HATCH_PX == 0, 0.95, _DIMMED)[..., None]
    gray = 0.6 * image.mean(axis=2, keepdims=True) + 0.4 * image
    return np.where(where[..., None], np.rint(gray * light), image).astype(np.uint8)
