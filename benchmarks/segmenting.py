"""Segmentation speed by engine: the model alone, and a whole city from end to end.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/segmenting.py`. The model is trained on a generated
scene, which a virtual raster repeats to a city; `--image`, `--roads`, `--aoi` and `--model` take others. The model is
exported and quantized by RoadSeg's own jobs, which give the accuracy of INT8. Then each way runs in a process of its
own, that is set up as RoadSeg's are:

- alone: one tile of noise after the other;
- end to end: the job `segment`, read from the image and written to a GeoTIFF. What runs in FP32 gets a part of it;
- as it is done without RoadSeg: crops of 512 px that overlap by half, by the library's U-Net in PyTorch and by ONNX
  Runtime, both in FP32, read from the image and written, too.

`--classes` instead compares all engines, the model alone, in classes of processors: this one, and lesser ones by the
variables that limit the libraries' instruction sets; beside each, the class' own peak of convolutions in FP32 or BF16.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

SCENE_PX, CROP_PX = 2048, 512
# Each with the model file that it takes, and the job's options.
ENGINES = {
    "native fp32": ("model.safetensors", {"engine": "native", "precision": "fp32"}),
    "ipex fp32": ("model.safetensors", {"engine": "ipex", "precision": "fp32"}),
    "native bf16": ("model.safetensors", {"engine": "native", "precision": "bf16"}),
    "ipex bf16": ("model.safetensors", {"engine": "ipex", "precision": "bf16"}),
    "openvino fp32": ("model.safetensors", {"engine": "openvino", "precision": "fp32"}),
    "openvino bf16": ("model.safetensors", {"engine": "openvino", "precision": "bf16"}),
    "openvino int8": ("int8.onnx", {"engine": "openvino"}),
}
# What RoadSeg does not use: PyTorch with the library's U-Net as it is, and ONNX Runtime.
OTHERS = {"torch fp32": "model.safetensors", "onnxruntime fp32": "fp32.onnx", "onnxruntime int8": "int8.onnx"}
# The variables that make this processor one of a class, and what runs there; BF16 only where there is a unit for it.
CLASSES = {
    "AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    "AVX512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "ATEN_CPU_CAPABILITY": "avx512"},
    "AVX512-VNNI": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI", "ATEN_CPU_CAPABILITY": "avx512"},
    "all it has": {},
}
# Floating-point operations of the U-Net on one pixel, as torch counts them for the U-Net of the library.
FLOP_PER_PX = 62.1e9 / 512**2
# Channels and side of the convolutions whose best counts as peak.
PEAK_SHAPES = [(64, 256), (128, 128), (128, 256), (256, 64), (256, 128), (512, 32), (512, 64)]
CROPPING = ("torch fp32", "onnxruntime fp32")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-px", type=int, default=10000, help="side of the city")
    parser.add_argument("--part-px", type=int, default=3000, help="of which what runs in FP32 gets so much")
    parser.add_argument("--tile-px", type=int, default=1216, help="of the model alone")
    parser.add_argument("--steps", type=int, default=150, help="of training on the scene")
    parser.add_argument("--image", help="instead of the scene; needs a model")
    parser.add_argument("--roads", help="drawn on the image, with width_m")
    parser.add_argument("--aoi", help="within which all are drawn")
    parser.add_argument("--model", help="instead of one trained on the scene")
    parser.add_argument("--classes", nargs="*", choices=CLASSES, help="compare these classes of processors, or all")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.classes is None:
            compare(Path(name), arguments)
        else:
            prepare(Path(name), arguments)
            for of_class in arguments.classes or CLASSES:
                compare_engines(of_class, Path(name), arguments.tile_px)


def compare_engines(of_class: str, folder: Path, tile_px: int) -> None:
    """Print the speed of each engine in a class of processors, and the share of the class' peak."""
    environment = CLASSES[of_class]
    options = {"folder": str(folder), "tile_px": tile_px}
    peaks = in_a_process("peak", {}, environment)
    print(f"\n{of_class}: {peaks['processor']}", flush=True)
    print(", ".join(f"peak in {name} {peak:.0f} GFLOP/s" for name, peak in peaks["gflop_per_s"].items()), flush=True)
    for name in ENGINES:
        precision = name.split()[-1]
        if precision == "bf16" and precision not in peaks["gflop_per_s"]:
            continue
        speed = in_a_process("alone", {"name": name, **options}, environment)["speed"]
        share = speed * FLOP_PER_PX / 1e3 / peaks["gflop_per_s"].get(precision, peaks["gflop_per_s"]["fp32"])
        print(f"{name:44} {speed:5.2f} Mpx/s {share:6.0%}", flush=True)


def compare(folder: Path, arguments: argparse.Namespace) -> None:
    """Prepare all, measure one after the other, and print each figure as it comes."""
    from training_core.system import processor

    print(processor.name(), flush=True)
    image = prepare(folder, arguments)
    city = repeat(image, arguments.size_px, folder / "city.vrt")
    part = repeat(image, arguments.part_px, folder / "part.vrt")
    print(f"\n{'model alone, tiles of ' + str(arguments.tile_px) + ' px':44} Mpx/s")
    for name in [*ENGINES, *OTHERS]:
        speed = in_a_process("alone", {"name": name, "folder": str(folder), "tile_px": arguments.tile_px})["speed"]
        print(f"{name:44} {speed:5.2f}", flush=True)
    print(f"\n{'end to end':44}   px  tile  halo     E  seconds  Mpx/s  of tiles alone  of warm ones  peak GB")
    for name in ENGINES:
        is_slow = name.endswith("fp32")
        show(name, folder, part if is_slow else city)
    show("openvino bf16", folder, city, halo="exact")
    show("openvino int8", folder, image)
    for resolution_m in (0.3, 0.6):
        show("openvino int8", folder, image, model=at_resolution(folder, resolution_m))
    for name in CROPPING:
        row = in_a_process("cropped", {"name": name, "folder": str(folder), "raster": part})
        print(f"{name + ', half-overlapping crops':44} {row['size']}  {CROP_PX}     -  4.00 {row['seconds']:8.1f} "
              f"{row['speed']:6.3f}", flush=True)  # fmt: skip


def show(name: str, folder: Path, raster: str, model: str = "", halo: str = "auto") -> None:
    file, options = ENGINES[name]
    row = in_a_process("segment", {"raster": raster, "model": model or str(folder / file), "halo": halo, **options})
    label = f"{name} of {Path(raster).stem}" + (f", {Path(model).stem}" if model else "")
    print(
        f"{label:44} {row['size']} {row['tile_px']:5} {row['halo_px']:5} {row['overhead']:5.2f} "
        f"{row['seconds']:8.1f} {row['megapixels_per_s']:6.2f} {row['of_alone']:15.0%} {row['of_warm']:13.0%} "
        f"{row['peak_gb']:8.2f}",
        flush=True,
    )


def prepare(folder: Path, arguments: argparse.Namespace) -> str:
    """Write the model in all its forms, print what INT8 costs, and return the image."""
    image, model = arguments.image, folder / "model.safetensors"
    labels = {"roads": arguments.roads, "aoi": arguments.aoi}
    if not image:
        image, labels = str(folder / "scene.tif"), {"roads": str(folder / "roads.gpkg"), "aoi": None}
        core("makescene", raster=image, roads=labels["roads"], size_px=SCENE_PX, seed=3, layout="mixed")
    if arguments.model:
        model.write_bytes(Path(arguments.model).read_bytes())
    else:
        core(
            "finetune",
            rasters=image,
            base_model="",
            model=model,
            steps=arguments.steps,
            width_field="width_m",
            **labels,
        )
    core("exportmodel", model=model, onnx=folder / "fp32.onnx", tile_px=0)
    given = {**labels, "width_field": "width_m"} if labels["roads"] else {}
    began_s = time.perf_counter()
    quantized = core("quantize", rasters=image, model=model, onnx=folder / "int8.onnx", tile_px=0, **given)
    figures = {name: quantized.get(name) for name in ("agreement", "iou_before", "iou", "full_precision")}
    print(f"quantized in {time.perf_counter() - began_s:.0f} s: {figures}", flush=True)
    return image


def core(job: str, **options: Any) -> dict[str, Any]:
    """Run a job in a process of its own, and return its result."""
    arguments = [part for name, value in options.items() if value is not None
                 for part in (f"--{name.replace('_', '-')}", str(value))]  # fmt: skip
    command = [sys.executable, "-m", "training_core", job, *arguments, "--events"]
    ran = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(ran.stdout.splitlines()[-1])["result"]


def repeat(image: str, size_px: int, path: Path) -> str:
    """Write a virtual raster of an image again and again, side by side."""
    import rasterio
    from rasterio.shutil import copy

    with rasterio.open(image) as dataset:
        width, height, count = dataset.width, dataset.height, min(3, dataset.count)
        profile = {"crs": dataset.crs, "transform": dataset.transform, "dtype": dataset.dtypes[0]}
    one = path.with_suffix(".one.tif")
    with rasterio.open(one, "w", driver="GTiff", width=8, height=8, count=count, photometric="rgb", **profile):
        pass
    copy(one, path, driver="VRT")
    text = path.read_text().replace(
        'rasterXSize="8" rasterYSize="8"', f'rasterXSize="{size_px}" rasterYSize="{size_px}"'
    )
    head, *bands = text.split("<VRTRasterBand")
    for number, band in enumerate(bands, 1):
        before, rest = band[: band.index("<SimpleSource")], band[band.rindex("</SimpleSource>") + 15 :]
        bands[number - 1] = before + "".join(_sources(image, number, width, height, size_px)) + rest
    path.write_text("<VRTRasterBand".join([head, *bands]))
    return str(path)


def _sources(image: str, band: int, width: int, height: int, size_px: int) -> Iterator[str]:
    for y in range(0, size_px, height):
        for x in range(0, size_px, width):
            size = f'xSize="{width}" ySize="{height}"'
            yield (
                f"<SimpleSource><SourceFilename>{Path(image).absolute()}</SourceFilename>"
                f'<SourceBand>{band}</SourceBand><SrcRect xOff="0" yOff="0" {size}/>'
                f'<DstRect xOff="{x}" yOff="{y}" {size}/></SimpleSource>'
            )


def at_resolution(folder: Path, resolution_m: float) -> str:
    """Write the quantized model as one for another ground resolution, and return its path."""
    import dataclasses

    from training_core.models.onnx_file import read_onnx, save_onnx

    model, card = read_onnx(str(folder / "int8.onnx"))
    path = folder / f"at {resolution_m} m.onnx"
    save_onnx(path, model, dataclasses.replace(card, resolution_m=resolution_m), 0)
    return str(path)


def in_a_process(way: str, options: dict[str, Any], environment: dict[str, str] | None = None) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", way, json.dumps(options)]
    variables = {**os.environ, **(environment or {})}
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=variables)
    if ran.returncode:
        sys.exit(ran.stderr)
    return json.loads(ran.stdout.splitlines()[-1])


def measure_segment(options: dict[str, Any]) -> dict[str, Any]:
    """Segment an image as the job does, then compute the same tiles with the model alone, and again, warm."""
    import numpy as np
    import rasterio

    from training_core.events import Reporter
    from training_core.geodata.tiling import tile_count
    from training_core.jobs import Segment, from_options
    from training_core.models.loading import load_model
    from training_core.pipelines.segment import run
    from training_core.segmentation.segmenter import prepare_segmenter
    from training_core.segmentation.work_plan import plan_image

    with tempfile.TemporaryDirectory() as folder:
        job = from_options(Segment, {**options, "mask": str(Path(folder, "mask.tif"))})
        began_s = time.perf_counter()
        result = run(job, Reporter())
        seconds = time.perf_counter() - began_s
        with rasterio.open(job.mask) as mask:
            height, width = mask.shape
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    model, card = load_model(job.model)
    predictor = prepare_segmenter(model, card, [plan_image(job.raster, None, card.input)], job, Reporter()).predictor
    tiles = tile_count(width, height, result["tile_px"], result["halo_px"])
    side = 32 * round((result["overhead"] * width * height / tiles) ** 0.5 / 32)
    tile = np.random.default_rng(0).standard_normal((1, len(predictor.bands), side, side), dtype=np.float32)
    times = [_seconds(lambda: predictor.probabilities(tile)) for _ in range(min(tiles, 6))]
    warm_s = min(times)
    streamed_s = width * height / 1e6 / result["megapixels_per_s"]
    first_s = times[0] - warm_s
    return {
        **result,
        "size": f"{width}x{height}",
        "seconds": seconds,
        "of_alone": (first_s + tiles * warm_s) / streamed_s,
        "of_warm": tiles * warm_s / streamed_s,
        "peak_gb": int(peak.split()[1]) * 1024 / 1e9,
    }


def _seconds(work: Callable[[], Any]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def make_runner(name: str, folder: Path) -> Callable:
    """Return a function from images, (n, 3, height, width) float32, to their probability."""
    import torch

    from training_core.models.engines import make_engine
    from training_core.models.loading import load_model, load_weights

    if name in ENGINES:
        file, options = ENGINES[name]
        network, _ = load_model(str(folder / file))
        engine = make_engine(options["engine"], options.get("precision", "int8"))
        prepared = engine.prepare_inference(network)
        return lambda images: engine.probability(prepared, torch.from_numpy(images)).numpy()
    if name == "torch fp32":
        import segmentation_models_pytorch

        weights, card = load_weights(str(folder / OTHERS[name]))
        plain = segmentation_models_pytorch.Unet("resnet34", encoder_weights=None, in_channels=len(card.bands))
        plain.load_state_dict(weights)
        plain.eval()
        return torch.inference_mode()(lambda images: torch.sigmoid(plain(torch.from_numpy(images))).numpy())
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(folder / OTHERS[name], options, providers=["CPUExecutionProvider"])
    return lambda images: session.run(None, {"image": images})[0]


def measure_alone(options: dict[str, Any]) -> dict[str, Any]:
    """Return the speed of the fastest of some tiles in megapixels per second."""
    import numpy as np

    side = options["tile_px"]
    run = make_runner(options["name"], Path(options["folder"]))
    images = np.random.default_rng(0).standard_normal((1, 3, side, side), dtype=np.float32)
    return {"speed": side**2 / 1e6 / min(_seconds(lambda: run(images)) for _ in range(6))}


def measure_peak(options: dict[str, Any]) -> dict[str, Any]:
    """Return the best rate of 3 x 3 convolutions by precision: FP32, and BF16 if there is a unit for it."""
    import torch

    from training_core.system import processor

    precisions = {"fp32": torch.float32} | ({"bf16": torch.bfloat16} if processor.has_bf16_unit() else {})
    rates = {name: max(_rate(dtype, *shape) for shape in PEAK_SHAPES) for name, dtype in precisions.items()}
    return {"processor": processor.name(), "gflop_per_s": rates}


def _rate(dtype: torch.dtype, channels: int, side: int) -> float:
    import torch

    layer = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False, dtype=dtype)
    layer.to(memory_format=torch.channels_last)
    features = torch.randn(1, channels, side, side).to(dtype).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        best_s = min(_seconds(lambda: layer(features)) for _ in range(12))
    return 2 * (3 * channels * side) ** 2 / best_s / 1e9


def measure_cropped(options: dict[str, Any]) -> dict[str, Any]:
    """Segment an image as a short script would: crops that overlap by half, averaged."""
    import numpy as np
    import rasterio
    from rasterio.windows import Window

    from training_core.models.loading import load_weights

    _, card = load_weights(str(Path(options["folder"]) / "model.safetensors"))
    means, deviations = (np.array([getattr(band, of) for band in card.bands], np.float32)[:, None, None]
                         for of in ("mean", "std"))  # fmt: skip
    run = make_runner(options["name"], Path(options["folder"]))
    began_s = time.perf_counter()
    with rasterio.open(options["raster"]) as image, tempfile.TemporaryDirectory() as folder:
        height, width = image.shape
        total, count = (np.zeros((height, width), np.float32) for _ in range(2))
        starts = [sorted({*range(0, size - CROP_PX, CROP_PX // 2), size - CROP_PX}) for size in (height, width)]
        for row in starts[0]:
            for column in starts[1]:
                values = image.read([1, 2, 3], window=Window(column, row, CROP_PX, CROP_PX))
                found = run(((values - means) / deviations)[None].astype(np.float32))[0, 0]
                total[row : row + CROP_PX, column : column + CROP_PX] += found
                count[row : row + CROP_PX, column : column + CROP_PX] += 1
        profile = {**image.profile, "driver": "GTiff", "count": 1, "dtype": "uint8", "compress": "deflate"}
        with rasterio.open(Path(folder, "mask.tif"), "w", **profile) as mask:
            mask.write((total / count >= card.threshold).astype(np.uint8), 1)
    seconds = time.perf_counter() - began_s
    return {"size": f"{width}x{height}", "seconds": seconds, "speed": width * height / 1e6 / seconds}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        from training_core.system import processor

        processor.prepare_process()
        measures = {
            "segment": measure_segment, "alone": measure_alone, "peak": measure_peak, "cropped": measure_cropped,
        }  # fmt: skip
        print(json.dumps(measures[sys.argv[2]](json.loads(sys.argv[3]))))
    else:
        main()
