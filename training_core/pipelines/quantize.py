"""The job quantize: a model that computes with 8-bit integers and finds the same roads.

Knows pieces of images, when two models agree well enough, and what to give back where they do not; how numbers are
rounded is NNCF's to know.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Optional

import numpy as np
import torch
from onnx import ModelProto

from ..comparison.mask_apls import mean_apls
from ..errors import ModelFileError
from ..events import Reporter
from ..geodata.pixel_codes import IGNORE, reaches, to_byte
from ..geodata.tiling import round_up
from ..jobs import Quantize
from ..labels.samples import Sample, collect_samples
from ..models.engines import FP32, INT8, Engine, OpenvinoEngine
from ..models.model_card import ModelCard
from ..models.model_file import load_model
from ..models.onnx_file import export_onnx, is_onnx, is_quantized, read_onnx, save_onnx, serialized
from ..models.quantization import quantize_layers
from ..segmentation.pixel_metrics import Confusion
from ..system.outputs import Outputs
from ..system.versions import versions

LARGEST_LOSS, LEAST_AGREEMENT = 0.005, 0.995
# What gets its precision back, one group after the other, until the roads are the same: the ends first, where rounding
# is felt most and which cost next to no speed (benchmarks/README.md). Beyond these there would be little to gain.
FULL_PRECISION_LAYERS = (
    ("encoder/conv1", "segmentation_head", "decoder/blocks.4"),
    ("encoder/layer4", "encoder/layer1"),
    ("decoder/blocks.3", "decoder/blocks.2"),
)


@dataclass(frozen=True)
class Comparison:
    """How a quantized network compares with its original on the pieces that check.

    Parameters
    ----------
    agreement : float
        Share of the pixels that both call road, or both not.
    iou, iou_before : float, optional
        Of the quantized and of the original network, where there are labels.
    apls, apls_before : float, optional
        As well, where the labels show roads that connect; see `maskapls`.
    """

    agreement: float
    iou: Optional[float] = None
    iou_before: Optional[float] = None
    apls: Optional[float] = None
    apls_before: Optional[float] = None

    @property
    def is_good(self) -> bool:
        """Whether the quantized network may stand in for the original."""
        if self.iou is None:
            return self.agreement >= LEAST_AGREEMENT
        keeps_paths = self.apls is None or self.apls_before - self.apls <= LARGEST_LOSS
        return keeps_paths and self.iou_before - self.iou <= LARGEST_LOSS

    def __str__(self) -> str:
        share = f"{self.agreement:.2%} of the pixels stay what they were"
        if self.iou is None:
            return share
        paths = "" if self.apls is None else f"APLS {self.apls:.3f} after {self.apls_before:.3f}, "
        return f"IoU {self.iou:.3f} after {self.iou_before:.3f}, {paths}{share}"


def run(job: Quantize, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Quantize`."""
    torch.set_num_threads(job.threads or torch.get_num_threads())
    with Outputs([job.model, *job.rasters, job.roads, job.aoi]) as outputs:
        path = outputs.stage(job.onnx)
        model, card = _read_model(job.model)
        reporter.progress(0.01, "Reading the images")
        samples = collect_samples(job, card.input, reporter)
        measured, checked = samples[::2], samples[1::2] or samples
        quantized, full_precision, comparison = _quantize(model, card, measured, checked, reporter)
        quantization = {
            "measured_on": len(measured),
            "checked_on": len(checked),
            "full_precision": list(full_precision),
            **{name: value for name, value in asdict(comparison).items() if value is not None},
        }
        card = replace(card, quantization=quantization, versions={**card.versions, **versions()})
        save_onnx(path, quantized, card, round_up(job.tile_px))
        megabytes = path.stat().st_size / 1e6
    return {"onnx": job.onnx, **quantization, "megabytes": megabytes}


def _read_model(path: str) -> tuple[ModelProto, ModelCard]:
    if not is_onnx(path):
        network, card = load_model(path)
        return export_onnx(network), card
    model, card = read_onnx(path)
    if is_quantized(model):
        raise ModelFileError(f"{path} is quantized already.", "Choose the model that it was made from.")
    return model, card


def _quantize(
    model: ModelProto, card: ModelCard, measured: list[Sample], checked: list[Sample], reporter: Reporter
) -> tuple[ModelProto, tuple[str, ...], Comparison]:
    """Return the model quantized, the parts of it that were given back, and how it compares.

    Raises
    ------
    ModelFileError
        It does not find the same roads whatever is given back.
    """
    before = _predict(model, OpenvinoEngine(FP32), checked, reporter)
    rounds = len(FULL_PRECISION_LAYERS) + 1
    for count in range(rounds):
        part = reporter.part(0.05 + 0.94 * count / rounds, 0.05 + 0.94 * (count + 1) / rounds)
        full_precision = tuple(name for group in FULL_PRECISION_LAYERS[:count] for name in group)
        quantized = quantize_layers(model, [sample.images for sample in measured], full_precision, part)
        after = _predict(quantized, OpenvinoEngine(INT8), checked, part)
        comparison = compare(before, after, checked, card, part)
        reporter.log(f"In full precision: {', '.join(full_precision) or 'nothing'}; {comparison}.")
        if comparison.is_good:
            return quantized, full_precision, comparison
    raise ModelFileError(
        f"This model does not find the same roads with 8-bit integers on these images: {comparison}, even with "
        f"{', '.join(full_precision)} in full precision.",
        "Use it as it is, or train it for longer; with more chips, or images of another place, it may come out better.",
    )


def _predict(model: ModelProto, engine: Engine, samples: list[Sample], reporter: Reporter) -> list[np.ndarray]:
    """Return the probability bytes of each piece."""
    prepared = engine.prepare_inference(serialized(model))
    found = []
    for sample in samples:
        reporter.check_cancelled()
        probability = engine.probability(prepared, torch.from_numpy(sample.images))[0, 0].numpy()
        found.append(to_byte(probability, sample.known))
    return found


def compare(
    before: list[np.ndarray], after: list[np.ndarray], samples: list[Sample], card: ModelCard, reporter: Reporter
) -> Comparison:
    """Return how two networks' probability bytes of the same pieces compare at a model's threshold."""
    threshold = card.threshold
    known = np.concatenate([sample.known.ravel() for sample in samples])
    masks = [reaches(np.concatenate([each.ravel() for each in found])[known], threshold) for found in (before, after)]
    agreement = float((masks[0] == masks[1]).mean())
    if samples[0].truth is None:
        return Comparison(agreement)
    truths = [np.where(sample.known, sample.truth, IGNORE) for sample in samples]
    ious, apls = [], []
    for found in (before, after):
        confusion = Confusion()
        for probability, truth in zip(found, truths):
            confusion.add(probability, truth)
        ious.append(confusion.scores(threshold).iou)
        apls.append(mean_apls(found, truths, threshold, card.resolution_m, reporter))
    return Comparison(agreement, ious[1], ious[0], apls[1], apls[0])
