"""The settings of a region's prediction, chosen once: engine, precision, halo, sizes of tiles and blocks.

Scope: what is measured on a machine and then kept. Independent of scenes' contents. What is chosen by timing may come
out otherwise the next time, and blocks predicted otherwise would not fit those that are there: so a choice is kept in
the job's folder, and a job of the same model and options takes it up again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any, Optional

from torch import nn

from ..events import Reporter
from ..jobs import MapRegion, SegmentOptions
from ..models.engines import why_not
from ..models.model_card import ModelCard
from ..models.onnx_file import OnnxModel
from ..segmentation.segmenter import prepare_segmenter, seconds_per_px
from ..segmentation.work_plan import ImagePlan
from .prediction import Predicting, model_sha256, predicting_of
from .store import Store, content_key

_KIND = "settings"
# How long the prediction of a block should take, and the sides of blocks, in pixels, among which is chosen.
_BLOCK_S = 60.0
_SIDES_PX = (1024, 2048, 4096, 8192)
# Of the options of prediction, these are taken as the job has them.
_OWN = ("threads", "memory_gb", "threshold")
# What is kept, and of which type.
_KEPT = {"engine": str, "precision": str, "halo_px": int, "core_px": int, "block_px": int}


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
        Returns an image to segment, on which the halo may be measured.
    job_px : int
        Pixels to segment in all.

    Returns
    -------
    predicting : Predicting
    block_px : int

    Raises
    ------
    RoadSegError
        See `segmentation.segmenter.prepare_segmenter`.
    """
    store = Store(job.folder)
    options = {each.name: getattr(job, each.name) for each in fields(SegmentOptions) if each.name not in _OWN}
    sha256 = model_sha256(model)
    key = content_key(sha256, options)
    kept = _read(store, key)
    if kept is None:
        segmenter = prepare_segmenter(model, card, sample(), job, reporter, job_px)
        predicting = predicting_of(segmenter, model, job)
        chosen = {**asdict(predicting), "block_px": _side_px(seconds_per_px(segmenter))}
        content = json.dumps({name: chosen[name] for name in _KEPT}).encode("ascii")
        store.write(_KIND, key, ".json", lambda path: path.write_bytes(content))
        return predicting, job.block_px or chosen["block_px"]
    predicting = Predicting(
        model=job.model,
        sha256=sha256,
        is_exact=job.halo == "exact",
        threshold=job.threshold or card.threshold,
        test_time_augmentation=job.test_time_augmentation,
        threads=job.threads,
        **{name: value for name, value in kept.items() if name != "block_px"},
    )
    reporter.log(
        f"As the run before in this folder: engine {predicting.engine}, {predicting.precision}, halo "
        f"{predicting.halo_px} px, tiles of {predicting.core_px} px."
    )
    return predicting, job.block_px or kept["block_px"]


def _read(store: Store, key: str) -> Optional[dict[str, Any]]:
    """Return the settings that were kept; None where there are none that can be used here."""
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
    """Return the side of the largest block that takes no more than its time; the smallest side at least."""
    return max((side for side in _SIDES_PX if side * side * seconds_a_px <= _BLOCK_S), default=_SIDES_PX[0])
