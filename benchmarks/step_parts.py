"""A training step by part: CPU time of its operations by kind, in one thread, by class of processor.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/step_parts.py`. Beside `profiles.py`, which
measures wall-clock time, this can be had on a machine that is busy otherwise: each operation counts with the least CPU
time of some steps. The rest of a step is Python's. Each row is measured in a process of its own; `--other FOLDER` adds
the rows of another checkout. Prints CSV: milliseconds of a step on 4 chips of 192 px.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLASSES = {
    "AVX512-BF16": ({}, "bf16"),
    "AVX512": ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "ATEN_CPU_CAPABILITY": "avx512"}, "fp32"),
    "AVX2": ({"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}, "fp32"),
}
CONVOLUTION, DEPTHWISE, REST = "convolution", "depthwise convolution", "other operations"
# A part of the name of an operation, and its kind; the first that fits.
KINDS = {
    "batch_norm": "batch normalization",
    **dict.fromkeys(("relu", "hardtanh", "threshold"), "activation"),
    **dict.fromkeys(("_to_copy", "clone", "copy_", "cat", "stack", "pad"), "copies"),
    "adamw": "optimizer",
    "add": "addition",
}
COLUMNS = [CONVOLUTION, DEPTHWISE, *dict.fromkeys(KINDS.values()), REST]
SIDE_PX, BATCH, STEPS = 192, 4, 6


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", nargs="+", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--encoders", nargs="+", default=["efficientnet_lite0", "resnet34"])
    parser.add_argument("--statistics", nargs="+", default=["live", "frozen"], help="of batch normalization")
    parser.add_argument("--other", type=Path)
    parser.add_argument("--measure", nargs=4, help="checkout, encoder, precision, statistics; for this script itself")
    asked = parser.parse_args()
    if asked.measure:
        print(",".join(measure(*asked.measure)))
        return
    print(",".join(["encoder", "class", "batch norm", "checkout", *COLUMNS, "Python", "step"]), flush=True)
    for encoder in asked.encoders:
        for name in asked.classes:
            limits, precision = CLASSES[name]
            for statistics in asked.statistics:
                for checkout in filter(None, (asked.other, ROOT)):
                    command = [sys.executable, __file__, "--measure", str(checkout), encoder, precision, statistics]
                    row = subprocess.run(
                        command, env={**os.environ, **limits}, check=True, capture_output=True, text=True
                    )
                    print(encoder, name, statistics, checkout.name, row.stdout.strip(), sep=",", flush=True)


def measure(checkout: str, encoder: str, precision: str, statistics: str) -> list[str]:
    """Return milliseconds of the parts of a step, in the order of COLUMNS, of Python, and of all."""
    sys.path.insert(0, checkout)
    from training_core.system import processor

    processor.prepare_process(1)
    import numpy as np
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from training_core.jobs import StepOptions
    from training_core.learning.trainer import Trainer
    from training_core.models import architectures
    from training_core.models.engines import NativeEngine

    class Timed(TorchDispatchMode):
        """Takes the CPU time of each operation."""

        def __init__(self) -> None:
            super().__init__()
            self.rows: list[tuple[str, float]] = []

        def __torch_dispatch__(self, operation, types, arguments=(), options=None):
            began_s = time.process_time()
            result = operation(*arguments, **(options or {}))
            self.rows.append((kind_of(str(operation), arguments), time.process_time() - began_s))
            return result

    torch.set_num_threads(1)
    is_starter = encoder == architectures.EFFICIENTNET
    channels = architectures.NARROW_DECODER_CHANNELS if is_starter else architectures.DECODER_CHANNELS
    network = architectures.build_network(architectures.Architecture(encoder=encoder, decoder_channels=channels))
    recipe = StepOptions(chip_px=SIDE_PX, batch_size=BATCH, frozen_stages=0, batch_norm=statistics)
    trainer, random = Trainer(network, NativeEngine(precision), recipe), np.random.default_rng(0)
    chips = random.standard_normal((BATCH, 3, SIDE_PX, SIDE_PX), dtype=np.float32)
    labels = (random.random((BATCH, SIDE_PX, SIDE_PX)) > 0.9).astype(np.uint8)
    trainer.step(chips, labels, 1e-4)  # prepares memory and kernels
    steps_s, traces = [], []
    for _ in range(STEPS):
        began_s = time.process_time()
        trainer.step(chips, labels, 1e-4)
        steps_s.append(time.process_time() - began_s)
        with Timed() as timed:
            trainer.step(chips, labels, 1e-4)
        traces.append(timed.rows)
    parts: collections.Counter[str] = collections.Counter()
    for same in zip(*traces):
        parts[same[0][0]] += 1000 * min(seconds for _, seconds in same)
    step_ms = 1000 * min(steps_s)
    python_ms = max(0.0, step_ms - sum(parts.values()))
    return [*(f"{parts[name]:.1f}" for name in COLUMNS), f"{python_ms:.1f}", f"{step_ms:.0f}"]


def kind_of(operation: str, arguments: tuple[object, ...]) -> str:
    """Return the kind of an operation of PyTorch, one of COLUMNS."""
    if "convolution" in operation:
        groups = arguments[9 if "backward" in operation else 8]
        return DEPTHWISE if groups > 1 else CONVOLUTION
    return next((kind for part, kind in KINDS.items() if part in operation), REST)


if __name__ == "__main__":
    main()
