"""Engines: PyTorch, its Intel extension (IPEX) and OpenVINO, which train or run the U-Net, and how one is chosen.

Scope: precision, kernels, batches, timing. Independent of images and files. No engine needs another one: where the
others are not installed, the native engine does everything except running ONNX models.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Generic, Optional, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

from ..errors import JobError
from ..system import processor
from .decoder import folded
from .onnx_model import OnnxModel
from .openvino_model import CLEAR_WIN, OpenvinoModel, SquareModel, why_not_openvino

AUTO = "auto"
# Below this fraction of the speed in FP32, BF16 is not chosen.
CLEAR_LOSS = 0.85
NATIVE, IPEX, OPENVINO = "native", "ipex", "openvino"
BF16, FP32, INT8 = "bf16", "fp32", "int8"
TRIAL_STEPS = 3
# Loading the other engines takes this long before any of them computes.
LOADING_S = 4.0
# Channels and side of the convolution that shows the speed in BF16: a layer in the middle of a U-Net; some 30 ms on two
# cores.
_CHANNELS, _SIDE_PX, _TURNS = 64, 128, 4
# A model in the form that an engine runs.
Prepared = TypeVar("Prepared")
_E = TypeVar("_E", bound="Engine[Any]")


@dataclass(frozen=True)
class Engine(ABC, Generic[Prepared]):
    """A way to run a model in one precision. `NativeEngine` and `IpexEngine` also train it.

    The precision is bf16, fp32, or int8 for a quantized model. The reason says why it was chosen, for the user.
    """

    precision: str
    reason: str = ""
    name: str = field(default="", init=False)

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

    def forward(self, model: nn.Module, images: Tensor) -> Tensor:
        """Return the model's logits, (batch, channels, height, width), float32, computed in this engine's precision.

        Images are (batch, bands, height, width), float32. Height and width are multiples of 32.
        """
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.precision == BF16):
            logits: Tensor = model(images).float()
        return logits

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
class OpenvinoEngine(Engine[OpenvinoModel]):
    """OpenVINO, which runs ONNX graphs and does not train."""

    name: str = field(default=OPENVINO, init=False)

    def prepare_inference(self, model: nn.Module | OnnxModel, is_exact: bool = False) -> OpenvinoModel:
        """Return the model compiled for this processor; one of PyTorch goes by ONNX, and upsamples in any case."""
        from .onnx_file import export_onnx, serialized  # which import onnx, and not every runtime has it

        graph = model if isinstance(model, OnnxModel) else serialized(export_onnx(model))
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


def _network(model: nn.Module | OnnxModel) -> nn.Module:
    """Return a model of PyTorch as it is; `engines_for` leaves others to OpenVINO."""
    if isinstance(model, OnnxModel):
        raise TypeError("PyTorch does not run ONNX models")
    return model


TRAINING: dict[str, type[NativeEngine]] = {NATIVE: NativeEngine, IPEX: IpexEngine}
ENGINES: dict[str, type[Engine[Any]]] = {**TRAINING, OPENVINO: OpenvinoEngine}


def make_engine(name: str, precision: str, reason: str = "") -> Engine[Any]:
    """Return the engine of a name, a key of ENGINES; see `Engine`."""
    return ENGINES[name](precision, reason)


def training_engine(name: str, precision: str, reason: str = "") -> NativeEngine:
    """Return the engine of a name, a key of TRAINING; see `Engine`."""
    return TRAINING[name](precision, reason)


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
    return {NATIVE: lambda: None, IPEX: why_not_ipex, OPENVINO: why_not_openvino}[engine]()


def engines_for(model: nn.Module | OnnxModel) -> dict[str, type[Engine[Any]]]:
    """Return the engines that can run a model."""
    return {OPENVINO: OpenvinoEngine} if isinstance(model, OnnxModel) else ENGINES


def choose_engine(
    engine: str,
    precision: str,
    able: Mapping[str, type[_E]],
    trial: Optional[Callable[[_E], None]] = None,
    log: Callable[[str], None] = print,
    limit_s: float = math.inf,
) -> _E:
    """Choose the engine: the one asked for, or of those installed the fastest in a trial.

    A trial runs one step on the actual shapes with an engine. Without it, or where it would exceed `limit_s`, auto
    takes the first of `able`: the engines that support the task, such as TRAINING, in order of preference. Raises
    JobError if the engine asked for is not installed, or does not support the task.
    """
    precision = choose_precision(precision, log)
    first, *others = able
    wanted = first if engine == AUTO else engine
    if wanted not in able:
        raise JobError(
            f"The engine {wanted} does not run ONNX models.", f"Choose the engine {' or '.join(able)}, or auto."
        )
    obstacle = why_not(wanted)
    if obstacle:
        instead = "Run Set up runtime." if wanted == first else "Choose the engine native or auto."
        raise JobError(f"The engine {wanted} cannot be used: {obstacle}.", instead)
    if engine != AUTO:
        return able[wanted](precision, "asked for")
    reason = ""  # why only the first engine remains
    if not others:
        reason = "it is the one that runs ONNX models"
    elif trial is None or not _fits(trial, able[first](precision), len(able), limit_s):
        reason = "there is too little to do, or too little time, to try others"
    elif all(map(why_not, others)):
        reason = "; ".join(why_not(name) or "" for name in others)
    if trial is None or reason:
        log(f"Engine {first} in {precision}: {reason}.")
        return able[first](precision, reason)
    return _fastest([make(precision) for name, make in able.items() if not why_not(name)], trial, log)


def _fits(trial: Callable[[_E], None], first: _E, engines: int, limit_s: float) -> bool:
    """Whether a trial of this number of engines fits into the limit, estimated by a step of the first one."""
    if limit_s <= LOADING_S or limit_s == math.inf:
        return limit_s == math.inf
    began_s = time.perf_counter()
    trial(first)
    return LOADING_S + (1 + TRIAL_STEPS) * engines * (time.perf_counter() - began_s) <= limit_s


def choose_precision(precision: str, log: Callable[[str], None]) -> str:
    """Return the precision asked for, or fp32 where this processor is slow in BF16; int8 stays int8."""
    if processor.limit():
        sets = " ".join(processor.instruction_sets()) or "none of those that speed up models"
        log(f"The instruction sets are limited by {processor.limit()}, to {sets}.")
    if precision in (INT8, FP32):
        return precision
    if not processor.has_bf16_unit():
        if precision == BF16:
            log("This processor has no BF16 unit, and would be far slower in BF16 than in FP32; FP32 is used.")
        return FP32
    if precision == AUTO and not processor.has_amx() and bf16_speedup() < CLEAR_LOSS:
        log(f"This processor computes in BF16 at {bf16_speedup():.0%} of its speed in FP32, as measured; FP32 is used.")
        return FP32
    return BF16


@functools.lru_cache
def bf16_speedup() -> float:
    """Return how many times as fast as in FP32 a convolution and its gradients are in BF16, measured in turns."""
    shortest_s = {torch.float32: float("inf"), torch.bfloat16: float("inf")}
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        filters = torch.randn(_CHANNELS, _CHANNELS, 3, 3, requires_grad=True)
        images = torch.randn(2, _CHANNELS, _SIDE_PX, _SIDE_PX).contiguous(memory_format=torch.channels_last)
        images.requires_grad_()
        for _ in range(_TURNS):  # the first one prepares the kernels
            for dtype in shortest_s:
                began_s = time.perf_counter()
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
                    convolved = functional.conv2d(images, filters, padding=1)
                convolved.sum().backward()
                shortest_s[dtype] = min(shortest_s[dtype], time.perf_counter() - began_s)
    return shortest_s[torch.float32] / shortest_s[torch.bfloat16]


def _fastest(engines: list[_E], trial: Callable[[_E], None], log: Callable[[str], None]) -> _E:
    for engine in engines:
        trial(engine)  # the first step prepares weights and memory
    seconds = [math.inf] * len(engines)
    for _ in range(TRIAL_STEPS):  # in turns, and the best of each, so that what else the machine does is fair to all
        for number, engine in enumerate(engines):
            began = time.perf_counter()
            trial(engine)
            seconds[number] = min(seconds[number], time.perf_counter() - began)
    times = ", ".join(f"{engine.name} {second * 1000:.0f} ms" for engine, second in zip(engines, seconds))
    is_clear = min(seconds) < CLEAR_WIN * seconds[0]
    best = engines[seconds.index(min(seconds))] if is_clear else engines[0]
    reason = f"{'clearly fastest' if is_clear else 'none is clearly faster'} of {times} a step in {best.precision}"
    log(f"Engine {best.name}: {reason}.")
    return replace(best, reason=reason)
