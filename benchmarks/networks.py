"""The pace of architectures and encoders: a training step, and inference, beside the default.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/networks.py`. Weights are random, which does not
matter for the pace. Times are the best of some turns, in the precision that the job would choose here.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import torch

from training_core.jobs import StepOptions
from training_core.jobs.architectures import ARCHITECTURES, ENCODERS, IMPOSSIBLE
from training_core.learning.trainer import Trainer
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import NativeEngine, choose_precision
from training_core.models.receptive_field import measure_receptive_field
from training_core.system import processor

BATCH, CHIP_PX, IMAGE_PX, TURNS = 4, 192, 512, 3


def main() -> None:
    """Print a row for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoders", nargs="*", default=ENCODERS, choices=ENCODERS)
    arguments = parser.parse_args()
    processor.prepare_process()
    engine = NativeEngine(choose_precision("auto", print))
    print(f"{processor.name()}; {engine.precision}; steps of {BATCH} x {CHIP_PX} px")
    print(f"{'network':36} {'weights':>8} {'step':>8} {'inference':>11} {'exact halo':>10}")
    for name, encoder in itertools.product(ARCHITECTURES, arguments.encoders):
        if (name, encoder) not in IMPOSSIBLE:
            print(row(Architecture(name, encoder), engine), flush=True)


def row(architecture: Architecture, engine: NativeEngine) -> str:
    """Return weights in millions, milliseconds of a step, megapixels a second of inference, and the exact halo."""
    model = build_network(architecture)
    field = measure_receptive_field(model.eval(), architecture.in_channels)
    millions = sum(each.numel() for each in model.parameters()) / 1e6
    trainer = Trainer(model, engine, StepOptions(batch_size=BATCH, chip_px=CHIP_PX))
    chips, labels = np.zeros((BATCH, 3, CHIP_PX, CHIP_PX), np.float32), np.ones((BATCH, CHIP_PX, CHIP_PX), np.uint8)
    step_s = best_s(lambda: trainer.step(chips, labels, 0.0))
    prepared, image = engine.prepare_inference(build_network(architecture)), torch.zeros(1, 3, IMAGE_PX, IMAGE_PX)
    pace = IMAGE_PX**2 / 1e6 / best_s(lambda: engine.probability(prepared, image))
    halo = f"{field.halo_px} px" if field else "none"
    name = f"{architecture.name} {architecture.encoder}"
    return f"{name:36} {millions:6.1f} M {1000 * step_s:5.0f} ms {pace:6.2f} Mpx/s {halo:>10}"


def best_s(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of some turns, after one that prepares."""
    work()
    seconds = []
    for _ in range(TURNS):
        began_s = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began_s)
    return min(seconds)


if __name__ == "__main__":
    main()
