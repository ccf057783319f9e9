"""The pace of architectures and encoders: a training step, and inference, beside the default; and what they learn.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/networks.py`. Weights are random, which does not
matter for the pace. Times are the best of some turns, in the precision that the job would choose here. With `--minutes
5`, each network is also trained from random weights on the western half of Banepa, for as many steps of 4 x 128 px as
so many minutes hold at that pace, and scored on the eastern one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import torch

from benchmarks.quality import Scene, fine_tune, make_scenes, score
from training_core.jobs import StepOptions
from training_core.jobs.recipe import ARCHITECTURES, ENCODERS, SMALL_CHIP_PX, USUAL_CHIP_PX
from training_core.learning.plan import STEPS_FRACTION
from training_core.learning.trainer import Trainer
from training_core.models.architectures import Architecture, build_network
from training_core.models.engine_choice import choose_precision
from training_core.models.engines import NativeEngine
from training_core.segmentation.measured import exact_halo_px
from training_core.system import processor

BATCH, IMAGE_PX, TURNS = 4, 512, 3


def main() -> None:
    """Print a row for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architectures", nargs="*", default=ARCHITECTURES, choices=ARCHITECTURES)
    parser.add_argument("--encoders", nargs="*", default=ENCODERS, choices=ENCODERS)
    parser.add_argument("--minutes", type=float, help="train each for so long, too")
    arguments = parser.parse_args()
    processor.prepare_process()
    engine = NativeEngine(choose_precision("auto", print))
    print(f"{processor.name()}; {engine.precision}; steps of {BATCH} x {USUAL_CHIP_PX} px")
    print(f"{'network':36} {'weights':>8} {'step':>8} {'inference':>11} {'exact halo':>10}")
    with tempfile.TemporaryDirectory() as folder:
        scene = next(iter(make_scenes(Path(folder)))) if arguments.minutes else None
        for name, encoder in itertools.product(arguments.architectures, arguments.encoders):
            architecture = Architecture(name, encoder)
            print(row(architecture, engine), flush=True)
            if scene:
                print(learned(architecture, engine, scene, arguments.minutes, Path(folder)), flush=True)


def row(architecture: Architecture, engine: NativeEngine) -> str:
    """Return weights in millions, milliseconds of a step, megapixels a second of inference, and the exact halo."""
    model = build_network(architecture)
    halo_px = exact_halo_px(model.eval(), architecture.in_channels)
    millions = sum(each.numel() for each in model.parameters()) / 1e6
    step_s = step_duration_s(architecture, engine, USUAL_CHIP_PX)
    prepared, image = engine.prepare_inference(build_network(architecture)), torch.zeros(1, 3, IMAGE_PX, IMAGE_PX)
    pace = IMAGE_PX**2 / 1e6 / best_s(lambda: engine.probability(prepared, image))
    halo = "none" if halo_px is None else f"{halo_px} px"
    name = f"{architecture.name} {architecture.encoder}"
    return f"{name:36} {millions:6.1f} M {1000 * step_s:5.0f} ms {pace:6.2f} Mpx/s {halo:>10}"


def learned(architecture: Architecture, engine: NativeEngine, scene: Scene, minutes: float, folder: Path) -> str:
    """Return what a network scores after as many steps from random weights as some minutes hold."""
    step_s = step_duration_s(architecture, engine, SMALL_CHIP_PX)
    steps = round(STEPS_FRACTION * minutes * 60 / step_s)
    network = {"architecture": architecture.name, "encoder": architecture.encoder}
    trained = fine_tune(scene, minutes, {**network, "steps": str(steps), "chip_px": str(SMALL_CHIP_PX)}, folder)
    found = score(scene, trained.model)
    pixel, best, relaxed = found["pixel"], found["best"], found["relaxed"]
    scores = f"IoU {pixel['iou']:.3f}, best F1 {best['f1']:.3f}, relaxed F1 {relaxed['f1']:.3f}"
    return f"    {steps} steps of {1000 * step_s:.0f} ms: {scores}"


def step_duration_s(architecture: Architecture, engine: NativeEngine, chip_px: int) -> float:
    """Return the seconds of a training step."""
    options = StepOptions(batch_size=BATCH, chip_px=chip_px)
    trainer = Trainer(build_network(architecture), engine, options)
    chips, labels = np.zeros((BATCH, 3, chip_px, chip_px), np.float32), np.ones((BATCH, chip_px, chip_px), np.uint8)
    return best_s(lambda: trainer.step(chips, labels, 0.0))


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
