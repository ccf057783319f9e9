"""Megapixels a second of a network alone, by what runs it.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/inference.py`. A ResNet34-UNet with random weights,
whose pace is that of a trained one, is exported and quantized on noise. Then each runner computes tiles of noise, in a
process of its own that is set up as RoadSeg's are; they take turns, and the medians count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# Each with what it takes: of "torch" and "onnxruntime" no engine of RoadSeg knows.
RUNNERS = {
    "torch fp32, as the library has it": ("torch", "fp32"),
    "native fp32": ("native", "fp32"),
    "native bf16": ("native", "bf16"),
    "ipex bf16": ("ipex", "bf16"),
    "openvino fp32": ("openvino", "fp32"),
    "openvino bf16": ("openvino", "bf16"),
    "openvino int8": ("openvino", "int8"),
    "onnxruntime fp32": ("onnxruntime", "fp32"),
    "onnxruntime int8": ("onnxruntime", "int8"),
}
CALIBRATION_PX, CALIBRATIONS = 512, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-px", type=int, default=1024)
    parser.add_argument("--tiles", type=int, default=6, help="tiles a round, of which the first does not count")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the models lie; for this script itself")
    parser.add_argument("--measure", help="measure one runner in this process, or make the models; as above")
    arguments = parser.parse_args()
    if arguments.measure:
        prepare_process()
        work = make_models if arguments.measure == "models" else measure
        print(json.dumps(work(arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments.folder = folder
        compare(arguments)


def prepare_process() -> None:
    from training_core import processor

    processor.prepare_process()


def compare(arguments: argparse.Namespace) -> None:
    """Measure all in turns, and print them side by side."""
    from training_core import processor

    print(processor.name(), flush=True)
    ask("models", arguments)
    seconds: dict[str, list[float]] = {name: [] for name in RUNNERS}
    for _ in range(arguments.rounds):
        for name in RUNNERS:
            seconds[name] += ask(name, arguments)
    print(f"ResNet34-UNet, one tile of {arguments.size_px} px after the other")
    print(f"{'runner':36} Mpx/s  median ms  best ms")
    for name, values in seconds.items():
        median = statistics.median(values)
        pace = arguments.size_px**2 / 1e6 / median
        print(f"{name:36} {pace:5.2f} {1000 * median:10.0f} {1000 * min(values):8.0f}")


def ask(what: str, arguments: argparse.Namespace) -> list[float]:
    """Run this script in a process of its own, and return what it found."""
    options = ["--size-px", str(arguments.size_px), "--tiles", str(arguments.tiles), "--folder", arguments.folder]
    command = [sys.executable, __file__, "--measure", what, *options]
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def make_models(arguments: argparse.Namespace) -> list[float]:
    """Write the network as ONNX files, in full precision and quantized."""
    import numpy as np
    import torch

    from training_core.events import Reporter
    from training_core.model import Architecture, build_network
    from training_core.onnx_model import export_network
    from training_core.quantize import round_numbers
    from training_core.samples import Sample

    torch.manual_seed(0)
    model = export_network(build_network(Architecture()))
    shape = (1, 3, CALIBRATION_PX, CALIBRATION_PX)
    noise = np.random.default_rng(0).standard_normal((CALIBRATIONS, *shape), dtype=np.float32)
    samples = [Sample(images, np.ones(shape[2:], dtype=bool), None) for images in noise]
    for precision, made in (("fp32", model), ("int8", round_numbers(model, samples, (), Reporter()))):
        Path(arguments.folder, f"{precision}.onnx").write_bytes(made.SerializeToString())
    return []


def measure(arguments: argparse.Namespace) -> list[float]:
    """Return the seconds of each tile, but for the first."""
    import numpy as np

    shape = (1, 3, arguments.size_px, arguments.size_px)
    images = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    run = make_runner(*RUNNERS[arguments.measure], Path(arguments.folder))
    seconds = []
    for _ in range(arguments.tiles):
        began = time.perf_counter()
        run(images)
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


def make_runner(name: str, precision: str, folder: Path) -> Callable:
    """Return a function that computes the probability of an array of images."""
    import torch

    from training_core.engines import OPENVINO, Engine
    from training_core.model import Architecture, build_network
    from training_core.onnx_model import OnnxNetwork

    path = folder / f"{precision}.onnx"
    if name == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda images: session.run(None, {"image": images})
    if name == "torch":
        import segmentation_models_pytorch

        plain = segmentation_models_pytorch.Unet("resnet34", encoder_weights=None).eval()
        return torch.inference_mode()(lambda images: torch.sigmoid(plain(torch.from_numpy(images))))
    full = folder / "fp32.onnx" if precision != "int8" else path
    network = OnnxNetwork(full.read_bytes(), precision == "int8") if name == OPENVINO else build_network(Architecture())
    engine = Engine(name, precision)
    prepared = engine.prepare_inference(network)
    return lambda images: engine.probability(prepared, torch.from_numpy(images))


if __name__ == "__main__":
    main()
