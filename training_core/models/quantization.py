"""Post-training quantization of an ONNX model to INT8 with NNCF.

Scope: ONNX models and calibration images as arrays. Independent of how the images were chosen.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import ModelProto

from ..events import Reporter
from .onnx_file import INPUT
from .openvino_model import import_openvino


def quantize_layers(
    model: ModelProto, images: list[np.ndarray], full_precision: tuple[str, ...], reporter: Reporter
) -> ModelProto:
    """Quantize the layers of a model to INT8, with ranges of activations measured on calibration images.

    The images, (1, bands, height, width), float32, are normalized and padded. Layers whose names have parts in
    `full_precision`, such as `encoder/conv1`, stay.
    """
    seen = 0

    # NNCF passes through the images more than once, so the count begins again with each pass.
    def give(image: np.ndarray) -> dict[str, np.ndarray]:
        nonlocal seen
        reporter.check_cancelled()
        reporter.progress(min(0.7, 0.7 * seen / len(images)), f"Measuring piece {seen + 1} of {len(images)}")
        seen = (seen + 1) % len(images)
        return {INPUT: image}

    with _quiet_nncf() as nncf:
        # By default a range ends at the mean of the images' maxima, and larger activations are clipped. The model needs
        # these to detect the roads of some images, so the range ends at the maximum over all images.
        whole = nncf.AdvancedQuantizationParameters(
            activations_range_estimator_params=nncf.quantization.range_estimator.RangeEstimatorParametersSet.MINMAX
        )
        return nncf.quantize(
            model,
            nncf.Dataset(images, give),
            subset_size=len(images),
            ignored_scope=nncf.IgnoredScope(patterns=[f".*/{part}/.*" for part in full_precision], validate=False),
            advanced_parameters=whole,
        )


@contextlib.contextmanager
def _quiet_nncf() -> Iterator[Any]:
    """Import the package NNCF with its telemetry switched off and its output sent to standard error."""
    import_openvino()
    with contextlib.redirect_stdout(sys.stderr):
        import nncf

        nncf.set_log_level(logging.ERROR)
        yield nncf
