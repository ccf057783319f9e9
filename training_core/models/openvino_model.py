"""OpenVINO: runs the ONNX graph of a network on this processor.

Knows OpenVINO and arrays; knows nothing of files, of images, or of what else could run a network.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Optional

import numpy as np

from ..errors import ModelFileError
from .onnx_file import INPUT, OnnxModel

if TYPE_CHECKING:
    import openvino

_TRIALS = 3
# What takes more to set up must win clearly, so that noise does not decide and the same job is done in the same way.
CLEAR_WIN = 0.95


class OpenvinoModel:
    """A network as OpenVINO runs it. All cores work on one batch, or on several of its images at once.

    Parameters
    ----------
    network : OnnxModel
    precision : str
        Number format of what is not quantized: bf16 or fp32.
    threads : int
        Cores to use.
    """

    def __init__(self, network: OnnxModel, precision: str, threads: int) -> None:
        self._network, self._precision, self._threads = network, precision, threads
        self._whole = self._compile("LATENCY")
        self._shape: tuple[int, ...] = ()
        self._of_shape: Optional[openvino.CompiledModel] = None
        self._side_by_side: Optional[openvino.AsyncInferQueue] = None

    def expect(self, shape: tuple[int, ...]) -> None:
        """Prepare for many batches of one shape, (batch, bands, height, width), which then takes less than the first.

        A network for each shape that there is would take time and memory for each; so it is one at a time.
        """
        if shape != self._shape:
            self._of_shape = None
            self._shape, self._of_shape = shape, self._compile("LATENCY", shape)

    def _compile(self, hint: str, shape: tuple[int, ...] = ()) -> openvino.CompiledModel:
        """Return the network for images of a shape, or of any."""
        openvino = import_openvino()
        settings = {
            "PERFORMANCE_HINT": hint,
            "INFERENCE_NUM_THREADS": self._threads,
            "INFERENCE_PRECISION_HINT": {"bf16": openvino.Type.bf16, "fp32": openvino.Type.f32}[self._precision],
        }
        core = openvino.Core()
        try:
            model = core.read_model(self._network.content)
            if shape:
                model.reshape(list(shape))
            return core.compile_model(model, "CPU", settings)
        except RuntimeError as error:
            raise _unfit(error) from error

    def settle_batches(self, images: np.ndarray) -> tuple[float, float, int]:
        """Find out how batches are computed faster, whole or image beside image, and do it so from here on.

        A part of the cores for each image spares them the waiting for each other after each layer, of which there is
        the more the more cores there are.

        Parameters
        ----------
        images : ndarray (batch, bands, height, width), float32
            A typical batch.

        Returns
        -------
        whole_s, side_by_side_s : float
            What the batch took.
        streams : int
            How many images are computed at once from here on, 1 for none beside others.
        """
        beside = import_openvino().AsyncInferQueue(self._compile("THROUGHPUT"))
        whole_s = side_by_side_s = math.inf
        for _ in range(_TRIALS + 1):  # the first round, which prepares memory, is never the best
            whole_s = min(whole_s, _seconds(lambda: self._whole({INPUT: images})))
            side_by_side_s = min(side_by_side_s, _seconds(lambda: _compute_side_by_side(beside, images)))
        is_clear = len(beside) > 1 and side_by_side_s < CLEAR_WIN * whole_s
        self._side_by_side = beside if is_clear else None
        return whole_s, side_by_side_s, len(beside) if self._side_by_side else 1

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
            if len(images) > 1 and self._side_by_side:
                return _compute_side_by_side(self._side_by_side, images)
            network = self._of_shape if images.shape == self._shape else self._whole
            result = network({INPUT: images})[0]
        except RuntimeError as error:
            raise _unfit(error) from error
        if (result.shape[0], *result.shape[2:]) != (images.shape[0], *images.shape[2:]):
            raise ModelFileError("The ONNX model gives no value for each pixel.", "Choose another model.")
        return result.copy()  # the array belongs to the request, which is used again


def _compute_side_by_side(queue: openvino.AsyncInferQueue, images: np.ndarray) -> np.ndarray:
    """Return the probability of each image, of which as many are computed at once as the queue has room for."""
    results: list[np.ndarray] = [np.empty(0)] * len(images)
    queue.set_callback(lambda request, number: results.__setitem__(number, request.get_output_tensor(0).data.copy()))
    for number in range(len(images)):
        queue.start_async({INPUT: images[number : number + 1]}, number)
    queue.wait_all()
    return np.concatenate(results)


def _seconds(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


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
