"""The job quantize: post-training quantization of a model to INT8, checked to find the same roads.

Scope: calibration and check samples, comparison of two models, layers to keep in full precision. Independent of how
layers are quantized.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Optional

import numpy as np
import torch
from onnx import ModelProto

from ..comparison.path_scores import mean_apls
from ..errors import ModelFileError
from ..events import Reporter
from ..geodata.pixel_codes import IGNORE, reaches, to_byte
from ..geodata.sources import with_sources
from ..geodata.tiling import round_up
from ..jobs import Quantize
from ..labels.labeled_images import read_truth
from ..labels.training_chips import Sample, collect_samples
from ..models.engines import FP32, INT8, Engine, OpenvinoEngine
from ..models.loading import load_graph
from ..models.model_card import ModelCard
from ..models.onnx_file import is_quantized, save_onnx, serialized
from ..models.openvino_model import quantize_layers
from ..segmentation.inference import require_numbers
from ..segmentation.pixel_metrics import Confusion
from ..system import processor
from ..system.machine import versions
from ..system.outputs import Outputs

MAX_LOSS, MIN_AGREEMENT = 0.005, 0.995
# As measured (benchmarks/README.md).
WITHOUT_VNNI = (
    "This processor has no VNNI, which multiplies 8-bit integers. Expect the quantized model to be about twice as fast "
    "here as in FP32; with VNNI it is nearly four times as fast."
)


@dataclass(frozen=True)
class Comparison:
    """Scores of a quantized model and of its original on the check samples.

    Agreement is the fraction of the pixels that both predict alike. IoU is None without labels, APLS if the labels have
    no connected roads; see `mask_apls`.
    """

    agreement: float
    iou: Optional[float] = None
    iou_before: Optional[float] = None
    apls: Optional[float] = None
    apls_before: Optional[float] = None

    @property
    def is_good(self) -> bool:
        """Whether the quantized model may replace the original."""
        if self.iou is None or self.iou_before is None:
            return self.agreement >= MIN_AGREEMENT
        keeps_paths = self.apls is None or self.apls_before is None or self.apls_before - self.apls <= MAX_LOSS
        return keeps_paths and self.iou_before - self.iou <= MAX_LOSS

    def __str__(self) -> str:
        unchanged = f"{self.agreement:.2%} of the pixels unchanged"
        if self.iou is None:
            return unchanged
        paths = "" if self.apls is None else f"APLS {self.apls:.3f} after {self.apls_before:.3f}, "
        return f"IoU {self.iou:.3f} after {self.iou_before:.3f}, {paths}{unchanged}"


def run(job: Quantize, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Quantize`. Raises ModelFileError if the model is quantized already."""
    torch.set_num_threads(job.threads or torch.get_num_threads())
    with Outputs([job.model, *with_sources(job.rasters), *job.masks, job.roads, job.aoi, job.no_road]) as outputs:
        path = outputs.stage(job.onnx)
        model, card = load_graph(job.model)
        if is_quantized(model):
            raise ModelFileError(f"{job.model} is already quantized.", "Choose the model that it was made from.")
        if not processor.has_vnni():
            reporter.log(WITHOUT_VNNI)
        reporter.progress(0.01, "Reading the images")
        wanted = replace(card.input, pixel_m=job.pixel_m)
        truth = read_truth(job, job.aoi, job.rasters, reporter) if job.roads or job.masks else None
        samples = collect_samples(
            job.rasters, wanted, job.chips, round_up(job.chip_px), reporter, truth=truth, seed=job.seed
        )
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


def _quantize(
    model: ModelProto, card: ModelCard, measured: list[Sample], checked: list[Sample], reporter: Reporter
) -> tuple[ModelProto, tuple[str, ...], Comparison]:
    """Return the quantized model, its layers in full precision, and how it compares with the original.

    Raises ModelFileError if it does not find the same roads, with any number of layers in full precision.
    """
    before = _predict(model, OpenvinoEngine(FP32), checked, reporter)
    groups = card.architecture.sensitive_layers
    rounds = len(groups) + 1
    for count in range(rounds):
        part = reporter.part(0.05 + 0.94 * count / rounds, 0.05 + 0.94 * (count + 1) / rounds)
        full_precision = tuple(name for group in groups[:count] for name in group)
        quantized = quantize_layers(model, [sample.images for sample in measured], full_precision, part)
        after = _predict(quantized, OpenvinoEngine(INT8), checked, part)
        comparison = compare(before, after, checked, card, part)
        reporter.log(f"In full precision: {', '.join(full_precision) or 'nothing'}; {comparison}.")
        if comparison.is_good:
            return quantized, full_precision, comparison
    raise ModelFileError(
        f"Quantization to 8-bit integers changes too many roads on these images: {comparison}, even with "
        f"{', '.join(full_precision)} in full precision.",
        "Use the model as it is, or train it for longer. Quantization may succeed with more chips or other images.",
    )


def _predict(model: ModelProto, engine: Engine, samples: list[Sample], reporter: Reporter) -> list[np.ndarray]:
    """Return the probability bytes of each sample."""
    prepared = engine.prepare_inference(serialized(model))
    found = []
    for sample in samples:
        reporter.check_cancelled()
        probability = engine.probability(prepared, torch.from_numpy(sample.images))[0, 0].numpy()
        require_numbers(probability, "The model")
        found.append(to_byte(probability, sample.known))
    return found


def compare(
    before: list[np.ndarray], after: list[np.ndarray], samples: list[Sample], card: ModelCard, reporter: Reporter
) -> Comparison:
    """Compare the predictions of two models on the same samples, all with labels or all without.

    `before` and `after` are probability bytes of the original and of the quantized model, (height, width), uint8; see
    `to_byte`. The card has threshold and resolution.
    """
    threshold = card.threshold
    known = np.concatenate([sample.known.ravel() for sample in samples])
    masks = [reaches(np.concatenate([each.ravel() for each in found])[known], threshold) for found in (before, after)]
    agreement = float((masks[0] == masks[1]).mean())
    truths = [np.where(sample.known, sample.truth, IGNORE) for sample in samples if sample.truth is not None]
    if not truths:
        return Comparison(agreement)
    ious, apls = [], []
    for found in (before, after):
        confusion = Confusion()
        for probability, truth in zip(found, truths):
            confusion.add(probability, truth)
        ious.append(confusion.scores(threshold).iou)
        apls.append(mean_apls(found, truths, threshold, card.resolution_m, reporter))
    return Comparison(agreement, ious[1], ious[0], apls[1], apls[0])
