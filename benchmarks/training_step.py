"""Images a second of the whole training step, by engine and precision, in one process and in turns.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/training_step.py`. The steps take turns, and the
median counts, so that what else the machine does is fair to all.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from training_core import processor

processor.prepare_process()

import numpy as np
import torch

from training_core.engines import BF16, FP32, IPEX, NATIVE, Engine, why_not_ipex
from training_core.model import Architecture, build_network
from training_core.trainer import Trainer

ENGINES = [Engine(NATIVE, FP32), Engine(NATIVE, BF16), Engine(IPEX, BF16)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-px", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    engines = [engine for engine in ENGINES if engine.name != IPEX or not why_not_ipex()]
    steps = [step_of(engine, arguments.batch_size, arguments.size_px) for engine in engines]
    for step in steps:
        step()
    seconds: list[list[float]] = [[] for _ in steps]
    for _ in range(arguments.rounds):
        for step, taken in zip(steps, seconds):
            began = time.perf_counter()
            step()
            taken.append(time.perf_counter() - began)
    print(processor.name())
    print(f"ResNet34-UNet, batch {arguments.batch_size}, {arguments.size_px} px, median of {arguments.rounds} steps")
    first = statistics.median(seconds[0])
    for engine, taken in zip(engines, seconds):
        median = statistics.median(taken)
        pace = arguments.batch_size / median
        print(f"{engine.name:7} {engine.precision:5} {pace:6.2f} images/s  {first / median:5.2f} x")


def step_of(engine: Engine, batch_size: int, size_px: int) -> Callable[[], object]:
    """Return a function that makes one training step on chips of noise."""
    torch.manual_seed(0)
    trainer = Trainer(build_network(Architecture()), engine)
    random = np.random.default_rng(0)
    chips = random.standard_normal((batch_size, 3, size_px, size_px), dtype=np.float32)
    labels = (random.random((batch_size, size_px, size_px)) > 0.9).astype(np.uint8)
    return lambda: trainer.step(chips, labels, 1e-3)


if __name__ == "__main__":
    main()
