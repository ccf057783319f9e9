"""A whole city from end to end: wall time, throughput, overhead and memory, beside how it is done without RoadSeg.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/city.py`. The city is a generated scene, repeated
to 10,000 x 10,000 px by a virtual raster; the model has learned from the scene. `--image` and `--model` take others.
Each way runs in a process of its own. The plain way is what a person would write: crops of 512 px that overlap by half,
through the library's network in FP32; it is measured on some crops, since it would take long.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

SCENE_PX, CROP_PX, CROPS = 2048, 512, 6
MOSAIC = """<VRTDataset rasterXSize="{size}" rasterYSize="{size}"><SRS>{crs}</SRS>
<GeoTransform>{transform}</GeoTransform>{bands}</VRTDataset>"""
BAND = '<VRTRasterBand dataType="Byte" band="{band}"><ColorInterp>{color}</ColorInterp>{sources}</VRTRasterBand>'
SOURCE = """<SimpleSource><SourceFilename>{path}</SourceFilename><SourceBand>{band}</SourceBand>
<SrcRect xOff="0" yOff="0" xSize="{width}" ySize="{height}"/>
<DstRect xOff="{x}" yOff="{y}" xSize="{width}" ySize="{height}"/></SimpleSource>"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-px", type=int, default=10000)
    parser.add_argument("--steps", type=int, default=150, help="that the model learns from the scene")
    parser.add_argument("--image", help="instead of the generated city")
    parser.add_argument("--model", help="instead of one that learns from the scene; needs --image")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="of the job segment")
    parser.add_argument("--no-plain", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        image, model = arguments.image, arguments.model
        if not model:
            image, model = prepare_city(folder, arguments)
        options = dict(item.split("=", 1) for item in arguments.set)
        told = in_a_process("segment", {"raster": image, "model": model, "mask": str(folder / "mask.tif"), **options})
        tell(told)
        if not arguments.no_plain:
            plain = in_a_process("plain", {"model": model})
            print(f"plain crops, {CROP_PX} px, half overlapping: {plain:.3f} Mpx/s, {told['pace'] / plain:.1f} x less")


def tell(told: dict[str, float]) -> None:
    raw, pace = told["raw"], told["pace"]
    print(f"{told['engine']} {told['precision']}, tiles of {told['tile_px']} px with a halo of {told['halo_px']} px")
    print(f"the network alone on such a tile: {raw:.2f} Mpx/s")
    print(f"end to end: {told['megapixels']:.1f} Mpx in {told['seconds']:.1f} s, {pace:.2f} Mpx/s")
    print(f"overhead E {told['overhead']:.3f}; with it {pace * told['overhead'] / raw:.0%} of the network alone")
    print(f"peak memory of the process: {told['peak_gb']:.2f} GB", flush=True)


def prepare_city(folder: Path, arguments: argparse.Namespace) -> tuple[str, str]:
    """Generate a scene, learn from it, and repeat it."""
    scene, roads, model = (str(folder / name) for name in ("scene.tif", "roads.gpkg", "model.safetensors"))
    core("makescene", "--raster", scene, "--roads", roads, "--size-px", str(SCENE_PX), "--seed", "3")
    core("finetune", "--rasters", scene, "--roads", roads, "--width-field", "width_m", "--model", model,
         "--steps", str(arguments.steps))  # fmt: skip
    return repeat(scene, arguments.size_px, folder / "city.vrt"), model


def repeat(scene: str, size_px: int, path: Path) -> str:
    """Write a virtual raster of a scene again and again, side by side."""
    import rasterio

    with rasterio.open(scene) as dataset:
        width, height, crs = dataset.width, dataset.height, dataset.crs.to_string()
        transform = ", ".join(map(str, dataset.transform.to_gdal()))
    bands = ""
    for band, color in enumerate(("Red", "Green", "Blue"), 1):
        places = [(x, y) for y in range(0, size_px, height) for x in range(0, size_px, width)]
        sources = "".join(SOURCE.format(path=scene, band=band, width=width, height=height, x=x, y=y) for x, y in places)
        bands += BAND.format(band=band, color=color, sources=sources)
    path.write_text(MOSAIC.format(size=size_px, crs=crs, transform=transform, bands=bands))
    return str(path)


def core(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "training_core", *arguments], cwd=ROOT, check=True, capture_output=True)


def in_a_process(way: str, options: dict[str, str]) -> dict[str, float] | float:
    command = [sys.executable, __file__, "--measure", way, json.dumps(options)]
    ran = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(ran.stdout.splitlines()[-1])


def measure_segment(options: dict[str, str]) -> dict[str, float]:
    """Segment an image as the job does, and time the network alone on one of its tiles."""
    from training_core.processor import prepare_process

    prepare_process()
    import numpy as np

    from training_core.events import Reporter
    from training_core.jobs import Segment, from_options
    from training_core.segment import prepare_segmenter, run

    types = {field.name: field.item_type for field in Segment.option_fields()}
    job = from_options(Segment, {name: types[name](value) for name, value in options.items()})
    began_s = time.perf_counter()
    result = run(job, Reporter())
    seconds = time.perf_counter() - began_s
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    segmenter = prepare_segmenter(job.model, job.raster, job, Reporter())
    side = result["tile_px"] + 2 * result["halo_px"]
    values, known = np.zeros((len(segmenter.card.bands), side, side), np.uint8), np.ones((side, side), bool)
    times = []
    for _ in range(4):
        lap_s = time.perf_counter()
        segmenter.predictor.probability(values, known)
        times.append(time.perf_counter() - lap_s)
    return {
        **result,
        "seconds": seconds,
        "pace": result["megapixels_per_s"],
        "raw": side**2 / 1e6 / min(times),
        "peak_gb": int(peak.split()[1]) * 1024 / 1e9,
    }


def measure_plain(options: dict[str, str]) -> float:
    """Return the megapixels a second of crops that overlap by half, so that each pixel is computed four times."""
    import segmentation_models_pytorch
    import torch

    from training_core.bundle import load_weights

    weights, card = load_weights(options["model"])
    network = segmentation_models_pytorch.Unet("resnet34", encoder_weights=None, in_channels=len(card.bands))
    network.load_state_dict(weights)
    network.eval()
    crop = torch.zeros(1, len(card.bands), CROP_PX, CROP_PX)
    with torch.no_grad():
        network(crop)
        began_s = time.perf_counter()
        for _ in range(CROPS):
            torch.sigmoid(network(crop))
    return CROPS * CROP_PX**2 / 4 / 1e6 / (time.perf_counter() - began_s)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measured = {"segment": measure_segment, "plain": measure_plain}[sys.argv[2]](json.loads(sys.argv[3]))
        print(json.dumps(measured))
    else:
        main()
