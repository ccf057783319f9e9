"""The rasters of `connecting.py`: masks and probabilities of roads, each with the true roads of its area.

Scope: what is generated, trained and predicted, and files in a folder. Independent of how roads are extracted and
scored. What is there already is kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import rasterio
from rasterio.features import rasterize

from benchmarks.quality import DATA, Scene, halves, make_scenes, run_core
from benchmarks.zero_shot import GROUND, georeferenced, predicted
from scripts.starter.real_ground import DUBAI, MASSACHUSETTS, ROAD, SHANGHAI, Ground, read_ground
from training_core.geodata.pixel_codes import CERTAIN, NO_DATA
from training_core.scenes.layouts import LAYOUTS
from training_core.scenes.scene import SCENE_CRS, plan_scene

SIDE_PX, RESOLUTION_M = 1600, 0.5
TRAINED_SEED = 900  # of the scene that the weak and the middle model learn
# One thread, so that a model comes out the same on any machine.
SMALL_CHIPS = {"batch_size": "4", "chip_px": "128", "threads": "1"}
# Steps of learning from random weights: half a minute and a minute and a half with AVX2 on two cores. The good model is
# the starter.
MODELS = {"weak": 100, "middle": 300, "good": 0}
# Of a fine-tune, as in "Seven kinds of ground" of README.md.
ELSEWHERE = {"steps": "300", "batch_size": "4", "chip_px": "192", "threads": "1"}
SEEDS = (0, 1, 2)
STARTER = str(ROOT / "resources" / "starter" / "roads.safetensors")


@dataclass(frozen=True)
class Case:
    """A raster to vectorize, and the true roads of its area; paths in the folder."""

    group: str
    raster: str
    threshold: float
    truth: str
    aoi: str = ""
    bridge_field: str = ""


def read_cases(folder: Path) -> list[Case]:
    """Return the cases whose rasters are in a folder."""
    return [Case(**json.loads(path.read_text())) for path in sorted(folder.glob("*.case.json"))]


def prepare(folder: Path, seed: int, groups: Optional[list[str]]) -> None:
    """Write the rasters, of some groups or of all, that are not there yet; `seed` is that of the first scene."""
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
        image, truth = folder / f"{layout}_image.tif", folder / f"{layout}_truth.gpkg"
        made = partial(make_scene, image, truth, seed + number, layout)
        case = Case("perfect", f"perfect_{layout}.tif", 0.5, truth.name, bridge_field="bridge")
        yield case, partial(write_perfect, layout, seed + number, made)
        for model, steps in MODELS.items():
            written = partial(segment_scene, made, folder, model, steps)
            yield replace(case, group=model, raster=f"{model}_{layout}.tif"), written
        tuned = replace(case, group="tuned", raster=f"tuned_{layout}.tif", aoi=f"{layout}_east.gpkg")
        yield tuned, partial(segment_tuned, layout, made, folder)
    if DATA.exists():
        for scene, tuning_seed in product(make_scenes(folder), SEEDS):
            case = Case(scene.name, f"{scene.name}_{tuning_seed}.tif", 0.5, scene.roads, scene.scored)
            yield case, partial(segment_elsewhere, scene, folder, tuning_seed)
    for ground in read_ground(GROUND, is_held_out=True):
        if ground.source in (MASSACHUSETTS, DUBAI, SHANGHAI):
            case = Case(ground.source, f"{ground.name}.tif", 0.5, f"{ground.name}_truth.gpkg")
            yield case, partial(segment_ground, ground, folder)


def make_scene(image: Path, truth: Path, seed: int, layout: str) -> tuple[Path, Path]:
    """Return the files of a scene's image and true roads, made if they are not there."""
    if not (image.exists() and truth.exists()):
        size = {"size_px": str(SIDE_PX), "resolution_m": str(RESOLUTION_M), "seed": str(seed), "layout": layout}
        run_core("makescene", {"raster": str(image), "roads": str(truth), **size})
    return image, truth


def write_perfect(layout: str, seed: int, made: Callable[[], tuple[Path, Path]], path: Path) -> float:
    """Write the mask of the true roads."""
    made()
    plan = plan_scene(SIDE_PX, seed, RESOLUTION_M, layout)
    shapes = plan.roads.geometry.buffer(plan.roads.width_m / 2)
    mask = rasterize(shapes, out_shape=(SIDE_PX, SIDE_PX), transform=plan.transform, dtype="uint8")
    profile = {"driver": "GTiff", "width": SIDE_PX, "height": SIDE_PX, "count": 1, "dtype": "uint8", "nodata": 255}
    with rasterio.open(path, "w", crs=SCENE_CRS, transform=plan.transform, compress="deflate", **profile) as dataset:
        dataset.write(mask, 1)
    return 0.5


def scene_model(folder: Path, name: str, steps: int) -> str:
    """Return the file of a model, trained on a scene of its own if it is not there."""
    if not steps:
        return STARTER
    model = folder / f"{name}.safetensors"
    if not model.exists():
        image, roads = make_scene(folder / "trained.tif", folder / "trained.gpkg", TRAINED_SEED, "mixed")
        asked = {"rasters": str(image), "roads": str(roads), "base_model": "", "steps": str(steps), **SMALL_CHIPS}
        run_core("finetune", {**asked, "model": str(model)})
    return str(model)


def segment_scene(made: Callable[[], tuple[Path, Path]], folder: Path, name: str, steps: int, path: Path) -> float:
    """Write what a model predicts in a scene, and return its threshold."""
    return segment(made()[0], scene_model(folder, name, steps), path)


def segment_tuned(layout: str, made: Callable[[], tuple[Path, Path]], folder: Path, path: Path) -> float:
    """Write what the starter, fine-tuned on the western half of a scene, predicts in the eastern one."""
    image, truth = made()
    with rasterio.open(image) as dataset:
        areas = halves(layout, dataset.bounds, dataset.crs, folder)
    scene = Scene(layout, str(image), str(truth), *areas, {"width_field": "width_m"})
    return segment_elsewhere(scene, folder, SEEDS[0], path)


def segment(image: Path, model: str, path: Path, aoi: str = "") -> float:
    """Write the probability of road in an image, and return the threshold that was taken."""
    asked = {"raster": str(image), "probability": str(path), "model": model, "aoi": aoi}
    return float(run_core("segment", asked)["threshold"])


def segment_elsewhere(scene: Scene, folder: Path, seed: int, path: Path) -> float:
    """Write what a model that has learned one part of a scene predicts in the other; `seed` is that of learning."""
    model = folder / f"{scene.name}_{seed}.safetensors"
    if not model.exists():
        asked = {"rasters": scene.raster, "roads": scene.roads, "aoi": scene.trained, "base_model": STARTER}
        run_core("finetune", {**asked, "model": str(model), "seed": str(seed), **scene.options, **ELSEWHERE})
    return segment(Path(scene.raster), str(model), path, scene.scored)


def segment_ground(ground: Ground, folder: Path, path: Path) -> float:
    """Write what the starter predicts on real ground, at its own pixels; true roads are the middles of drawn ones."""
    mask = path.with_name(f"{path.stem}_mask.tif")
    georeferenced(mask, (ground.truth == ROAD)[None].astype("uint8"), ground.known, ground.pixel_m)
    run_core("vectorize", {"raster": str(mask), "roads": str(folder / f"{path.stem}_truth.gpkg")})
    probability, threshold = predicted(ground, "starter")
    georeferenced(path, probability[None], ground.known & (probability != NO_DATA), ground.pixel_m)
    with rasterio.open(path, "r+") as dataset:
        dataset.scales = (1 / CERTAIN,)
    return threshold
