"""The accelerator: the GPU on which PyTorch can compute in place of the CPU, its memory and its number format.

A build of PyTorch knows one kind at most: CUDA (NVIDIA, and AMD by ROCm), XPU (Intel) or MPS (Apple). All that differs
between them is here. Scope: PyTorch's devices. Independent of models.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ..errors import DeviceError

CUDA, XPU, MPS = "cuda", "xpu", "mps"
# GPUs by NVIDIA multiply BF16 from this generation on (Ampere).
_CUDA_WITH_BF16 = (8, 0)
_SHARE_OF_FREE = 0.8
_T = TypeVar("_T", Tensor, nn.Module)


@dataclass(frozen=True)
class Accelerator:
    """A device: its kind, as PyTorch names it, its name for people, and whether it has units for BF16."""

    kind: str
    title: str
    has_bf16: bool

    def send(self, what: _T) -> _T:
        """Return a tensor, (...) of any dtype, or a module, in the memory of the device."""
        return what.to(self.kind)

    def synchronize(self) -> None:
        """Wait until the device has computed all that it was given."""
        self._module.synchronize()

    def free_bytes(self) -> int:
        """Return how much of its memory may be taken, in bytes; the rest of what is free is for its kernels."""
        with self.guard():
            self._module.empty_cache()
            if self.kind == MPS:
                free = self._module.recommended_max_memory() - self._module.driver_allocated_memory()
            else:
                free = self._module.mem_get_info()[0]
        return int(_SHARE_OF_FREE * free)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Raise DeviceError where PyTorch raises RuntimeError: the device is gone, out of memory, or lacks a kernel."""
        try:
            yield
        except RuntimeError as error:
            raise _failure(f"{self.kind} ({self.title})", _cause(error)) from error

    @property
    def _module(self) -> Any:
        return torch.get_device_module(self.kind)


def built_kind() -> str:
    """Return the kind of accelerator for which this PyTorch was built, present or not; "" if for the CPU alone."""
    known = getattr(torch, "accelerator", None)  # the last PyTorch for Intel Macs has no such module
    device = known.current_accelerator() if known else None
    return device.type if device is not None and device.type in (CUDA, XPU, MPS) else ""


@functools.lru_cache
def probe(kind: str) -> Accelerator | str:
    """Return the accelerator of a kind after a small sum on it, or why PyTorch cannot use it."""
    if built_kind() != kind:
        remedy = "" if kind == MPS else f"; choose {kind} under Packages in Set up runtime"
        return f"the PyTorch that is installed is not built for {kind}{remedy}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the error says the same
            if torch.ones(2, device=kind).sum().item() != 2:
                return "it computes 1 + 1 wrongly"
            # The same job is to give the same model, and FP32 is to have its bits.
            torch.backends.cudnn.deterministic, torch.backends.cudnn.allow_tf32 = True, False
            module = torch.get_device_module(kind)
            title = getattr(module, "get_device_name", lambda: "Apple GPU")()
            is_new = kind == CUDA and (torch.version.hip or module.get_device_capability() >= _CUDA_WITH_BF16)
    except Exception as error:  # a driver that is broken, missing or too old may raise anything
        return _cause(error)
    return Accelerator(kind, title, bool(is_new) or kind == XPU)


def find(kind: str) -> Accelerator:
    """Return the accelerator of a kind; raises DeviceError if PyTorch cannot use it."""
    found = probe(kind)
    if isinstance(found, str):
        raise _failure(kind, found)
    return found


def _failure(device: str, cause: str) -> DeviceError:
    return DeviceError(
        f"The device {device} cannot be used: {cause}.", "Update its driver, free its memory, or choose cpu (device)."
    )


def _cause(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
