"""Models of two offices, merged: beside each alone, and beside one that learns from the images of both.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/merging.py --steps 60 --seeds 0 1`. The labeled
area of the scene banepa is cut into three strips: two offices have the western and the eastern one, and all models are
scored on the middle one, from which none learned. Each is fine-tuned from the starter in the same number of steps.
Needs the scene in shared/data beside the project.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
from shapely.geometry import Polygon, box

from benchmarks.quality import DATA, Scene, fine_tune, make_scenes, run_core, score

# Of the fine-tunes: chips small enough for many steps, and nothing that another processor would choose otherwise.
RECIPE = {"batch_size": "4", "chip_px": "128", "engine": "native", "precision": "fp32", "frozen_stages": "0"}
WAYS = ("starter", "west alone", "east alone", "both together", "merged", "merged, no images")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments = parser.parse_args()
    print("seed  way                   IoU     F1  relaxed F1", flush=True)
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scene = next(scene for scene in make_scenes(folder) if scene.name == "banepa")
        west, middle, east = strips()
        scene = replace(scene, scored=layer(folder / "middle.gpkg", middle))
        areas = dict(zip(WAYS[1:4], ([west], [east], [west, east])))
        for seed in arguments.seeds:
            for way, model in models_of(scene, areas, arguments.steps, seed, folder).items():
                scores = score(scene, model)
                rows[seed, way] = scores["pixel"]["iou"], scores["pixel"]["f1"], scores["relaxed"]["f1"]
                show(str(seed), way, rows[seed, way])
    for way in WAYS:
        show("mean", way, np.mean([rows[seed, way] for seed in arguments.seeds], axis=0))


def models_of(scene: Scene, areas: dict[str, list[Polygon]], steps: int, seed: int, folder: Path) -> dict[str, str]:
    """Fine-tune on each of the areas, merge the first two, and return the model files by way."""
    models = {"starter": "starter"}
    for number, (way, parts) in enumerate(areas.items()):
        models[way] = str(folder / f"{seed} {number}.safetensors")
        trained = layer(folder / f"{number}.gpkg", *parts)
        options = {**RECIPE, "base_model": "starter", "steps": str(steps), "seed": str(seed), "model": models[way]}
        fine_tune(replace(scene, trained=trained), 1.0, options, folder)
    sources = [models[way] for way in WAYS[1:3]]
    for way, images in (("merged", [scene.raster]), ("merged, no images", [])):
        models[way] = str(folder / f"{seed} {way}.safetensors")
        run_core("mergemodels", {"models": sources, "rasters": images, "model": models[way]})
    return models


def strips() -> list[Polygon]:
    """Return the labeled area in three strips of the same width, from west to east."""
    left, bottom, right, top = geopandas.read_file(DATA / "banepa_northwest_aoi.geojson").total_bounds
    edges = np.linspace(left, right, 4)
    return [box(west, bottom, east, top) for west, east in zip(edges, edges[1:])]


def layer(path: Path, *parts: Polygon) -> str:
    """Write polygons in the scene's CRS to a layer, and return its file."""
    crs = geopandas.read_file(DATA / "banepa_northwest_aoi.geojson").crs
    geopandas.GeoDataFrame(geometry=list(parts), crs=crs).to_file(path)
    return str(path)


def show(seed: str, way: str, scores: tuple[float, ...]) -> None:
    """Print a row."""
    print(f"{seed:5} {way:18} {scores[0]:6.3f} {scores[1]:6.3f} {scores[2]:11.3f}", flush=True)


if __name__ == "__main__":
    main()
