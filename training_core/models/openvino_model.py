"""OpenVINO: compiles the ONNX graph of a model for a processor or a device, runs it, and quantizes it (NNCF).

Scope: OpenVINO and arrays. Independent of files, images and other engines.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import math
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ..errors import ModelFileError
from ..events import Reporter
from ..geodata.tiling import STRIDE_PX, tile_grid
from .onnx_model import INPUT, OnnxModel

if TYPE_CHECKING:
    import openvino
    from onnx import ModelProto

_TRIALS = 3
# The shapes of the tiles of an image: within it, at its right, at its bottom and in its corner.
_SHAPES = 4
# Streams must be clearly faster than one batch, so that noise does not decide and jobs are reproducible.
CLEAR_WIN = 0.95


class OpenvinoModel:
    """A model compiled by OpenVINO. All cores work on one batch, or each on one of its images (streams).

    The precision, bf16 or fp32, is that of the layers that are not quantized.
    """

    def __init__(self, model: OnnxModel, precision: str, threads: int) -> None:
        self._model, self._precision, self._threads = model, precision, threads
        self._whole = self._compile("LATENCY")
        self._shape: tuple[int, ...] = ()
        self._of_shape: Optional[openvino.CompiledModel] = None
        self._side_by_side: Optional[openvino.AsyncInferQueue] = None

    def expect(self, shape: tuple[int, ...]) -> None:
        """Compile the model for one shape, (batch, bands, height, width), which makes many batches of it faster.

        Each compiled shape takes time and memory, so only the last one is kept.
        """
        if shape != self._shape:
            self._of_shape = None
            self._shape, self._of_shape = shape, self._compile("LATENCY", shape)

    def timed_graph(self, images: np.ndarray, runs: int) -> openvino.Model:
        """Return the graph as it runs on this processor with images (batch, bands, height, width), float32.

        The `rt_info` of each node has execTimeMcs (its mean over `runs`), layerType, primitiveType and so on.
        """
        timed = self._compile("LATENCY", images.shape, PERF_COUNT=True)
        for _ in range(runs):
            timed({INPUT: images})
        return timed.get_runtime_model()

    def _compile(self, hint: str, shape: tuple[int, ...] = (), **more: Any) -> openvino.CompiledModel:
        """Return the model compiled for images of a shape, or of any if it is empty, with more settings."""
        return _compiled(self._model, "CPU", self._precision, shape, PERFORMANCE_HINT=hint,
                         INFERENCE_NUM_THREADS=self._threads, **more)  # fmt: skip

    def settle_batches(self, images: np.ndarray) -> tuple[float, float, int]:
        """Measure whether batches are faster at once or by parallel streams of images, and do so from here on.

        With streams, cores do not wait for each other after each layer, which takes longer the more cores there are.
        The typical batch is (batch, bands, height, width), float32. Return both times for it in seconds, and the number
        of images that are computed in parallel from here on: 1 for one batch at once.
        """
        streams = import_openvino().AsyncInferQueue(self._compile("THROUGHPUT"))
        whole_s = side_by_side_s = math.inf
        for _ in range(_TRIALS + 1):  # the first round, which allocates memory, is never the fastest
            whole_s = min(whole_s, _seconds(lambda: self._whole({INPUT: images})))
            side_by_side_s = min(side_by_side_s, _seconds(lambda: _compute_side_by_side(streams, images)))
        is_clear = len(streams) > 1 and side_by_side_s < CLEAR_WIN * whole_s
        self._side_by_side = streams if is_clear else None
        return whole_s, side_by_side_s, len(streams) if self._side_by_side else 1

    def probability(self, images: np.ndarray) -> np.ndarray:
        """Return the probability of each pixel and channel, (batch, channels, height, width), float32.

        Images are normalized, (batch, bands, height, width), float32. Height and width are multiples of 32. Raises
        ModelFileError if OpenVINO cannot run the model, or its output has another size than the images.
        """
        try:
            if len(images) > 1 and self._side_by_side:
                return _compute_side_by_side(self._side_by_side, images)
            compiled = self._whole if self._of_shape is None or images.shape != self._shape else self._of_shape
            return _result(compiled, images)
        except RuntimeError as error:
            raise _unfit(error) from error


class SquareModel(OpenvinoModel):
    """A model that takes one square of its side at a time: larger images are computed in squares that overlap."""

    def __init__(self, model: OnnxModel, precision: str, threads: int) -> None:
        super().__init__(model, precision, threads)
        self._side_px = model.side_px

    def expect(self, shape: tuple[int, ...]) -> None:
        """Do nothing: the model is compiled for the shape that it takes."""

    def probability(self, images: np.ndarray) -> np.ndarray:
        """Return the probability of each pixel, (batch, 1, height, width), float32; see `OpenvinoModel`.

        Images are (batch, bands, height, width), float32. A square is padded with 0, the mean, where it is larger than
        its image.
        """
        side_px, (height, width) = self._side_px, images.shape[2:]
        halo_px = square_halo_px(side_px)
        core_px = (side_px - 2 * halo_px) // STRIDE_PX * STRIDE_PX
        result = np.empty((len(images), 1, height, width), np.float32)
        for number, image in enumerate(images):
            # The core of each square is kept; at the image's edge it reaches to the edge.
            for tile in tile_grid(width, height, core_px, halo_px):
                left, top, across, down = tile.read_window
                square = np.zeros((1, len(image), side_px, side_px), np.float32)
                square[0, :, :down, :across] = image[:, top : top + down, left : left + across]
                result[(number, 0, *tile.destination)] = super().probability(square)[(0, 0, *tile.core)]
        return result


class DeviceModel:
    """A model compiled for a device of OpenVINO, for each shape of images, as an NPU demands; the last ones are kept.

    The precision, fp16 or fp32, is that of the layers that are not quantized.
    """

    def __init__(self, model: OnnxModel, precision: str, device: str) -> None:
        compiled = functools.partial(_compiled, model, device, precision, PERFORMANCE_HINT="LATENCY")
        self._of_shape = functools.lru_cache(_SHAPES)(compiled)

    def probability(self, images: np.ndarray) -> np.ndarray:
        """Return the probability of each pixel and channel, (batch, channels, height, width), float32.

        See `OpenvinoModel.probability`.
        """
        try:
            return _result(self._of_shape(images.shape), images)
        except RuntimeError as error:
            raise _unfit(error) from error


def square_halo_px(side_px: int) -> int:
    """Return by how much squares of a side overlap the core of each, in pixels: a quarter, a multiple of the stride."""
    return side_px // 4 // STRIDE_PX * STRIDE_PX


def _compiled(
    graph: OnnxModel, device: str, precision: str, shape: tuple[int, ...], **settings: Any
) -> openvino.CompiledModel:
    """Return a graph compiled for a device, and for images of a shape, or of any if it is empty."""
    openvino = import_openvino()
    formats = {"bf16": openvino.Type.bf16, "fp16": openvino.Type.f16, "fp32": openvino.Type.f32}
    core = openvino.Core()
    try:
        model = core.read_model(graph.content)
        if shape:
            model.reshape(list(shape))
        return core.compile_model(model, device, {**settings, "INFERENCE_PRECISION_HINT": formats[precision]})
    except RuntimeError as error:
        raise _unfit(error) from error


def _result(compiled: openvino.CompiledModel, images: np.ndarray) -> np.ndarray:
    """Return what a compiled model computes; raises ModelFileError if its output has another size than the images."""
    result = compiled({INPUT: images})[0]
    if (result.shape[0], *result.shape[2:]) != (images.shape[0], *images.shape[2:]):
        raise ModelFileError("The ONNX model does not return a value for each pixel.", "Choose another model.")
    return result.copy()  # the request, to which the array belongs, is reused


def _compute_side_by_side(queue: openvino.AsyncInferQueue, images: np.ndarray) -> np.ndarray:
    """Return the probability of each image; as many are computed at once as the queue has streams."""
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
    """Import the package with its telemetry switched off: nothing leaves the machine."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # Python then refuses to import it
    import openvino

    return openvino


def why_not_openvino() -> Optional[str]:
    """Return why OpenVINO cannot be used here, or None where it can."""
    if not all(map(importlib.util.find_spec, ("openvino", "onnx"))):  # networks come by way of ONNX
        return "OpenVINO is not installed"
    try:
        import_openvino()
    except Exception as error:  # a broken installation may raise anything
        return f"OpenVINO does not load ({error})"
    return None


def why_not_device(device: str) -> Optional[str]:
    """Return why OpenVINO cannot use a device here, such as GPU, or None where it can; AUTO takes any."""
    found = import_openvino().Core().available_devices
    is_there = device == "AUTO" or any(name.split(".")[0] == device for name in found)
    return None if is_there else f"OpenVINO finds no {device}, or no driver for it"


def _unfit(error: RuntimeError) -> Exception:
    cause = str(error).strip().splitlines()[-1]
    if "Failed to allocate" in cause:
        return MemoryError(cause)
    return ModelFileError(f"OpenVINO cannot run this model: {cause}", "Choose another model or engine.")


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
        reporter.step(min(0.7, 0.7 * seen / len(images)), f"Measuring piece {seen + 1} of {len(images)}")
        seen = (seen + 1) % len(images)
        return {INPUT: image}

    import_openvino()  # without its telemetry
    with contextlib.redirect_stdout(sys.stderr):
        import nncf

        nncf.set_log_level(logging.ERROR)
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
