"""A fake accelerator on the CPU, with a given amount of memory, that raises an error in a given step."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch

from training_core.models import accelerator
from training_core.models.accelerator import Accelerator

OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nSee the documentation.")
GONE = RuntimeError("CUDA error: unspecified launch failure\nCUDA kernel errors might be reported later.")


@dataclass(frozen=True)
class FakeAccelerator(Accelerator):
    """Computes on the CPU; from the image or model number `fails_at` that is sent to it on, it raises `error`."""

    kind: str = "cuda"
    title: str = "a fake GPU"
    has_bf16: bool = False
    memory_bytes: int = 8 << 30
    fails_at: int = 1 << 30
    error: RuntimeError = GONE
    sent: list[type] = field(default_factory=list)

    def send(self, what):
        self.sent.append(type(what))
        if len(self.sent) >= self.fails_at:
            raise self.error
        return what

    def synchronize(self):
        """It has computed all."""

    def free_bytes(self):
        return self.memory_bytes


def plug_in(monkeypatch: pytest.MonkeyPatch, **told) -> FakeAccelerator:
    """Plug a fake accelerator in, and return it."""
    fake = FakeAccelerator(**told)
    monkeypatch.setattr(accelerator, "probe", lambda kind: fake if kind == fake.kind else "it is not there")
    return fake
