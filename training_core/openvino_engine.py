"""OpenVINO: runs the ONNX graph of a network on this processor.

Knows OpenVINO and arrays; knows nothing of files, of images, or of what else could run a network.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Optional

import numpy as np

from .errors import ModelFileError
from .onnx_model import INPUT, OnnxNetwork


class CompiledNetwork:
    """A network as OpenVINO runs it.

    Parameters
    ----------
    network : OnnxNetwork
    precision : str
        Number format of what is not quantized: bf16 or fp32.
    threads : int
        Cores to use.
    """

    def __init__(self, network: OnnxNetwork, precision: str, threads: int) -> None:
        openvino = import_openvino()
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": {"bf16": openvino.Type.bf16, "fp32": openvino.Type.f32}[precision],
        }
        try:
            # For all sizes at once: a network for each one is no faster, but takes time and memory for each.
            core = openvino.Core()
            self._compiled = core.compile_model(core.read_model(network.content), "CPU", settings)
        except RuntimeError as error:
            raise _unfit(error) from error

    def probability(self, images: np.ndarray) -> np.ndarray:
        """Return the probability of each pixel.

        Parameters
        ----------
        images : ndarray (batch, bands, height, width), float32
            Normalized; height and width are multiples of 32.

        Returns
        -------
        ndarray (batch, classes, height, width), float32
        """
        try:
            result = self._compiled({INPUT: images})[0]
        except RuntimeError as error:
            raise _unfit(error) from error
        if (result.shape[0], *result.shape[2:]) != (images.shape[0], *images.shape[2:]):
            raise ModelFileError("The ONNX model gives no value for each pixel.", "Choose another model.")
        return result.copy()  # the array belongs to the request, which is used again


def import_openvino() -> ModuleType:
    """Return the package, without the reports of use that it sends to its makers: nothing leaves the machine."""
    sys.modules["openvino_telemetry"] = None
    import openvino

    return openvino


def why_not_openvino() -> Optional[str]:
    """Return why OpenVINO cannot be used here, or None where it can."""
    if importlib.util.find_spec("openvino") is None:
        return "OpenVINO is not installed"
    try:
        import_openvino()
    except Exception as error:  # whatever a broken installation raises
        return f"OpenVINO does not load ({error})"
    return None


def _unfit(error: RuntimeError) -> ModelFileError:
    cause = str(error).strip().splitlines()[-1]
    return ModelFileError(f"OpenVINO cannot run this model: {cause}", "Choose another model or engine.")
