"""How fast this processor is in BF16: some without AMX take BF16 instructions at half of the pace of FP32.

Scope: one convolution, timed. Independent of models.
"""

from __future__ import annotations

import functools
import time

import torch
from torch.nn import functional

# Channels and side of a layer in the middle of a U-Net; some 30 ms on two cores.
_CHANNELS, _SIDE_PX, _TURNS = 64, 128, 4


@functools.lru_cache
def bf16_pace() -> float:
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
