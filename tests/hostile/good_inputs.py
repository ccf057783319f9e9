"""Good inputs of all jobs: small files, with which each job goes well in a moment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
from shapely.geometry import Point, box

from tests.core.support.osm_changes import write_extract
from tests.core.support.rasters import UTM, write_layer, write_raster
from tests.core.support.towns import ROADS, SIDE_PX, make_town, on_map, plant_model, true_roads
from training_core.geodata.pixel_codes import NO_DATA
from training_core.models.loading import load_network
from training_core.models.onnx_file import export_onnx, save_onnx

# So that models may be merged.
_TRAINING = {"base_model": "base.safetensors", "base_sha256": "ab" * 32, "labeled_px": 1000}
_NATIVE = {"engine": "native", "precision": "fp32", "threads": 1}


@dataclass(frozen=True)
class Goods:
    folder: str  # holds all of them, and nothing else
    raster: str  # a town of 192 x 192 px
    roads: str
    aoi: str
    model: str  # a model for it that has learned nothing
    onnx: str
    mask: str  # its true roads
    probability: str
    after: str  # its roads but one
    changes: str  # its roads as new ones
    judged: str  # an accuracy sample with verdicts
    reviewed: str  # two of them with verdicts
    extract: str  # roads beside its own as ways of OpenStreetMap
    places: str  # points on its roads, with a field `name`
    labeled: str  # a corner of it, where labels are
    sure_model: str  # a model to which all is road, with 8-bit integers, too
    profile: str  # a profile of training and inference

    def options(self, job: str, out: Path) -> dict[str, Any]:
        """Return options with which a job goes well and fast, all of its outputs in one folder.

        The folder of a region lies next to it, since its contents stay for the next run, unlike outputs.
        """
        labels = {"rasters": [self.raster], "roads": self.roads, "aoi": self.aoi}
        network = {"roads": str(out / "roads.gpkg"), "nodes": str(out / "nodes.gpkg")}
        report = {"report": str(out / "report.html"), "scores": str(out / "scores.json")}
        mask, onnx = str(out / "mask.tif"), str(out / "model.onnx")
        return {
            "finetune": {
                **labels, **_NATIVE, "base_model": self.model, "model": str(out / "model.safetensors"),
                "report": str(out / "report.html"), "steps": 2, "batch_size": 2, "chip_px": 64,
            },
            "segment": {
                **_NATIVE, "raster": self.raster, "model": self.model, "mask": mask,
                "probability": str(out / "probability.tif"), "aoi": self.aoi,
            },
            "vectorize": {"raster": self.mask, **network},
            "extractroads": {
                **_NATIVE, "raster": self.raster, "model": self.model, "aoi": self.aoi, "mask": mask,
                "roads": network["roads"],
            },
            "mapregion": {
                **_NATIVE, "rasters": [self.raster], "model": self.model, "aoi": self.aoi,
                "folder": str(out.parent / "region"), "roads": network["roads"],
            },
            "cleannetwork": {"lines": self.roads, "bridges": self.after, **network},
            "evaluate": {**labels, **_NATIVE, "model": self.model, **report},
            "suggestlabels": {
                "raster": self.probability, "labeled": self.labeled, "patch_m": 32.0, "count": 2,
                "suggestions": str(out / "suggestions.gpkg"),
            },
            "scorenetwork": {
                "truth": self.roads, "proposal": self.after, "aoi": self.aoi, "errors": str(out / "errors.gpkg"),
                **report,
            },
            "sampleaccuracy": {
                "lines": self.roads, "raster": self.probability, "aoi": self.aoi, "sample": str(out / "sample.gpkg"),
            },
            "checkaccuracy": {"sample": self.judged, "report": str(out / "report.html")},
            "roadstatus": {
                **_NATIVE, "lines": self.roads, "raster": self.raster, "rasters": [self.raster],
                "dates": "2024-09-29", "before": self.raster, "model": self.model, "report": str(out / "report.html"),
                "sites": self.places, "sites_name_field": "name",
                **dict.fromkeys(("hazards", "water", "clouds", "aoi", "districts"), self.aoi),
                **{name: str(out / f"{name}.gpkg") for name in ("status", "reached", "arrows")},
            },
            "getosmdata": {
                "extract": self.extract, "aoi": self.aoi,
                **{name: str(out / f"{name}.gpkg") for name in ("roads", "bridges", "water", "no_road")},
            },
            "applyreview": {
                "lines": self.roads, "review": self.reviewed,
                **{name: str(out / f"{name}.gpkg") for name in ("roads", "drawn", "no_road", "aoi")},
            },
            "exportnetwork": {
                "lines": self.roads, "graphml": str(out / "roads.graphml"), "geopackage": str(out / "graph.gpkg"),
                "osm": str(out / "roads.osm"),
            },
            "comparenetworks": {
                "before": self.roads, "after": self.after, "aoi": self.aoi, "places": self.places,
                "places_name_field": "name", "origins": self.places, "origins_name_field": "name",
                "changes": str(out / "changes.gpkg"), "reached": str(out / "reached.gpkg"),
                "report": str(out / "report.html"), "numbers": str(out / "numbers.json"),
            },
            "makechallenge": {"layer": self.changes, "challenge": str(out / "challenge.geojson")},
            "exportchanges": {"changes": self.changes, "extract": self.extract, "osc": str(out / "town.osc")},
            "exportchips": {**labels, "folder": str(out / "chips"), "chip_px": 96},
            "exportmodel": {"model": self.model, "onnx": onnx},
            "quantize": {"model": self.sure_model, "rasters": [self.raster], "onnx": onnx, "threads": 1},
            "mergemodels": {
                "models": [self.model, self.sure_model], "weights": [1.0, 2.0], "rasters": [self.raster], "threads": 1,
                "model": str(out / "merged.safetensors"),
            },
            "makescene": {"raster": str(out / "scene.tif"), "roads": str(out / "scene.gpkg"), "size_px": 256},
            "profile": {
                **_NATIVE, "raster": self.raster, "model": self.model, "what": "inference", "seconds": 1.0,
                "tile_px": 64, "report": str(out / "report.html"), "profile": str(out / "profile.json"),
                "trace": str(out / "trace.json"),
            },
            "live": {
                "raster": self.raster, "base_model": self.model, "folder": str(out.parent / "session"), "threads": 1,
                "precision": "fp32",
            },
            "trace": {"raster": self.probability},
            "compareprofiles": {
                "before": self.profile, "after": self.profile, "report": str(out / "report.html"),
                "differences": str(out / "differences.json"),
            },
        }[job]  # fmt: skip


def make_goods(folder: Path) -> Goods:
    town = make_town(folder)
    truth = true_roads()
    model = plant_model(folder / "model.safetensors", training=_TRAINING)
    probability = np.random.default_rng(0).uniform(0, 0.2, truth.shape) + 0.7 * truth
    network, card = load_network(model)
    onnx = folder / "model.onnx"
    save_onnx(onnx, export_onnx(network), card, 0)
    return Goods(
        folder=str(folder), raster=town.raster, roads=town.roads, aoi=town.aoi, model=model, onnx=str(onnx),
        mask=write_raster(folder / "mask.tif", truth.astype(np.uint8), nodata=NO_DATA),
        probability=write_raster(folder / "probability.tif", probability.astype(np.float32)),
        after=write_layer(folder / "after.gpkg", *map(on_map, ROADS[:-1])),
        changes=write_layer(folder / "changes.gpkg", *map(on_map, ROADS), change=["new"] * len(ROADS)),
        judged=write_layer(
            folder / "judged.gpkg", *[on_map(ROADS[0])] * 24, change=["sampled", "crossing"] * 12, review=["1"] * 24,
            stratum=["all"] * 24, stratum_size=[1000.0] * 24, length_m=[20.0] * 24,
        ),
        reviewed=write_layer(
            folder / "reviewed.gpkg", *map(on_map, ROADS[:2]), change=["road"] * 2, review=["accepted", "rejected"],
        ),
        extract=write_extract(
            folder / "extract.osm", geopandas.GeoSeries(map(on_map, ROADS), crs=UTM).translate(7, 7).to_crs("EPSG:4326")
        ),
        places=write_layer(
            folder / "places.gpkg", on_map(Point(48, 5)), on_map(Point(SIDE_PX - 5, 100)), name=["north", "east"]
        ),
        labeled=write_layer(folder / "labeled.gpkg", on_map(box(0, 0, 64, 64))),
        sure_model=plant_model(folder / "sure.safetensors", threshold=0.0, training=_TRAINING),
        profile=_write_json(folder / "profile.json", profile_document()),
    )  # fmt: skip


def _write_json(path: Path, document: dict[str, Any]) -> str:
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def profile_document() -> dict[str, Any]:
    """Return the document of a profile of a training step and of a tile, each member filled."""
    rates = [{"threads": 1, "per_s": 1e11}, {"threads": 2, "per_s": 1.9e11}]
    return {
        "format": "roadseg-profile-1",
        "hardware": "A processor with 2 cores",
        "versions": {"torch": "2.8.0"},
        "options": {"what": "both", "seconds": 60.0},
        "warnings": ["The frequency cannot be read."],
        "limits": {
            "convolution": {"fp32": rates}, "matrix": {"fp32": rates}, "bandwidth": {"triad": rates},
            "cache_per_s": 3e11, "cache_bytes": 1 << 24, "parallel_region_s": 5e-6,
            "machine": {"cores": 2, "governor": "performance", "frequency_load_mhz": None},
        },
        **_run("training", 0.4, "forward", "backward"),
        "advice": [
            {"rule": "small batch", "run": "training, native fp32", "evidence": "A batch has 4 chips.",
             "remedy": "Take larger batches.", "gain": 0.1, "options": {"batch_size": 8},
             "trial": {"before_s": 0.1, "after_s": 0.09}},
        ],
        "further_runs": [_run("inference", 0.1, "forward", "conversion to bytes")],
    }  # fmt: skip


def _run(what: str, step_s: float, *phases: str) -> dict[str, Any]:
    """Return the members of a run whose phases take as long as each other, and all of the step."""
    share = 1 / len(phases)
    row = {"calls": 2.0, "time_s": step_s * share, "share": share, "spread_s": 0.001}
    cost = {"flop": 1e9, "bytes": 1e6, "roof_share": 0.5, "bound": "compute"}
    layers = [{"name": f"encoder.layer{number}", **row, **cost}
              for number, _ in enumerate(phases)]  # fmt: skip
    primitive = {"kind": "convolution", "shape": "4x64x48x48 64x64x3x3", "layout": "channels last", "dtype": "fp32",
                 "implementation": "brgconv:avx512_core"}  # fmt: skip
    return {
        "what": what, "engine": "native", "precision": "fp32", "threads": 2, "batch_size": 4, "size_px": 192,
        "step_s": step_s, "spread_s": 0.01, "steps": 30,
        "phases": [{"name": phase, **row} for phase in phases],
        "kinds": [{"name": "convolution", **row}, {"name": "loss", **row}],
        "layers": layers,
        "primitives": [{"name": f"aten::{phase}", **row, **cost, **primitive, "phase": phase} for phase in phases],
        "unaccounted_share": 0.01, "overhead_share": 0.02,
        "counters": {"page_faults": 9.0, "system_share": 0.01, "stolen_share": 0.0},
    }  # fmt: skip
