"""Time and memory of the losses, forward and backward, beside those of torchvision and segmentation_models_pytorch.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/losses.py`. The losses take turns, and the median
counts, so that other load on the machine affects all alike; the best time is that without other load.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from training_core.system import processor

processor.prepare_process()

import torch
from segmentation_models_pytorch.losses import BINARY_MODE, DiceLoss, FocalLoss
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torchvision.ops import sigmoid_focal_loss

from training_core.learning.losses import DICE_WEIGHT, FOCAL_WEIGHT, focal_loss, road_loss

MIB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-px", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    steps = steps_on_noise((arguments.batch_size, 1, arguments.size_px, arguments.size_px))
    for step in steps.values():
        step()
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(arguments.rounds):
        for name, step in steps.items():
            began = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - began)
    print(processor.name())
    print(f"batch {arguments.batch_size}, {arguments.size_px} px, forward and backward, {arguments.rounds} rounds")
    print(f"{'':24} {'median':>9} {'ratio':>7} {'best':>9} {'ratio':>7} {'peak memory':>12}")
    first = next(iter(seconds.values()))
    for name, taken in seconds.items():
        median, best = statistics.median(taken), min(taken)
        print(
            f"{name:24} {median * 1000:6.1f} ms {statistics.median(first) / median:5.2f} x "
            f"{best * 1000:6.1f} ms {min(first) / best:5.2f} x {peak_bytes(steps[name]) / MIB:8.1f} MiB"
        )


def steps_on_noise(shape: tuple[int, ...]) -> dict[str, Callable[[], object]]:
    """Return by name functions that compute a loss and its gradient; each has its targets in the dtype it needs."""
    torch.manual_seed(0)
    logits = (3 * torch.randn(shape)).requires_grad_()
    labels = (torch.rand(shape) > 0.9).to(torch.uint8)
    targets, classes = labels.float(), labels.long()
    focal, dice = FocalLoss(BINARY_MODE, alpha=0.5), DiceLoss(BINARY_MODE, from_logits=True)
    losses: dict[str, Callable[[], Tensor]] = {
        "torchvision focal": lambda: sigmoid_focal_loss(logits, targets, alpha=0.5, reduction="mean"),
        "focal": lambda: focal_loss(logits, labels),
        "smp focal + Dice": lambda: FOCAL_WEIGHT * focal(logits, classes) + DICE_WEIGHT * dice(logits, classes),
        "focal + Dice": lambda: road_loss(logits, labels),
    }
    return {name: lambda loss=loss: torch.autograd.grad(loss(), logits) for name, loss in losses.items()}


def peak_bytes(step: Callable[[], object]) -> int:
    """Return how much memory a step allocates beyond what there was before, at its peak."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        step()
    changes = [event for event in record.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for change in sorted(changes, key=lambda event: event.start_ns()):
        held += change.nbytes()
        peak = max(peak, held)
    return peak


if __name__ == "__main__":
    main()
