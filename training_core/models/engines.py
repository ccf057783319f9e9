"""Engines: PyTorch, its Intel extension (IPEX) and OpenVINO, which train or run the U-Net.

PyTorch and OpenVINO also compute on devices, as engines with the names of these. Scope: precision, kernels, batches.
Independent of images and files. No engine needs another one: where the others are not installed, the native
engine does everything except running ONNX models.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, Generic, Optional, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..errors import ModelFileError, ResourceError
from ..jobs import ACCELERATORS, OPENVINO_DEVICES
from ..system import processor
from . import accelerator
from .decoder import folded
from .onnx_model import OnnxModel
from .openvino_model import DeviceModel, OpenvinoModel, SquareModel, why_not_device, why_not_openvino

NATIVE, IPEX, OPENVINO = "native", "ipex", "openvino"
OPENVINO_AUTO = "openvino-auto"
BF16, FP16, FP32, INT8 = "bf16", "fp16", "fp32", "int8"
# What ends the work of a device: it fails, lacks memory, or does not compile the model.
DEVICE_FAILURES = (ResourceError, ModelFileError, MemoryError, RuntimeError)
# A model in the form that an engine runs.
Prepared = TypeVar("Prepared")


@dataclass(frozen=True)
class Engine(ABC, Generic[Prepared]):
    """A way to run a model in one precision. `NativeEngine` and those derived from it also train it.

    The precision is bf16, fp32, on devices of OpenVINO fp16, or int8 for a quantized model. The reason says why it was
    chosen, for the user.
    """

    precision: str
    reason: str = ""
    name: str = field(default="", init=False)

    @property
    def is_device(self) -> bool:
        """Whether it computes on a device, which may fail, in place of the CPU."""
        return self.name in DEVICES

    @property
    def title(self) -> str:
        """Its name, for people."""
        return self.name

    def free_bytes(self) -> float:
        """Return how much memory of its own is free, in bytes; infinite if it has none, or that is not known."""
        return math.inf

    def synchronize(self) -> None:
        """Wait until all is computed."""

    @abstractmethod
    def prepare_inference(self, model: nn.Module | OnnxModel, is_exact: bool = False) -> Prepared:
        """Return the model as this engine runs it.

        If `is_exact`, the results of a pixel must not vary, in FP32, with the size of the image around it.
        """

    @abstractmethod
    def probability(self, prepared: Prepared, images: Tensor) -> Tensor:
        """Return the probability of road, and of each class where road is, (batch, channels, height, width), float32.

        Images are (batch, bands, height, width), float32. Height and width are multiples of 32.
        """

    def expect(self, prepared: Prepared, shape: tuple[int, ...]) -> None:
        """Prepare for many batches of one shape, (batch, bands, height, width), if that makes them faster."""

    def settle_batches(self, prepared: Prepared, images: Tensor, log: Callable[[str], None]) -> int:
        """Find out how this engine computes batches like these, (batch, bands, height, width), float32, fastest.

        Return the number of images that are computed in parallel from now on; 1 for one batch at once.
        """
        return 1


@dataclass(frozen=True)
class NativeEngine(Engine[nn.Module]):
    """PyTorch as it is."""

    name: str = field(default=NATIVE, init=False)

    @property
    def dtype(self) -> torch.dtype:
        """The number format of the convolutions."""
        return torch.bfloat16 if self.precision == BF16 else torch.float32

    def prepare_training(self, model: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Optimizer]:
        """Return model and optimizer as this engine trains them; use these from here on."""
        return model.train(), optimizer

    def prepare_inference(self, model: nn.Module | OnnxModel, is_exact: bool = False) -> nn.Module:
        """Return a copy of the model with constant weights; see `decoder`."""
        return folded(_network(model), self.dtype, is_exact)

    def guard(self) -> AbstractContextManager[None]:
        """Raise DeviceError where the device on which it computes fails."""
        return nullcontext()

    def after_training(self) -> NativeEngine:
        """Return the engine that runs what this one has trained."""
        return NativeEngine(self.precision, self.reason)

    def forward(self, model: nn.Module, images: Tensor) -> Tensor:
        """Return the model's logits, (batch, channels, height, width), float32, computed in this engine's precision.

        Images are (batch, bands, height, width), float32. Height and width are multiples of 32.
        """
        images = self._sent(images).contiguous(memory_format=torch.channels_last)
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=self.precision == BF16):
            logits: Tensor = model(images).float()
        return logits

    def _sent(self, images: Tensor) -> Tensor:
        """Return images, (batch, bands, height, width), float32, where the model is."""
        return images

    def probability(self, prepared: nn.Module, images: Tensor) -> Tensor:
        """Return the probability of each pixel and channel, (batch, channels, height, width), float32."""
        with torch.inference_mode():
            return torch.sigmoid(self.forward(prepared, images))


@dataclass(frozen=True)
class IpexEngine(NativeEngine):
    """PyTorch with its Intel extension, which brings kernels of its own."""

    name: str = field(default=IPEX, init=False)

    def prepare_training(self, model: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Optimizer]:
        """Return model and optimizer as the extension trains them.

        It neither repacks nor splits weights, and is as fast without that (benchmarks/README.md). In BF16
        the parameters are BF16 copies; the model's `state_dict` holds the FP32 weights, which checkpoints take.
        """
        plain = {"weights_prepack": False, "split_master_weight_for_bf16": False, "fuse_update_step": False}
        trained: tuple[nn.Module, Optimizer] = _import_ipex().optimize(
            model.train(), optimizer=optimizer, dtype=self.dtype, inplace=True, **plain
        )
        return trained

    def prepare_inference(self, model: nn.Module | OnnxModel, is_exact: bool = False) -> nn.Module:
        """Return a copy of the model with constant weights and the extension's kernels."""
        constant = super().prepare_inference(model, is_exact)
        prepared: nn.Module = _import_ipex().optimize(constant, dtype=self.dtype, inplace=True, weights_prepack=False)
        return prepared


@dataclass(frozen=True)
class AcceleratorEngine(NativeEngine):
    """PyTorch on an accelerator, by whose kind it is named. Predictions come back to the CPU."""

    name: str = accelerator.CUDA

    @property
    def title(self) -> str:
        """Its name, and that of the accelerator."""
        return f"{self.name} ({accelerator.find(self.name).title})"

    def free_bytes(self) -> float:
        """See `Engine.free_bytes`."""
        return accelerator.find(self.name).free_bytes()

    def synchronize(self) -> None:
        """See `Engine.synchronize`."""
        accelerator.find(self.name).synchronize()

    def guard(self) -> AbstractContextManager[None]:
        """See `NativeEngine.guard`."""
        return accelerator.find(self.name).guard()

    def after_training(self) -> NativeEngine:
        """Return this engine: the CPU may be slow in its precision."""
        return self

    def prepare_training(self, model: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Optimizer]:
        """Return the model on the device, with the optimizer, which keeps its parameters."""
        with self.guard():
            return super().prepare_training(accelerator.find(self.name).send(model), optimizer)

    def prepare_inference(self, model: nn.Module | OnnxModel, is_exact: bool = False) -> nn.Module:
        """Return a copy of the model with constant weights on the device."""
        with self.guard():
            return accelerator.find(self.name).send(super().prepare_inference(model, is_exact))

    def probability(self, prepared: nn.Module, images: Tensor) -> Tensor:
        """Return the probability of each pixel and channel, (batch, channels, height, width), float32."""
        with self.guard():
            return super().probability(prepared, images).cpu()

    def _sent(self, images: Tensor) -> Tensor:
        return accelerator.find(self.name).send(images)


@dataclass(frozen=True)
class OpenvinoEngine(Engine[OpenvinoModel]):
    """OpenVINO, which runs ONNX graphs and does not train."""

    name: str = field(default=OPENVINO, init=False)

    def prepare_inference(self, model: nn.Module | OnnxModel, is_exact: bool = False) -> OpenvinoModel:
        """Return the model compiled for this processor; one of PyTorch goes by ONNX, and upsamples in any case."""
        graph = _graph(model)
        rest_precision = BF16 if processor.has_bf16_unit() else FP32  # of the layers that are not quantized
        precision = rest_precision if self.precision == INT8 else self.precision
        make = SquareModel if graph.side_px else OpenvinoModel
        return make(graph, precision, torch.get_num_threads())

    def probability(self, prepared: OpenvinoModel, images: Tensor) -> Tensor:
        """Return the probability of each pixel and channel, (batch, channels, height, width), float32."""
        return torch.from_numpy(prepared.probability(images.numpy()))

    def expect(self, prepared: OpenvinoModel, shape: tuple[int, ...]) -> None:
        """Compile the model for one shape, (batch, bands, height, width)."""
        prepared.expect(shape)

    def settle_batches(self, prepared: OpenvinoModel, images: Tensor, log: Callable[[str], None]) -> int:
        """Return the faster number of streams for batches (batch, bands, height, width), float32."""
        if isinstance(prepared, SquareModel):
            return 1
        whole_s, parallel_s, streams = prepared.settle_batches(images.numpy())
        times = f"{len(images)} images: {1000 * whole_s:.0f} ms as one batch, {1000 * parallel_s:.0f} ms"
        log(f"{times} side by side; " + (f"{streams} at once." if streams > 1 else "as one batch, then."))
        return streams


@dataclass(frozen=True)
class OpenvinoDeviceEngine(Engine[DeviceModel]):
    """OpenVINO on one of its devices, by which it is named."""

    name: str = OPENVINO_AUTO

    def prepare_inference(self, model: nn.Module | OnnxModel, is_exact: bool = False) -> DeviceModel:
        """Return the model for the device, compiled at the first image; see `OpenvinoEngine.prepare_inference`."""
        precision = FP16 if self.precision == INT8 else self.precision
        return DeviceModel(_graph(model), precision, OPENVINO_DEVICES[self.name])

    def probability(self, prepared: DeviceModel, images: Tensor) -> Tensor:
        """Return the probability of each pixel and channel, (batch, channels, height, width), float32."""
        return torch.from_numpy(prepared.probability(images.numpy()))


def _graph(model: nn.Module | OnnxModel) -> OnnxModel:
    from .onnx_file import export_onnx, serialized  # which import onnx, and not every runtime has it

    return model if isinstance(model, OnnxModel) else serialized(export_onnx(model))


def _network(model: nn.Module | OnnxModel) -> nn.Module:
    """Return a model of PyTorch as it is; `engines_for` leaves others to OpenVINO."""
    if isinstance(model, OnnxModel):
        raise TypeError("PyTorch does not run ONNX models")
    return model


TRAINING: dict[str, type[NativeEngine]] = {NATIVE: NativeEngine, IPEX: IpexEngine}
ENGINES: dict[str, type[Engine[Any]]] = {**TRAINING, OPENVINO: OpenvinoEngine}
# The engines on devices: those that train, and all.
TRAINING_DEVICES: dict[str, Callable[..., NativeEngine]] = {
    kind: partial(AcceleratorEngine, name=kind) for kind in ACCELERATORS
}
DEVICES: dict[str, Callable[..., Engine[Any]]] = {
    **TRAINING_DEVICES,
    **{name: partial(OpenvinoDeviceEngine, name=name) for name in OPENVINO_DEVICES},
}


def make_engine(name: str, precision: str, reason: str = "") -> Engine[Any]:
    """Return the engine of a name, a key of ENGINES or DEVICES; see `Engine`."""
    return DEVICES[name](precision, reason) if name in DEVICES else ENGINES[name](precision, reason)


def training_engine(name: str, precision: str, reason: str = "") -> NativeEngine:
    """Return the engine of a name, a key of TRAINING or TRAINING_DEVICES; see `Engine`."""
    among: Mapping[str, Callable[..., NativeEngine]] = TRAINING_DEVICES if name in DEVICES else TRAINING
    return among[name](precision, reason)


def _import_ipex() -> ModuleType:
    import intel_extension_for_pytorch

    # It replaces these layers' kernels without telling autograd, whose gradients are right all the same.
    warnings.filterwarnings("ignore", r"aten::(group|layer)_norm: an autograd kernel was not registered")

    return intel_extension_for_pytorch


def ipex_is_loaded() -> bool:
    """Whether this process has loaded the Intel extension, which changes the rounding of PyTorch itself, too."""
    return "intel_extension_for_pytorch" in sys.modules


def why_not_ipex() -> Optional[str]:
    """Return why the Intel extension cannot be used here, or None where it can."""
    if importlib.util.find_spec("intel_extension_for_pytorch") is None:
        return "the Intel extension is not installed"
    try:
        _import_ipex()
    except BaseException as error:  # a version that does not match torch ends the interpreter's import in any way
        return f"the Intel extension does not load ({error})"
    return None


def why_not(engine: str) -> Optional[str]:
    """Return why an engine cannot be used here, or None where it can."""
    if engine in ACCELERATORS:
        found = accelerator.probe(engine)
        return found if isinstance(found, str) else None
    if engine in OPENVINO_DEVICES:
        return why_not_openvino() or why_not_device(OPENVINO_DEVICES[engine])
    return {NATIVE: lambda: None, IPEX: why_not_ipex, OPENVINO: why_not_openvino}[engine]()


def engines_for(model: nn.Module | OnnxModel) -> dict[str, type[Engine[Any]]]:
    """Return the engines that can run a model."""
    return {OPENVINO: OpenvinoEngine} if isinstance(model, OnnxModel) else ENGINES


def devices_for(model: nn.Module | OnnxModel) -> dict[str, Callable[..., Engine[Any]]]:
    """Return the engines on devices that can run a model; none runs one of fixed squares."""
    if not isinstance(model, OnnxModel):
        return DEVICES
    return {} if model.side_px else {name: DEVICES[name] for name in OPENVINO_DEVICES}
