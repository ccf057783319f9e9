"""Engines: what makes a network train and infer fast on this processor, and how one is chosen.

Knows PyTorch and its Intel extension, and that there is OpenVINO; knows nothing of images or files. Each engine stands
alone: where the others are missing, the native engine does all but run ONNX models.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..errors import JobError
from ..system import processor
from .onnx_file import OnnxModel, export_onnx, serialized
from .openvino_model import CLEAR_WIN, CompiledModel, why_not_openvino

AUTO = "auto"
NATIVE, IPEX, OPENVINO = "native", "ipex", "openvino"
BF16, FP32, INT8 = "bf16", "fp32", "int8"
TRAINING = (NATIVE, IPEX)
TRIAL_STEPS = 3


@dataclass(frozen=True)
class Engine:
    """A way to compute.

    Parameters
    ----------
    name : str
        native, ipex or openvino.
    precision : str
        bf16 or fp32; int8 for a network that is quantized.
    reason : str
        Why it was chosen, for a person.
    """

    name: str
    precision: str
    reason: str = ""

    @property
    def dtype(self) -> torch.dtype:
        """The number format of the convolutions."""
        return torch.bfloat16 if self.precision == BF16 else torch.float32

    def prepare_training(self, network: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Optimizer]:
        """Return network and optimizer as this engine trains them; use these from here on.

        The extension gets to keep its own kernels and graph, but neither repacks nor splits weights: the parameters
        stay plain FP32 tensors, as averages and checkpoints need them, and it was no slower (benchmarks/README.md).
        """
        network.train()
        if self.name == IPEX:
            plain = {"weights_prepack": False, "split_master_weight_for_bf16": False, "fuse_update_step": False}
            return _import_ipex().optimize(network, optimizer=optimizer, dtype=self.dtype, inplace=True, **plain)
        return network, optimizer

    def prepare_inference(self, network: nn.Module | OnnxModel) -> Any:
        """Return the network as this engine infers with it."""
        if self.name == OPENVINO:
            graph = network if isinstance(network, OnnxModel) else serialized(export_onnx(network))
            return CompiledModel(graph, self._rest_precision, torch.get_num_threads())
        network.eval()
        if self.name == IPEX:
            return _import_ipex().optimize(network, dtype=self.dtype, inplace=False, weights_prepack=False)
        return network

    def forward(self, network: nn.Module, images: Tensor) -> Tensor:
        """Return the network's logits in FP32, computed in this engine's precision.

        Parameters
        ----------
        network : Module
        images : Tensor (batch, bands, height, width), float32
            Height and width are multiples of 32.
        """
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.precision == BF16):
            return network(images).float()

    def probability(self, prepared: Any, images: Tensor) -> Tensor:
        """Return the probability of each pixel in FP32.

        Parameters
        ----------
        prepared
            What `prepare_inference` gave.
        images : Tensor (batch, bands, height, width), float32
            Height and width are multiples of 32.
        """
        if self.name == OPENVINO:
            return torch.from_numpy(prepared.probability(images.numpy()))
        with torch.inference_mode():
            return torch.sigmoid(self.forward(prepared, images))

    def expect(self, prepared: Any, shape: tuple[int, ...]) -> None:
        """Prepare for many batches of one shape, (batch, bands, height, width), where that is worth while."""
        if self.name == OPENVINO:
            prepared.expect(shape)

    def settle_batches(self, prepared: Any, images: Tensor, log: Callable[[str], None]) -> int:
        """Find out how this engine computes batches fastest; return how many images of one it computes at once.

        That is 1 where it takes the batch as a whole.

        Parameters
        ----------
        prepared
            What `prepare_inference` gave.
        images : Tensor (batch, bands, height, width), float32
            A typical batch.
        log : callable
        """
        if self.name == OPENVINO:
            whole_s, side_by_side_s, streams = prepared.settle_batches(images.numpy())
            times = f"{len(images)} images: {1000 * whole_s:.0f} ms as one batch, {1000 * side_by_side_s:.0f} ms"
            log(f"{times} side by side; " + (f"{streams} at once." if streams > 1 else "as one batch, then."))
            return streams
        return 1

    @property
    def _rest_precision(self) -> str:
        """The precision of what is not quantized."""
        if self.precision == INT8:
            return BF16 if processor.has_bf16_unit() else FP32
        return self.precision


def _import_ipex() -> ModuleType:
    import intel_extension_for_pytorch

    return intel_extension_for_pytorch


def ipex_is_loaded() -> bool:
    """Whether this process has loaded the Intel extension, which changes the rounding of what PyTorch does, too."""
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


def engines_for(network: nn.Module | OnnxModel) -> tuple[str, ...]:
    """Return the engines that can infer with a network."""
    return (OPENVINO,) if isinstance(network, OnnxModel) else (NATIVE, IPEX, OPENVINO)


def choose_engine(
    engine: str,
    precision: str,
    trial: Optional[Callable[[Engine], None]] = None,
    log: Callable[[str], None] = print,
    able: tuple[str, ...] = TRAINING,
) -> Engine:
    """Return the engine to use: the one asked for, or of those that are installed the fastest in a trial.

    Parameters
    ----------
    engine, precision : str
        As in a job, where auto leaves the choice here; int8 for a network that is quantized.
    trial : callable, optional
        Runs one step on the actual shapes with an engine; without it, auto takes the first of those that are able.
    log : callable
        Takes what was found and chosen, for a person.
    able : tuple of str
        The engines that can do what is to be done, the one to prefer first.

    Raises
    ------
    JobError
        The engine asked for is not there, or not able to do it.
    """
    precision = choose_precision(precision, log)
    first, *others = able
    wanted = first if engine == AUTO else engine
    if wanted not in able:
        raise JobError(f"The engine {wanted} runs no ONNX models.", f"Choose the engine {' or '.join(able)}, or auto.")
    obstacle = why_not(wanted)
    if obstacle:
        instead = "Run Set up runtime." if wanted == first else "Choose the engine native or auto."
        raise JobError(f"The engine {wanted} cannot be used: {obstacle}.", instead)
    if engine != AUTO:
        return Engine(wanted, precision, "asked for")
    reason = _why_only_first(others, trial is not None)
    if reason:
        log(f"Engine {first} in {precision}: {reason}.")
        return Engine(first, precision, reason)
    return _fastest([Engine(name, precision) for name in able if not why_not(name)], trial, log)


def _why_only_first(others: list[str], is_tried: bool) -> Optional[str]:
    """Return why there is no choice but the first engine, or None where there is one."""
    if not others:
        return "it is the one that runs ONNX models"
    if not is_tried:
        return "there is too little time to try others"
    obstacles = [why_not(name) for name in others]
    return "; ".join(obstacles) if all(obstacles) else None


def choose_precision(precision: str, log: Callable[[str], None]) -> str:
    """Return what is asked for in a job where this processor is fast with it, else fp32; a network's int8 stays."""
    if precision == INT8:
        return INT8
    if precision == FP32 or processor.has_bf16_unit():
        return FP32 if precision == FP32 else BF16
    if precision == BF16:
        log("This processor has no BF16 unit, and would be far slower in BF16 than in FP32; FP32 is used.")
    return FP32


def _fastest(engines: list[Engine], trial: Callable[[Engine], None], log: Callable[[str], None]) -> Engine:
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
    return Engine(best.name, best.precision, reason)
