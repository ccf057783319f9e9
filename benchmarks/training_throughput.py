"""Images a second of the whole training loop, beside the processor's peak and beside a plain script.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/training_throughput.py`. The peak is the best of a
convolution forward and backward, over the shapes of a ResNet34-UNet, in BF16 and in FP32; a loop is compared with that
of its own precision. ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 in the environment makes the processor one of
that class (AVX512_CORE and avx512: without BF16), for which --precision fp32 leaves BF16 out. The loops are real
ones: chips drawn from an image, jittered and turned, losses, optimizer, averaged weights, progress reported. They and
the plain script, each in a process of its own, take turns, and the medians count. The loops may have another encoder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# Floating-point operations of one training step on one pixel, as torch counts them for the U-Net of the library.
FLOP_PER_PX = 186.3026e9 / 512**2
PEAK_SHAPES = [(64, 128), (128, 64), (256, 32), (256, 64), (512, 16), (512, 32)]
LOOPS = {
    "native fp32": {"engine": "native", "precision": "fp32"},
    "native bf16": {"engine": "native", "precision": "bf16"},
    "ipex bf16": {"engine": "ipex", "precision": "bf16"},
    "native bf16, the same chips": {"engine": "native", "precision": "bf16", "same_chips": True},
    "native bf16, encoder frozen": {"engine": "native", "precision": "bf16", "frozen_stages": 5, "base_model": "b"},
    "native bf16, recomputing": {"engine": "native", "precision": "bf16", "recompute": "yes"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-px", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--encoder", default="resnet34", help="of the loops; the plain script has ResNet34")
    parser.add_argument("--precision", choices=("fp32", "bf16"), nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--measure", help="measure one loop in this process, or 'peak fp32'; for this script itself")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments, Path(folder))


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure all in turns, and print them side by side."""
    from training_core.system import processor

    isa = os.environ.get("ONEDNN_MAX_CPU_ISA")
    print(processor.name() + (f", used as {isa}" if isa else ""), flush=True)
    prepare_arrays(folder / "arrays.npz", 2 * arguments.size_px)
    loops = {name: options for name, options in LOOPS.items() if options["precision"] in arguments.precision}
    if not arguments.encoder.startswith("resnet"):
        loops = {name: options for name, options in loops.items() if "recompute" not in options}
    peaks: dict[str, list[tuple[float, float]]] = {precision: [] for precision in arguments.precision}
    speeds: dict[str, list[float]] = {name: [] for name in ("plain script", *loops)}
    for _ in range(arguments.rounds):
        for precision, rates in peaks.items():
            rates.append(json.loads(ask(["--measure", f"peak {precision}"], arguments)))
        speeds["plain script"].append(speed_of_plain_script(folder / "arrays.npz", arguments))
        for name in loops:
            speeds[name].append(json.loads(ask(["--measure", name], arguments)))
    best = {precision: [max(each) for each in zip(*rates)] for precision, rates in peaks.items()}
    for precision, (forward, both) in best.items():
        print(f"{precision.upper()} convolution peak: {both:.0f} GFLOP/s forward and backward, {forward:.0f} forward")
    shape = f"batch {arguments.batch_size}, {arguments.size_px} px, whole loop"
    print(f"U-Net on {arguments.encoder}, {shape}; shares of a peak are those of ResNet34's operations")
    print(f"{'loop':30} images/s  of plain  of peak")
    plain = statistics.median(speeds["plain script"])
    for name, values in speeds.items():
        speed = statistics.median(values)
        rate = speed * FLOP_PER_PX * arguments.size_px**2 / 1e9
        precision = loops[name]["precision"] if name in loops else "fp32"
        share = f"{rate / best[precision][1]:8.0%}" if precision in best and arguments.encoder == "resnet34" else ""
        print(f"{name:30} {speed:8.2f} {speed / plain:7.2f} x {share}")


def prepare_arrays(path: Path, size_px: int) -> None:
    """Write noise with labels for the plain script."""
    import numpy as np

    random = np.random.default_rng(0)
    image = random.standard_normal((3, size_px, size_px), dtype=np.float32)
    np.savez(path, image=image, label=(random.random((size_px, size_px)) > 0.9).astype(np.uint8))


def speed_of_plain_script(arrays: Path, arguments: argparse.Namespace) -> float:
    """Return its images a second."""
    command = [sys.executable, str(Path(__file__).with_name("plain_script.py")), str(arrays)]
    shape = [f"--size-px={arguments.size_px}", f"--batch-size={arguments.batch_size}", f"--steps={arguments.steps}"]
    out = subprocess.run([*command, *shape, "--minutes=10"], check=True, capture_output=True, text=True).stdout
    return float(out.split("images_per_s")[1])


def ask(question: list[str], arguments: argparse.Namespace) -> str:
    """Return what this script prints in a process of its own."""
    shape = [f"--size-px={arguments.size_px}", f"--batch-size={arguments.batch_size}", f"--steps={arguments.steps}"]
    command = [sys.executable, __file__, *question, *shape, f"--encoder={arguments.encoder}"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def measure(arguments: argparse.Namespace) -> object:
    """Return the peak forward and forward with backward in GFLOP/s, or a loop's images a second."""
    from training_core.system import processor

    processor.prepare_process()
    if not arguments.measure.startswith("peak"):
        return speed_of_loop(arguments, dict(LOOPS[arguments.measure]))
    precision = arguments.measure.split()[1]
    rates = [rates_of_convolution(precision, arguments.batch_size, *shape) for shape in PEAK_SHAPES]
    return [max(forward for forward, _ in rates), max(both for _, both in rates)]


def rates_of_convolution(precision: str, batch: int, channels: int, size_px: int) -> tuple[float, float]:
    """Return GFLOP/s of a 3 x 3 convolution, forward alone and with its backward, each at its best.

    Parameters
    ----------
    precision : str
        fp32 or bf16.
    batch, channels, size_px : int
        Shape of the features.
    """
    import torch

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    features = torch.randn(batch, channels, size_px, size_px, dtype=dtype)
    features = features.contiguous(memory_format=torch.channels_last).requires_grad_()
    layer = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
    layer.to(dtype=dtype, memory_format=torch.channels_last)
    flop = 2 * batch * (channels * size_px * 3) ** 2
    forward, both = [], []
    for _ in range(8):
        began = time.perf_counter()
        result = layer(features)
        forward.append(time.perf_counter() - began)
        result.backward(result.detach())
        both.append(time.perf_counter() - began)
    return flop / min(forward) / 1e9, 3 * flop / min(both) / 1e9


def speed_of_loop(arguments: argparse.Namespace, options: dict[str, object]) -> float:
    """Return images a second of the loop as a job runs it, by the median of its steps."""
    import itertools

    import numpy as np
    import torch
    from affine import Affine
    from rasterio.crs import CRS

    from training_core.events import Reporter
    from training_core.geodata.grid import Grid
    from training_core.geodata.rasters import Band
    from training_core.jobs import FineTune
    from training_core.labels.labeled_images import LabeledImage
    from training_core.learning.chips import ChipSampler, prefetch
    from training_core.learning.trainer import Trainer
    from training_core.learning.training_loop import Training
    from training_core.models.architectures import Architecture, build_network
    from training_core.models.engines import make_engine
    from training_core.models.recompute import recompute_activations

    is_same = options.pop("same_chips", False)
    size_px, random = 2 * arguments.size_px, np.random.default_rng(0)
    label = (random.random((size_px, size_px)) > 0.9).astype(np.uint8)
    validation = np.full_like(label, 255)
    validation[:64, :64] = label[:64, :64]
    image = LabeledImage(
        "noise.tif",
        Grid(CRS.from_epsg(32633), Affine(1, 0, 390000, 0, -1, 5820000), size_px, size_px),
        random.integers(0, 255, (3, size_px, size_px), dtype=np.uint8),
        np.ones((size_px, size_px), bool),
        label,
        validation,
        tuple(Band(name, 127.0, 74.0) for name in ("red", "green", "blue")),
    )
    recipe = FineTune(batch_size=arguments.batch_size, chip_px=arguments.size_px, steps=arguments.steps, **options)
    torch.manual_seed(0)
    network = build_network(Architecture(encoder=arguments.encoder))
    if recipe.recompute == "yes":
        recompute_activations(network)
    training = Training(
        Trainer(network, make_engine(recipe.engine, recipe.precision), recipe), [image], recipe, Reporter()
    )
    batches = prefetch(ChipSampler([image], arguments.size_px, 0), arguments.batch_size)
    if is_same:
        first = next(batches)
        batches = (batch for batch in itertools.repeat(first))
    moments = []
    training.run(batches, lambda _: moments.append(time.perf_counter()))
    # The first step prepares memory and kernels, and after the last one comes the validation.
    seconds = [after - before for before, after in zip(moments, moments[1:-1])]
    return arguments.batch_size / statistics.median(seconds)


if __name__ == "__main__":
    main()
