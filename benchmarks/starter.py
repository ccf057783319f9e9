"""Scores of the starter model: zero-shot, and fine-tuned for some minutes beside random weights given the same.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/starter.py --minutes 1 3 5 --pictures FOLDER`. The
scenes are real ones, in shared/data beside the project, on none of which the starter was trained; each is split
spatially as in quality.py. `whole` scores the starter zero-shot on the whole labeled area, `east` on the held-out half.
APLS is that of the vectorized probability, at a snap distance of 4 m. `--set steps=215 --set chip_px=128` and so on
settle options of the fine-tune, so that scores do not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import pandas
import rasterio
from PIL import Image
from rasterio.enums import Resampling

from benchmarks.quality import Scene, fine_tune, make_scenes, run_core

PICTURE_PX = 900


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, nargs="+", default=[1.0, 3.0, 5.0])
    parser.add_argument("--scenes", nargs="+", default=["banepa", "vegas", "car_parks"])
    parser.add_argument("--starter", default="starter", help="the model to start from")
    parser.add_argument("--starts", nargs="*", default=["starter", "random"], help="none: zero-shot scores alone")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of fine-tuning, one run for each")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="of fine-tuning")
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    options = dict(item.split("=", 1) for item in arguments.set)
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    print("scene      start    min   area  steps    IoU  relaxed F1   APLS", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for scene in (scene for scene in make_scenes(folder) if scene.name in arguments.scenes):
            for part, area in (("whole", whole(scene, folder)), ("east", scene.scored)):
                show(scene, "starter", 0, part, area, 0, arguments.starter, folder, arguments.pictures)
            for start in arguments.starts:
                for minutes in arguments.minutes:
                    base = arguments.starter if start == "starter" else ""
                    for seed in arguments.seeds:
                        trained = fine_tune(scene, minutes, {"base_model": base, "seed": str(seed), **options}, folder)
                        made = (trained.steps, trained.model)
                        show(scene, start, minutes, "east", scene.scored, *made, folder, arguments.pictures)


def whole(scene: Scene, folder: Path) -> str:
    """Write the area of both halves, and return its file."""
    parts = [geopandas.read_file(path) for path in (scene.trained, scene.scored)]
    path = str(folder / f"{scene.name}_whole.gpkg")
    area = pandas.concat(parts).union_all()
    geopandas.GeoDataFrame(geometry=[area], crs=parts[0].crs).to_file(path)
    return path


def show(
    scene: Scene,
    start: str,
    minutes: float,
    part: str,
    area: str,
    steps: int,
    model: str,
    folder: Path,
    pictures: Optional[Path],
) -> None:
    """Score a model on an area and print the scores; draw the probability there."""
    image = {"model": model, "aoi": area}
    scores = run_core("evaluate", {"rasters": scene.raster, "roads": scene.roads, **image, **scene.options})
    lines = str(folder / "lines.gpkg")
    probability = str(folder / "probability.tif")
    run_core("segment", {"raster": scene.raster, "probability": probability, **image})
    run_core("vectorize", {"raster": probability, "threshold": str(scores["threshold"]), "roads": lines})
    found = len(geopandas.read_file(lines))
    network = run_core("scorenetwork", {"truth": scene.roads, "proposal": lines, "aoi": area}) if found else {}
    apls = network["apls"]["score"] if found else 0.0
    row = f"{scores['pixel']['iou']:6.3f} {scores['relaxed']['f1']:11.3f} {apls:6.3f}"
    print(f"{scene.name:10} {start:8} {minutes:3g} {part:6} {steps:6d} {row}", flush=True)
    if pictures:
        draw(scene, probability, pictures / f"{scene.name}_{start}_{minutes:g}_{part}.png")


def draw(scene: Scene, probability: str, path: Path) -> None:
    """Write a picture of the scene, with the probability of road in red."""
    with rasterio.open(scene.raster) as image, rasterio.open(probability) as roads:
        size = (PICTURE_PX, round(PICTURE_PX * image.width / image.height))
        bands = list(range(1, min(image.count, 3) + 1))
        picture = image.read(bands, out_shape=(len(bands), *size), resampling=Resampling.average).astype(float)
        found = roads.read(1, out_shape=size, resampling=Resampling.average, masked=True).filled(0) / 254
    picture = np.broadcast_to(picture / np.percentile(picture, 99.5) * 255, (3, *size)).clip(0, 255)
    red = picture * (1 - 0.7 * found) + np.array([255, 0, 0])[:, None, None] * 0.7 * found
    Image.fromarray(np.hstack([each.transpose(1, 2, 0).astype(np.uint8) for each in (picture, red)])).save(path)


if __name__ == "__main__":
    main()
