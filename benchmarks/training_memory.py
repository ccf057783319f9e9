"""The estimate of a training's memory beside the peak that the system measures, for one configuration after the other.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/training_memory.py`. Each configuration has a
process of its own, which works as the job does: it estimates, makes a trainer, takes steps while chips wait, keeps the
best weights and, during the last step, the copies of a checkpoint.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from training_core.jobs.recipe import ARCHITECTURES, ENCODERS


@dataclass(frozen=True)
class Configuration:
    """What is trained, and how."""

    batch_size: int
    chip_px: int
    is_recomputing: bool = False
    precision: str = "bf16"
    engine: str = "native"
    encoder: str = "resnet34"
    optimizer: str = "adamw"
    accumulation: int = 1
    architecture: str = "Unet"


CONFIGURATIONS = [
    Configuration(1, 256),
    Configuration(4, 384),
    Configuration(4, 384, is_recomputing=True),
    Configuration(4, 384, accumulation=2),
    Configuration(4, 384, optimizer="lamb"),
    Configuration(4, 384, optimizer="sgd"),
    Configuration(4, 384, encoder="resnet18"),
    Configuration(4, 384, encoder="resnet50"),
    Configuration(4, 384, engine="ipex"),
    Configuration(4, 384, engine="ipex", is_recomputing=True),
    Configuration(4, 384, engine="ipex", encoder="resnet18"),
    Configuration(2, 384, engine="ipex", encoder="resnet50"),
    Configuration(4, 512),
    Configuration(8, 384),
    Configuration(2, 512, precision="fp32"),
    Configuration(2, 512, precision="fp32", is_recomputing=True),
    Configuration(1, 1312),
    Configuration(1, 1312, is_recomputing=True),
    Configuration(1, 1312, encoder="resnet50", is_recomputing=True),
    *(
        Configuration(2, 384, precision="fp32", architecture=name, encoder=encoder)
        for name, encoder in itertools.product(ARCHITECTURES, ENCODERS)
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of configurations, from 0 on")
    parser.add_argument("--measure", help="measure one configuration in this process; for this script itself")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(Configuration(**json.loads(arguments.measure)))))
        return
    print(f"{'no.':>3} {'what':56} {'estimate':>9} {'measured':>9} {'ratio':>6} {'step':>8}", flush=True)
    for number in arguments.only or range(len(CONFIGURATIONS)):
        configuration = CONFIGURATIONS[number]
        options = json.dumps(dataclasses.asdict(configuration))
        command = [sys.executable, __file__, "--measure", options]
        output = subprocess.run(
            command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ).stdout
        found = json.loads(output.splitlines()[-1])
        ratio = found["estimate_mb"] / found["measured_mb"]
        figures = f"{found['estimate_mb']:6.0f} MB {found['measured_mb']:6.0f} MB {ratio:6.2f} {found['step_s']:6.1f} s"
        print(f"{number:3} {describe(configuration):56} {figures}", flush=True)


def describe(configuration: Configuration) -> str:
    size = f"{configuration.batch_size} x {configuration.chip_px} px"
    network = f"{configuration.architecture} {configuration.encoder}"
    words = [size, configuration.precision, configuration.engine, network, configuration.optimizer]
    if configuration.accumulation > 1:
        words.append(f"x {configuration.accumulation}")
    return " ".join([*words, "recomp." * configuration.is_recomputing])


def measure(configuration: Configuration) -> dict[str, float]:
    """Return the estimate and the peak of this process in MB, and the seconds of the fastest step."""
    from training_core.system import processor

    processor.prepare_process()

    import numpy as np

    from training_core.jobs import FineTune
    from training_core.learning.plan import BATCHES_OF_CHIPS, measure_footprint
    from training_core.learning.trainer import Trainer
    from training_core.models.architectures import Architecture, build_network
    from training_core.models.engines import make_engine
    from training_core.models.recompute import recompute_activations

    batch_size, chip_px, accumulation = configuration.batch_size, configuration.chip_px, configuration.accumulation
    engine = make_engine(configuration.engine, configuration.precision)
    architecture = Architecture(configuration.architecture, configuration.encoder)
    recipe = FineTune(batch_size=batch_size, accumulation=accumulation, optimizer=configuration.optimizer)
    footprint = measure_footprint(architecture, engine, recipe, configuration.is_recomputing)
    network = build_network(architecture)
    trainer = Trainer(recompute_activations(network) if configuration.is_recomputing else network, engine, recipe)
    shape = (BATCHES_OF_CHIPS, batch_size * accumulation, 3, chip_px, chip_px)
    chips, labels = np.ones(shape, dtype=np.float32), np.ones((shape[0], shape[1], chip_px, chip_px), dtype=np.uint8)
    seconds, kept = [], []
    for number in range(3):
        began = time.perf_counter()
        trainer.step(chips[number], labels[number], 1e-4)
        seconds.append(time.perf_counter() - began)
        if number == 1:
            kept += [*trainer.weights().values(), *trainer.state_dict().values()]
            kept += [tensor.contiguous() for tensor in kept if not tensor.is_contiguous()]
    return {
        "estimate_mb": footprint.peak_bytes(batch_size, chip_px, accumulation) / 1e6,
        "measured_mb": peak_bytes_of_process() / 1e6,
        "step_s": min(seconds),
    }


def peak_bytes_of_process() -> int:
    """Return the most memory that this process has had; that of `getrusage` includes its parent's."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    main()
