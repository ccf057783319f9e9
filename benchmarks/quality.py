"""Quality against wall time on real images: RoadSeg's fine-tune beside a plain script that is given the same minutes.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/quality.py --minutes 1 2 5`. Each scene is split
spatially: one half to train on, and the other, held out from both, to score on. Needs the scenes in shared/data beside
the project. `--set averaging=0 --set learning_rate=0.002` tries other options of the fine-tune; `--no-plain` leaves the
plain script out. Both run in processes of their own; minutes are those of training.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import pandas
import rasterio
from safetensors.torch import load_file
from shapely.geometry import box

from training_core.events import Reporter
from training_core.geodata.rasters import normalize
from training_core.jobs import FineTune
from training_core.labels.drawing import read_drawing
from training_core.labels.labeled_images import find_images, read_labeled_image
from training_core.models.architectures import Architecture
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_model

DATA = ROOT.parent / "shared" / "data"
NO_LIMITS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Scene:
    """An image, its drawn roads, and the two halves of the area in which all of them are drawn."""

    name: str
    raster: str
    roads: str
    trained: str
    scored: str
    options: dict[str, str]


@dataclass(frozen=True)
class Trained:
    """A model file, and the run of the process that wrote it.

    Seconds count from the start of the process: to the finished model, and to the first step. `result` is the job's.
    """

    model: str
    steps: int
    wall_s: float
    first_step_s: Optional[float] = None
    result: dict[str, Any] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, nargs="+", default=[5.0])
    parser.add_argument("--scenes", nargs="+", default=["banepa", "vegas"])
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE")
    parser.add_argument("--no-plain", action="store_true")
    arguments = parser.parse_args()
    options = dict(item.split("=", 1) for item in arguments.set)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("scene    way       min  steps     F1    IoU  best F1  relaxed F1", flush=True)
        for scene in (scene for scene in make_scenes(folder) if scene.name in arguments.scenes):
            for minutes in arguments.minutes:
                if not arguments.no_plain:
                    show(scene, "plain", minutes, train_plainly(scene, minutes, folder))
                show(scene, "RoadSeg", minutes, fine_tune(scene, minutes, options, folder))


def make_scenes(folder: Path) -> list[Scene]:
    """Return the scenes; the halves of their areas are written to the folder."""
    area = geopandas.read_file(DATA / "banepa_northwest_aoi.geojson")
    banepa = halves("banepa", area.total_bounds, area.crs, folder)
    fields = {"width_field": "width_m", "sure_field": "sure"}
    scenes = [
        Scene("banepa", str(DATA / "banepa_rgb.tif"), str(DATA / "banepa_northwest_roads.geojson"), *banepa, fields)
    ]
    scenes.append(apart(scenes[0], fields, folder))
    for name, raster, roads in (
        ("vegas", "vegas_pan.tif", "vegas_pan_roads.geojson"),
        ("car_parks", "vegas_img0_rgb.tif", "vegas_img0_roads.geojson"),
    ):
        with rasterio.open(DATA / raster) as image:
            areas = halves(name, image.bounds, image.crs, folder)
        scenes.append(Scene(name, str(DATA / raster), str(DATA / roads), *areas, {}))
    return scenes


def apart(banepa: Scene, fields: dict[str, str], folder: Path) -> Scene:
    """Return the scene that is trained on all of Banepa's northwest, and scored in another part of the town."""
    roads = str(folder / "banepa_roads.gpkg")
    drawn = [geopandas.read_file(path) for path in (banepa.roads, DATA / "banepa_south_roads.geojson")]
    pandas.concat(drawn).to_file(roads)
    areas = (str(DATA / f"banepa_{part}_aoi.geojson") for part in ("northwest", "south"))
    return Scene("south", banepa.raster, roads, *areas, fields)


def halves(name: str, bounds: tuple[float, ...], crs: object, folder: Path) -> tuple[str, str]:
    """Write the western and the eastern half of an area, and return their files."""
    left, bottom, right, top = bounds
    middle = (left + right) / 2
    files = []
    for side, part in (("west", (left, bottom, middle, top)), ("east", (middle, bottom, right, top))):
        files.append(str(folder / f"{name}_{side}.gpkg"))
        geopandas.GeoDataFrame(geometry=[box(*part)], crs=crs).to_file(files[-1])
    return files[0], files[1]


def fine_tune(
    scene: Scene,
    minutes: float,
    options: dict[str, str],
    folder: Path,
    checkout: Path = ROOT,
    limits: Mapping[str, str] = NO_LIMITS,
) -> Trained:
    """Fine-tune on the trained half; other checkouts and limits are those of `events_of`."""
    model = str(folder / "model.safetensors")
    asked = {"aoi": scene.trained, "model": model, "minutes": str(minutes)}
    asked = {"rasters": scene.raster, "roads": scene.roads, "base_model": "", **asked, **scene.options, **options}
    moments_s: dict[str, float] = {}
    for after_s, event in events_of("finetune", asked, checkout, limits):
        moments_s.setdefault(event["event"], after_s)
    result = event["result"]
    return Trained(model, result["steps"], moments_s["result"], moments_s.get("metric"), result)


def train_plainly(
    scene: Scene, minutes: float, folder: Path, seed: int = 0, limits: Mapping[str, str] = NO_LIMITS
) -> Trained:
    """Train with the plain script on the very same pixels, which it is given ready-made."""
    job = FineTune(**scene.options)
    drawing = read_drawing(scene.roads, scene.trained, job, Reporter())
    (part,) = find_images((scene.raster,), drawing, 0.0, (), None, Reporter())
    image = read_labeled_image(part, drawing, Reporter())
    arrays, weights, model = folder / "arrays.npz", folder / "weights.safetensors", folder / "plain.safetensors"
    np.savez(arrays, image=normalize(image.values, image.known, image.bands), label=image.training)
    script = str(Path(__file__).with_name("plain_script.py"))
    command = [sys.executable, script, str(arrays), f"--minutes={minutes}", f"--weights={weights}", f"--seed={seed}"]
    began_s = time.perf_counter()
    out = subprocess.run(command, check=True, env={**os.environ, **limits}, capture_output=True, text=True).stdout
    wall_s = time.perf_counter() - began_s
    card = ModelCard(Architecture(in_channels=len(image.bands)), image.bands, image.grid.resolution_m)
    save_model(model, load_file(weights), card)
    return Trained(str(model), int(out.split()[1]), wall_s)


def show(scene: Scene, way: str, minutes: float, trained: Trained) -> None:
    """Score a model on the held-out half, and print that."""
    scores = score(scene, trained.model)
    pixel, best, relaxed = scores["pixel"], scores["best"], scores["relaxed"]
    row = f"{pixel['f1']:6.3f} {pixel['iou']:6.3f} {best['f1']:8.3f} {relaxed['f1']:11.3f}"
    print(f"{scene.name:8} {way:9} {minutes:3g} {trained.steps:6d} {row}", flush=True)


def score(scene: Scene, model: str) -> dict[str, Any]:
    """Return the scores of a model on the held-out half."""
    asked = {"roads": scene.roads, "aoi": scene.scored, "model": model, "precision": "fp32", **scene.options}
    return run_core("evaluate", {"rasters": scene.raster, **asked})


def run_core(job: str, options: Mapping[str, str | list[str]]) -> dict[str, Any]:
    """Run a job in a process of its own, and return its result."""
    *_, (_, last) = events_of(job, options)
    return last["result"]


def events_of(
    job: str, options: Mapping[str, str | list[str]], checkout: Path = ROOT, limits: Mapping[str, str] = NO_LIMITS
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Run a job in a process of its own; yield its events, each with the seconds since the process was started.

    The code is that of a checkout; the limits are environment variables.
    """
    command = [sys.executable, "-m", "training_core", job, "--events"]
    for name, value in options.items():
        values = [value] if isinstance(value, str) else value
        command += [f"--{name.replace('_', '-')}={each}" for each in values]
    began_s = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=checkout,
        env={**os.environ, **limits},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "error":
                raise SystemExit(f"{job} failed in {checkout}: {event['message']} {event['remedy']}")
            yield time.perf_counter() - began_s, event
    if process.returncode:
        raise SystemExit(f"{job} in {checkout} ended with status {process.returncode}.")


if __name__ == "__main__":
    main()
