"""How well extracted roads connect, each step of extraction switched off in turn.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/connecting.py FOLDER --prepare`, and again without
`--prepare`, which scores what lies in the folder. Preparing trains three models and writes, for a scene of each of the
seven plans, the perfect mask and what the models predict: a weak one (from random weights on one scene, half a
minute), a middle one (two minutes), and a good one (the starter). With the real scenes of shared/data at hand, it adds
what a fine-tune of five minutes predicts elsewhere: in Banepa's south after its north-west, in the eastern half of the
north-west after the western one. What is there already is kept.

APLS is at a snap distance of 4 m, TOPO its F1, completeness and correctness at 5 m; offset is the mean distance from
lines that are right to the true one; s is the time of extraction. Means over the rasters of a group.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import geopandas
import numpy as np
import rasterio
import shapely
from rasterio.features import rasterize

from quality import DATA, Scene, fine_tune, make_scenes, run_core
from training_core.events import Reporter
from training_core.jobs import ScoreNetwork, Vectorize
from training_core.models.model_file import load_weights
from training_core.pipelines.scorenetwork import run as score_network
from training_core.pipelines.vectorize import run as vectorize
from training_core.scenes.plan.layouts import LAYOUTS
from training_core.scenes.scene import SCENE_CRS, plan_scene

SIDE_PX, SEED, RESOLUTION_M = 1600, 100, 0.5
TRAINED_SEED = 900  # of the scene that the weak and the middle model learn
MODELS = {"weak": 0.5, "middle": 2.0, "good": 0.0}  # minutes of learning; the good one is the starter
REAL_MINUTES = 5.0
STARTER = str(ROOT / "resources" / "starter" / "roads.safetensors")
TOLERANCE_M, SAMPLE_M = 5.0, 2.0
# Options that switch a step off.
STEPS = {
    "all steps": {},
    "no hysteresis": {"hysteresis": 1.0},
    "nothing closed": {"close_m": 0.0},
    "spurs kept": {"spur_m": 0.0},
    "not centered": {"center": False},
    "gaps kept": {"gap_m": 0.0},
    "undershoots kept": {"snap_m": 0.0},
    "no likely links": {"likely_gap_m": 0.0},
    "unlikely stubs kept": {"stub_m": 0.0},
    "neither of both": {"likely_gap_m": 0.0, "stub_m": 0.0},
}


@dataclass(frozen=True)
class Case:
    """A raster to vectorize, and the true roads of its area; paths in the folder."""

    group: str
    raster: str
    threshold: float
    truth: str
    aoi: str = ""
    bridge_field: str = ""


@dataclass(frozen=True)
class Scores:
    """The scores of a network; see the module's text."""

    apls: float
    topo: float
    completeness: float
    correctness: float
    offset_m: float
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--prepare", action="store_true", help="train, and write the rasters")
    parser.add_argument("--seed", type=int, default=SEED, help="of the first scene to prepare")
    parser.add_argument("--groups", nargs="+", help="of rasters; all by default")
    parser.add_argument("--steps", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="for all rows")
    parser.add_argument("--each", action="store_true", help="print a row for each raster")
    arguments = parser.parse_args()
    if arguments.prepare:
        prepare(arguments.folder, arguments.seed, arguments.groups)
        return
    changed = parsed(arguments.set)
    cases = [case for case in read_cases(arguments.folder) if case.group in (arguments.groups or [case.group])]
    print(f"{'group':14} {'step':20} {'raster':26}   APLS   TOPO  compl.  corr.  offset      s", flush=True)
    for group in dict.fromkeys(case.group for case in cases):
        rasters = [case for case in cases if case.group == group]
        for step in arguments.steps:
            found = [scored(case, arguments.folder, {**changed, **STEPS[step]}) for case in rasters]
            if arguments.each:
                for case, scores in zip(rasters, found):
                    print_row(group, step, Path(case.raster).stem, [scores])
            print_row(group, step, f"{len(found)} rasters", found)


def parsed(changed: list[str]) -> dict[str, object]:
    """Return options of `Vectorize` from their text, as the type of each says."""
    usual = Vectorize()
    pairs = (item.split("=", 1) for item in changed)
    return {name: type(getattr(usual, name))(json.loads(text)) for name, text in pairs}


def print_row(group: str, step: str, name: str, found: list[Scores]) -> None:
    means = [float(np.mean([getattr(each, field.name) for each in found])) for field in fields(Scores)]
    apls, topo, complete, correct, offset_m, seconds = means
    numbers = f"{apls:6.3f} {topo:6.3f} {complete:7.3f} {correct:6.3f} {offset_m:7.2f} {seconds:6.2f}"
    print(f"{group:14} {step:20} {name:26} {numbers}", flush=True)


def scored(case: Case, folder: Path, options: dict[str, object]) -> Scores:
    """Vectorize a raster, and score the network."""
    lines = str(folder / "found.gpkg")
    began_s = time.perf_counter()
    job = Vectorize(raster=str(folder / case.raster), threshold=case.threshold, roads=lines)
    vectorize(replace(job, **options), Reporter())
    return scores_of(case, folder, Path(lines), time.perf_counter() - began_s)


def scores_of(case: Case, folder: Path, lines: Path, seconds: float) -> Scores:
    """Score the network that was made of a raster, a layer of roads."""
    truth, aoi = str(folder / case.truth), str(folder / case.aoi) if case.aoi else ""
    found = geopandas.read_file(lines, layer="roads")
    if found.empty:
        return Scores(0.0, 0.0, 0.0, 0.0, float("nan"), seconds)
    job = ScoreNetwork(truth=truth, proposal=str(lines), aoi=aoi, truth_bridge_field=case.bridge_field)
    scores = score_network(job, Reporter())
    apls, topo, matched = scores["apls"]["score"], scores["topo"]["f1"], scores["lines"]
    true = geopandas.read_file(truth).to_crs(found.estimate_utm_crs())
    measured = apls, topo, matched["completeness"], matched["correctness"], offset_m(found.to_crs(true.crs), true)
    return Scores(*measured, seconds)


def offset_m(found: geopandas.GeoDataFrame, true: geopandas.GeoDataFrame) -> float:
    """Return the mean distance in meters from found lines to true ones, of what lies within the tolerance."""
    dense = shapely.points(shapely.get_coordinates(shapely.segmentize(found.geometry.to_numpy(), SAMPLE_M)))
    tree = shapely.STRtree(true.geometry.to_numpy())
    _, distance_m = tree.query_nearest(dense, max_distance=TOLERANCE_M, return_distance=True, all_matches=False)
    return float(distance_m.mean()) if len(distance_m) else float("nan")


def read_cases(folder: Path) -> list[Case]:
    return [Case(**json.loads(path.read_text())) for path in sorted(folder.glob("*.case.json"))]


def prepare(folder: Path, seed: int, groups: Optional[list[str]]) -> None:
    """Write the rasters, of some groups or of all, that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for case, write in wanted_cases(folder, seed):
        told = (folder / case.raster).with_suffix(".case.json")
        if not told.exists() and case.group in (groups or [case.group]):
            threshold = write(folder / case.raster)
            told.write_text(json.dumps({**vars(case), "threshold": threshold}))
            print(case.raster, flush=True)


def wanted_cases(folder: Path, seed: int) -> Iterator[tuple[Case, Callable[[Path], float]]]:
    """Yield each case, and what writes its raster and returns its threshold."""
    for number, layout in enumerate(LAYOUTS):
        image, truth = scene_files(folder, layout, seed + number, layout)
        case = Case("perfect", f"perfect_{layout}.tif", 0.5, truth.name, bridge_field="bridge")
        yield case, partial(write_perfect, layout, seed + number)
        for model, minutes in MODELS.items():
            written = partial(segment_scene, image, folder, model, minutes)
            yield replace(case, group=model, raster=f"{model}_{layout}.tif"), written
    if not DATA.exists():
        print(f"The real scenes are absent: {DATA}")
        return
    for scene in make_scenes(folder):
        if scene.name in ("south", "banepa"):
            case = Case(scene.name, f"{scene.name}.tif", 0.5, scene.roads, scene.scored)
            yield case, partial(segment_elsewhere, scene, folder)


def scene_files(folder: Path, name: str, seed: int, layout: str) -> tuple[Path, Path]:
    """Return the files of a scene's image and true roads, made if they are not there."""
    image, truth = folder / f"{name}_image.tif", folder / f"{name}_truth.gpkg"
    if not (image.exists() and truth.exists()):
        size = {"size_px": str(SIDE_PX), "resolution_m": str(RESOLUTION_M), "seed": str(seed), "layout": layout}
        run_core("makescene", {"raster": str(image), "roads": str(truth), **size})
    return image, truth


def write_perfect(layout: str, seed: int, path: Path) -> float:
    """Write the mask of the true roads."""
    plan = plan_scene(SIDE_PX, seed, RESOLUTION_M, layout)
    shapes = plan.roads.geometry.buffer(plan.roads.width_m / 2)
    mask = rasterize(shapes, out_shape=(SIDE_PX, SIDE_PX), transform=plan.transform, dtype="uint8")
    profile = {"driver": "GTiff", "width": SIDE_PX, "height": SIDE_PX, "count": 1, "dtype": "uint8", "nodata": 255}
    with rasterio.open(path, "w", crs=SCENE_CRS, transform=plan.transform, compress="deflate", **profile) as dataset:
        dataset.write(mask, 1)
    return 0.5


def scene_model(folder: Path, name: str, minutes: float) -> str:
    """Return the file of a model, trained on a scene of its own if it is not there."""
    if not minutes:
        return STARTER
    model = folder / f"{name}.safetensors"
    if not model.exists():
        image, roads = scene_files(folder, "trained", TRAINED_SEED, "mixed")
        asked = {"rasters": str(image), "roads": str(roads), "base_model": "", "minutes": str(minutes)}
        run_core("finetune", {**asked, "model": str(model)})
    return str(model)


def segment_scene(image: Path, folder: Path, name: str, minutes: float, path: Path) -> float:
    """Write what a model predicts in a scene, and return its threshold."""
    return segment(image, scene_model(folder, name, minutes), path)


def segment(image: Path, model: str, path: Path, aoi: str = "") -> float:
    """Write the probability of road in an image, and return the model's threshold."""
    run_core("segment", {"raster": str(image), "probability": str(path), "model": model, "aoi": aoi})
    return load_weights(model)[1].threshold


def segment_elsewhere(scene: Scene, folder: Path, path: Path) -> float:
    """Write what a model that has learned one part of a scene predicts in the other."""
    model = fine_tune(scene, REAL_MINUTES, {"base_model": STARTER}, folder).model
    return segment(Path(scene.raster), model, path, scene.scored)


if __name__ == "__main__":
    main()
