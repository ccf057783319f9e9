"""Quantization of an ONNX model to INT8 with NNCF.

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
    """Return a model whose layers compute with 8-bit integers, but for some, by the ranges that their numbers have.

    Parameters
    ----------
    model : ModelProto
    images : list of ndarray (1, bands, height, width), float32
        Pieces of images, as the network takes them, on which the ranges are images.
    full_precision : tuple of str
        Parts of the network that keep their precision, as their layers' names tell.
    reporter : Reporter
    """
    seen = 0

    def give(image: np.ndarray) -> dict[str, np.ndarray]:
        nonlocal seen
        reporter.check_cancelled()
        reporter.progress(min(0.7, 0.7 * seen / len(images)), f"Measuring piece {seen + 1} of {len(images)}")
        seen = (seen + 1) % len(images)
        return {INPUT: image}

    with _quiet_nncf() as nncf:
        # The usual range is the mean of the pieces' largest numbers, and what lies beyond is cut off. In a road network
        # that is what the roads of some pieces are told by; so the largest of all counts.
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
    """Give the package NNCF, which tells its makers nothing, and what it prints to standard error."""
    import_openvino()
    with contextlib.redirect_stdout(sys.stderr):
        import nncf

        nncf.set_log_level(logging.ERROR)
        yield nncf
