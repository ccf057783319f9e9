"""Engines: what makes a network train and infer fast on this processor, and how one is chosen.

Knows PyTorch and its Intel extension; knows nothing of images or files. Each engine stands alone: where the extension
is missing, the native engine does all.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Optional

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from . import processor
from .errors import JobError

NATIVE, IPEX = "native", "ipex"
BF16, FP32 = "bf16", "fp32"
TRIAL_STEPS = 3
# Another engine than the native one must win clearly, so that noise does not decide and the same job gives the same.
CLEAR_WIN = 0.95


@dataclass(frozen=True)
class Engine:
    """A way to compute.

    Parameters
    ----------
    name : str
        native or ipex.
    precision : str
        bf16 or fp32.
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

    def prepare_inference(self, network: nn.Module) -> nn.Module:
        """Return the network as this engine infers with it."""
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


def choose_engine(
    engine: str, precision: str, trial: Optional[Callable[[Engine], None]] = None, log: Callable[[str], None] = print
) -> Engine:
    """Return the engine to use: the one asked for, or of those that are installed the fastest in a trial.

    Parameters
    ----------
    engine, precision : str
        As in a job; auto leaves the choice here.
    trial : callable, optional
        Runs one step on the actual shapes with an engine; without it, auto takes the native engine.
    log : callable
        Takes what was found and chosen, for a person.

    Raises
    ------
    JobError
        The engine asked for is not there.
    """
    precision = choose_precision(precision, log)
    if engine == NATIVE:
        return Engine(NATIVE, precision, "asked for")
    obstacle = why_not_ipex() if engine == IPEX or trial else "there is too little time to try others"
    if engine == IPEX and obstacle:
        raise JobError(f"The engine ipex cannot be used: {obstacle}.", "Choose the engine native or auto.")
    if engine == IPEX:
        return Engine(IPEX, precision, "asked for")
    if obstacle:
        log(f"Engine {NATIVE} in {precision}: {obstacle}.")
        return Engine(NATIVE, precision, obstacle)
    return _fastest([Engine(NATIVE, precision), Engine(IPEX, precision)], trial, log)


def choose_precision(precision: str, log: Callable[[str], None]) -> str:
    """Return bf16 or fp32: what is asked for in a job, where this processor is fast with it."""
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
