"""End-to-end demo on one image with qgis_process: fine-tune, segment, vectorize, and render a map.

Without an image, a scene is generated; the roads of its western half serve as labels, and the eastern half is held out
for scoring.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from osgeo import gdal

from scripts.headless import ROOT, environment, run, say
from training_core.jobs import has_starter

FOLDER = ROOT / "demo"
SCENE_PX, SCENE_SEED = 2048, 3
MINUTES = 2
MAP_WIDTH_PX = 1400


@dataclass
class Material:
    """Inputs of the demo."""

    image: Path
    roads: Path
    aoi: Optional[Path]
    unseen: Optional[Path] = None
    width_field: str = ""


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("image", "roads", "aoi"):
        parser.add_argument(f"--{name}", type=lambda text: Path(text).resolve())
    arguments = parser.parse_args()
    if bool(arguments.image) != bool(arguments.roads):
        parser.error("IMAGE needs ROADS, the roads drawn on it, and the other way round")
    FOLDER.mkdir(exist_ok=True)
    if arguments.image:
        material = Material(arguments.image, arguments.roads, arguments.aoi)
    else:
        with timed("Generate a scene"):
            material = generate_scene()
    show(material, map_roads(material))


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Report how long a step took."""
    say(f"{step} ...")
    began = time.monotonic()
    yield
    say(f"{step}: {time.monotonic() - began:.0f} s")


def generate_scene() -> Material:
    """Write a scene, its roads, the area of interest to train on, and the held-out area."""
    image, roads = FOLDER / "scene.tif", FOLDER / "scene_roads.gpkg"
    core("makescene", raster=image, roads=roads, size_px=SCENE_PX, seed=SCENE_SEED, layout="mixed")
    dataset = gdal.Open(str(image))
    west, pixel_m, _, north, _, _ = dataset.GetGeoTransform()
    crs = {"type": "name", "properties": {"name": f"EPSG:{dataset.GetSpatialRef().GetAuthorityCode(None)}"}}
    half_m, south = SCENE_PX * pixel_m / 2, north - SCENE_PX * pixel_m
    halves = []
    for name, left in (("drawn_area", west), ("unseen_area", west + half_m)):
        right = left + half_m
        ring = [[left, north], [right, north], [right, south], [left, south], [left, north]]
        path = FOLDER / f"{name}.geojson"
        feature = {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
        path.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": [feature]}))
        halves.append(path)
    return Material(image, roads, *halves, width_field="width_m")


def core(job: str, **options: Any) -> dict[str, Any]:
    """Run a job by the core's command line, and return its result."""
    flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    python = (ROOT / "build" / "runtime-python.txt").read_text().strip()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "PYTHONHOME"))}
    command = [python, "-m", "training_core", job, *flags, "--events"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    last = json.loads(done.stdout.splitlines()[-1])
    if done.returncode:
        raise SystemExit(f"{job} failed: {last.get('message')} {last.get('remedy')}")
    return last["result"]


def map_roads(material: Material) -> dict[str, Path]:
    """Fine-tune, segment and vectorize; return the files made."""
    files = {name: FOLDER / name for name in ("model.safetensors", "report.html", "mask.tif", "roads.gpkg")}
    model, report, mask, roads = map(str, files.values())
    learn = {"INPUT": [str(material.image)], "ROADS": str(material.roads), "MINUTES": MINUTES, "MODEL": model}
    if not has_starter():
        learn["BASE_MODEL"] = ""
    if material.aoi:
        learn["AOI"] = str(material.aoi)
    if material.width_field:
        learn["WIDTH_FIELD"] = material.width_field
    with timed("Fine-tune"):
        learned = run("roadseg:finetune", {**learn, "REPORT": report})
    with timed("Segment"):
        segmented = run("roadseg:segment", {"INPUT": str(material.image), "MODEL": model, "MASK": mask})
    with timed("Vectorize"):
        network = run("roadseg:vectorize", {"INPUT": mask, "OUTPUT": roads})
    print(f"Validation: IoU {learned['VALIDATION_IOU']:.3f}, F1 {learned['VALIDATION_F1']:.3f}")
    print(f"Trained {learned['STEPS']} steps at {learned['IMAGES_PER_S']:.2f} images/s, engine {learned['ENGINE']}")
    print(f"Segmented at {segmented['MEGAPIXELS_PER_S']:.2f} megapixels/s")
    print(f"Network: {network['COUNT']} lines, {network['LENGTH_M'] / 1000:.2f} km")
    if material.unseen:
        with timed("Score on the half that was not seen"):
            scores = core("evaluate", rasters=material.image, roads=material.roads, aoi=material.unseen, model=model,
                          width_field=material.width_field)  # fmt: skip
        print(f"On the unseen half: IoU {scores['pixel']['iou']:.3f}, F1 {scores['pixel']['f1']:.3f}, "
              f"relaxed F1 ({scores['tolerance_m']:g} m) {scores['relaxed']['f1']:.3f}")  # fmt: skip
    return files


def show(material: Material, files: dict[str, Path]) -> None:
    """Make a QGIS project of inputs and results, and render its map."""
    os.environ.update(environment())
    from qgis.core import QgsApplication, QgsProject, QgsRasterLayer, QgsVectorLayer

    application = QgsApplication([], False)
    application.initQgis()
    styles = ROOT / "resources" / "styles"
    roads = QgsVectorLayer(str(files["roads.gpkg"]), "Roads found", "ogr")
    roads.loadNamedStyle(str(styles / "roads.qml"))
    mask = QgsRasterLayer(str(files["mask.tif"]), "Road mask")
    mask.loadNamedStyle(str(styles / "mask.qml"))
    drawn = QgsVectorLayer(str(material.roads), "Roads drawn", "ogr")
    image = QgsRasterLayer(str(material.image), material.image.stem)
    project = QgsProject.instance()
    for layer in (image, mask, drawn, roads):
        if not layer.isValid():
            raise SystemExit(f"QGIS cannot open {layer.source()}")
        project.addMapLayer(layer)
    for layer in (mask, drawn):
        project.layerTreeRoot().findLayer(layer.id()).setItemVisibilityChecked(False)
    project.setCrs(image.crs())
    project.viewSettings().setDefaultViewExtent(reference(image))
    project.write(str(FOLDER / "demo.qgz"))
    render(FOLDER / "map.png", [roads, image], image)
    application.exitQgis()
    for path in (*files.values(), FOLDER / "demo.qgz", FOLDER / "map.png"):
        print(path.relative_to(ROOT))


def reference(layer: Any) -> Any:
    """Return a layer's extent with its CRS."""
    from qgis.core import QgsReferencedRectangle

    return QgsReferencedRectangle(layer.extent(), layer.crs())


def render(path: Path, layers: list[Any], image: Any) -> None:
    """Write a picture of layers, the first on top, over the extent of an image."""
    from qgis.core import QgsMapRendererParallelJob, QgsMapSettings
    from qgis.PyQt.QtCore import QSize

    settings = QgsMapSettings()
    settings.setLayers(layers)
    settings.setDestinationCrs(image.crs())
    settings.setExtent(image.extent())
    settings.setOutputSize(QSize(MAP_WIDTH_PX, round(MAP_WIDTH_PX * image.height() / image.width())))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    if not job.renderedImage().save(str(path)):
        raise SystemExit(f"{path} cannot be written")


if __name__ == "__main__":
    main()
