"""The settings of a region's prediction, chosen once: engine, precision, halo, sizes of tiles and blocks.

A choice by timing may differ the next time, and its blocks would not fit the existing ones. So the choice is kept in
the job's folder, and a job of the same model and options takes it up again. Scope: choosing and keeping. Independent of
scenes' contents.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Optional

from torch import nn

from ..events import Reporter
from ..jobs import MapRegion, SegmentOptions
from ..models.engines import why_not
from ..models.model_card import ModelCard
from ..models.onnx_file import OnnxModel
from ..segmentation.segmenter import prepare_segmenter, seconds_per_px
from ..segmentation.work_plan import ImagePlan
from .prediction import Predicting, model_sha256
from .store import Store, content_key

_KIND = "settings"
# The time that a block's prediction should take, and the sides of blocks, in pixels, to choose from.
_BLOCK_S = 60.0
_SIDES_PX = (1024, 2048, 4096, 8192)
# These options of prediction are taken as the job has them; the others decide which choice is taken up again.
_FROM_JOB = ("threads", "memory_gb", "threshold")
# The kept values, and their types.
_KEPT: dict[str, type] = {"engine": str, "precision": str, "halo_px": int, "core_px": int, "block_px": int}


def choose_settings(
    job: MapRegion,
    model: nn.Module | OnnxModel,
    card: ModelCard,
    sample: Callable[[], ImagePlan],
    job_px: int,
    reporter: Reporter,
) -> tuple[Predicting, int]:
    """Return how blocks are predicted, and the largest side of a block in pixels.

    Parameters
    ----------
    model : Module or OnnxModel
        As `load_model` returned it.
    sample : callable
        Returns an image on which the halo may be measured.
    job_px : int
        Pixels to segment in all.

    Raises
    ------
    RoadSegError
        See `segmentation.segmenter.prepare_segmenter`.
    """
    store = Store(job.folder)
    options = {
        option.name: getattr(job, option.name) for option in fields(SegmentOptions) if option.name not in _FROM_JOB
    }
    sha256 = model_sha256(model)
    key = content_key(sha256, options)
    kept = _read(store, key)
    if kept is None:
        segmenter = prepare_segmenter(model, card, sample(), job, reporter, job_px)
        engine = segmenter.engine
        kept = {
            "engine": engine.name,
            "precision": engine.precision,
            "halo_px": segmenter.halo,
            "core_px": segmenter.core_px,
            "block_px": _side_px(seconds_per_px(segmenter)),
        }
        content = json.dumps(kept).encode("ascii")
        store.write(_KIND, key, ".json", lambda path: path.write_bytes(content))
    else:
        reporter.log(
            f"As in the run before in this folder: engine {kept['engine']}, {kept['precision']}, halo "
            f"{kept['halo_px']} px, tiles of {kept['core_px']} px."
        )
    block_px = kept.pop("block_px")
    predicting = Predicting(
        model=job.model,
        sha256=sha256,
        is_exact=job.halo == "exact",
        threshold=job.threshold or card.threshold,
        test_time_augmentation=job.test_time_augmentation,
        threads=job.threads,
        **kept,
    )
    return predicting, job.block_px or block_px


def _read(store: Store, key: str) -> Optional[dict[str, Any]]:
    """Return the kept settings; None if there are none, or none that can be used here."""
    try:
        held = json.loads(store.path(_KIND, key, ".json").read_text("ascii"))
    except (OSError, ValueError):
        return None
    is_whole = isinstance(held, dict) and {name: type(value) for name, value in held.items()} == _KEPT
    if not is_whole or not 0 <= held["halo_px"] <= 4096 or not 32 <= held["core_px"] <= 32768:
        return None
    if held["block_px"] not in _SIDES_PX:
        return None
    try:
        return None if why_not(held["engine"]) else held
    except KeyError:
        return None


def _side_px(seconds_a_px: float) -> int:
    """Return the side of the largest block that is predicted in time, or the smallest side."""
    return max((side for side in _SIDES_PX if side * side * seconds_a_px <= _BLOCK_S), default=_SIDES_PX[0])
