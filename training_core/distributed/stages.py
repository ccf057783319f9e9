"""Stages of a pipeline: the U-Net as a sequence of parts, cut into consecutive stages that hand tensors on.

A stage takes the features and skip connections before its parts, computes them, and returns those behind them.

Scope: the U-Net's structure. Independent of processes and of where the cuts are best.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from ..models.architectures import Part, parts_of, stage_names
from ..models.decoder import DecoderBlock
from ..models.recompute import Recomputing, recomputed


def min_first_parts(model: nn.Module, parts: Sequence[Part]) -> int:
    """Return how many parts the first stage has at least: all that are frozen, and one that learns.

    So every stage has something to learn, and only skip connections cross a cut without a gradient.
    """
    for number, part in enumerate(parts, 1):
        if any(each.requires_grad for name in part.names for each in model.get_submodule(name).parameters()):
            return number
    return len(parts)


def without_memory(model: nn.Module) -> nn.Module:
    """Return a copy of a model whose tensors have shapes and no memory (on the device meta)."""
    # Deep copies take objects in the memo as they are, so that no tensor is copied.
    memo: dict[int, Any] = {}
    for tensor in model.parameters():
        memo[id(tensor)] = nn.Parameter(tensor.detach().to("meta"), tensor.requires_grad)
    for tensor in model.buffers():
        memo[id(tensor)] = tensor.to("meta")
    return copy.deepcopy(model, memo)


class Stage(nn.Module):
    """Consecutive parts of a U-Net; parameters and buffers keep their names in it.

    The modules of the U-Net become those of the stage. If it recomputes activations, so does the stage. An engine
    computes in `dtype`, float32 or bfloat16. `needs_gradient` is of the tensors that the stage receives, all of them
    where it is empty.
    """

    def __init__(self, model: nn.Module, parts: Sequence[Part], dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self._parts, self._is_recomputing, self._dtype = tuple(parts), isinstance(model, Recomputing), dtype
        self.needs_gradient: tuple[bool, ...] = ()
        whole = parts_of(model)
        self._is_first, self._is_last = parts[0] == whole[0], parts[-1] == whole[-1]
        for name in chain.from_iterable(stage_names(model)):  # empty in other stages, so that they can be frozen
            self._place(f"encoder.{name}", nn.Module())
        for part in parts:
            for name in part.names:
                self._place(name, model.get_submodule(name))

    def forward(self, *received: Tensor) -> tuple[Tensor, ...]:
        """Compute the parts; return what the next stage receives, in the same dtype, or logits alone, float32.

        Received are the features, (batch, height, width, channels), float32 or bfloat16, and the skip connections from
        the largest to the smallest. Gloo sends contiguous tensors only, so channels are last in the shape, too. The
        first stage takes images, (batch, bands, height, width).
        """
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._dtype == torch.bfloat16):
            features, skips = self._compute(*self._opened(received))
        return (_as_sent(features.float()),) if self._is_last else tuple(map(_as_sent, (features, *skips)))

    def _compute(self, features: Tensor, *received: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the features and the skip connections behind the parts."""
        skips = list(received)
        for part in self._parts:
            if part.keeps_input:
                skips.append(features)
            modules = [self.get_submodule(name) for name in part.names]
            if isinstance(modules[0], DecoderBlock):
                height, width = features.shape[2:]
                skip = skips.pop() if skips else None
                features = self._run(modules[0], features, 2 * height, 2 * width, skip)
            else:
                features = self._run(nn.Sequential(*modules), features)
        return features, skips

    def _opened(self, received: tuple[Tensor, ...]) -> list[Tensor]:
        """Return the received tensors as images, with no gradient for those of frozen parts."""
        if self._is_first:
            return [received[0].contiguous(memory_format=torch.channels_last)]
        images = list(map(as_images, received))
        if all(self.needs_gradient):
            return images
        # torch's pipelines expect a gradient for each received tensor: that of frozen parts is one of zeros.
        constants = [each for each, is_needed in zip(images, self.needs_gradient) if not is_needed]
        images[0] = _WithConstants.apply(images[0], *constants)
        return [each if is_needed else each.detach() for each, is_needed in zip(images, self.needs_gradient)]

    def _run(self, part: nn.Module, *arguments: Any) -> Tensor:
        is_recomputed = self._is_recomputing and torch.is_grad_enabled()
        return recomputed(part, *arguments) if is_recomputed else part(*arguments)

    def _place(self, name: str, module: nn.Module) -> None:
        """Make a module this one's, under its name in the U-Net."""
        owner: nn.Module = self
        *path, last = name.split(".")
        for step in path:
            if not hasattr(owner, step):
                owner.add_module(step, nn.Module())
            owner = owner.get_submodule(step)
        owner.add_module(last, module)


def as_images(sent: Tensor) -> Tensor:
    """Return a stage's output (batch, height, width, channels) as (batch, channels, height, width), same dtype."""
    return sent.permute(0, 3, 1, 2)


def _as_sent(images: Tensor) -> Tensor:
    """Return the reverse of `as_images`, contiguous; torch compares the strides even of axes of length 1."""
    sent = images.permute(0, 2, 3, 1).contiguous()
    return sent.flatten().view(sent.shape)


class _WithConstants(torch.autograd.Function):
    """The features, whose backward pass also gives constants a gradient, of zeros.

    torch's pipelines send back a gradient for all that was received; this one takes no computation.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, *constants: Tensor) -> Tensor:
        ctx.save_for_backward(*constants)
        return features.view_as(features)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        return gradient, *(torch.zeros_like(each) for each in ctx.saved_tensors)


def handed_over(
    model: nn.Module, parts: Sequence[Part], shape: tuple[int, ...], dtype: torch.dtype
) -> list[tuple[Tensor, ...]]:
    """Return the input of each part, as if it were a stage, and the output of the last one.

    The U-Net is without memory, and so are these tensors, (batch, height, width, channels), any dtype: the one in which
    an engine computes. They need a gradient where something that learns comes before them. Frozen parts of the U-Net
    need none. The shape is that of a batch of images: batch, bands, height, width.
    """
    tensors: tuple[Tensor, ...] = (torch.empty(shape, device="meta"),)
    found = [tensors]
    for part in parts:
        tensors = Stage(model, [part])(*tensors)
        found.append(tuple(each.detach().to(dtype).requires_grad_(each.requires_grad) for each in tensors))
    return [*found[:-1], tensors]
