"""Right outcomes of pairs of jobs: a number of a result, and its expected value, measured from the files of the ground.

Each function takes a `Done`, and returns both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pytest
import rasterio
import shapely
import torch

from training_core.models.loading import load_weights

# The ground, and the pixels of the model on it.
SIDE_M, SIDE_PX = 256.0, 640
ROAD_M, BACKGROUND_M = 6.0, 30.0


@dataclass(frozen=True)
class Done:
    """A job that has been given an output of another one."""

    job: str
    field: str  # its input
    given: str  # the path that the input was given
    options: dict[str, Any]
    result: dict[str, Any]
    usual: dict[str, Any]  # the result of the same job with its usual input
    told: list[str]
    ground: Path  # the folder with all outputs of `pairs.RUNS`


Number = Callable[[Done], tuple[Any, Any]]


def _value(result: dict[str, Any], key: str) -> Any:
    for part in key.split("."):
        result = result[part]
    return result


def exactly(key: str, value: float) -> Number:
    return lambda done: (_value(done.result, key), pytest.approx(value))


def same(key: str, within: float = 1e-6) -> Number:
    """The number is that of the job with its usual input."""
    return lambda done: (_value(done.result, key), pytest.approx(_value(done.usual, key), rel=within, abs=within / 10))


def at_most(key: str) -> Number:
    """The number is no greater than that of the job with its usual input, but for what gaps of it are joined."""
    return lambda done: (_value(done.result, key) < 1.05 * _value(done.usual, key), True)


def at_least(key: str) -> Number:
    return lambda done: _no_less(_value(done.result, key), _value(done.usual, key))


def equal(key: str, other: str) -> Number:
    return lambda done: (done.result[key], done.result[other])


def beside(key: str) -> Number:
    """In a folder of other files the job does as in a new one, and leaves them there."""

    def number(done: Done) -> tuple[Any, Any]:
        names = {path.name for path in Path(done.given).iterdir()}
        here = {path.name for path in Path(done.options[done.field]).iterdir()}
        return (_value(done.result, key), names - here), (pytest.approx(_value(done.usual, key)), set())

    return number


def _no_less(found: float, bound: float) -> tuple[float, float]:
    return found, max(found, bound)


def _layer(path: str) -> geopandas.GeoDataFrame:
    """Return a layer in the CRS of the scene, in meters."""
    file, _, layer = path.replace("for editors.osm", "exportnetwork.osm.osm.pbf").partition("|layername=")
    layer = "lines" if file.endswith(".pbf") else layer or 0
    return geopandas.read_file(file, layer=layer).to_crs("EPSG:32633")


def _union(layer: geopandas.GeoDataFrame) -> Any:
    return shapely.union_all(layer.geometry.to_numpy())


def _area(path: str) -> Any:
    return _union(_layer(path))


def _places(path: str) -> Any:
    """Return places without a road; an extract of roads has none."""
    layer = _layer(path)
    if path.endswith((".osm", ".pbf")):
        return shapely.GeometryCollection()
    is_line = layer.geom_type.str.contains("Line")
    width_m = layer.get("width_m", pandas.Series(4.0, layer.index)).fillna(4.0)
    return shapely.union_all(layer.buffer(np.where(is_line, width_m / 2, 0)).to_numpy())


def _scene(done: Done) -> Any:
    with rasterio.open(done.ground / "makescene.raster.tif") as dataset:
        return shapely.box(*dataset.bounds)


def labeled(done: Done) -> tuple[Any, Any]:
    """Square meters that are labeled, and those of them that are road; a training holds out a fifth."""
    drawn_m2 = _drawn_m2(done)
    share, within = (0.8, 0.1) if done.job == "finetune" else (1, 0.02)
    return _labeled_m2(done), pytest.approx([share * each for each in drawn_m2], rel=within, abs=50)


def _drawn_m2(done: Done) -> tuple[float, float]:
    """Return the square meters that are labeled, and those that are road, as the layers have them.

    Without roads, as with chips and their masks, they are those that the chips were made with.
    """
    roads = _layer(done.options["roads"] or f"{done.ground}/makescene.roads.gpkg")
    tags = roads.get("all_tags", roads.get("other_tags", pandas.Series("", roads.index))).fillna("")
    widths_m = tags.str.extract(r'"width"=>"([\d.]+)"', expand=False).astype(float).fillna(ROAD_M)
    is_line = roads.geom_type.str.contains("Line")
    road = shapely.union_all(roads.buffer(np.where(is_line, widths_m / 2, 0)).to_numpy())
    aoi, no_road = done.options.get("aoi"), done.options.get("no_road")
    known = _area(aoi) if aoi else road.buffer(BACKGROUND_M)
    scene = _scene(done)
    road = road.intersection(known).intersection(scene)
    known = shapely.union_all([known, _places(no_road)] if no_road else [known]).intersection(scene)
    return known.area, road.area


def _labeled_m2(done: Done) -> list[float]:
    """Return the same as a job tells it."""
    result, px_m2 = done.result, (SIDE_M / SIDE_PX) ** 2
    if done.job == "exportchips":
        labeled_m2 = result["chips"] * result["labeled_share"] * (done.options["chip_px"] * 0.5) ** 2
        return [labeled_m2, labeled_m2 * result["road_share"]]
    if done.job == "evaluate":  # which counts pixels of the image, and the others those of the model
        with rasterio.open(done.options["rasters"][0]) as image:
            px_m2 = abs(image.transform.determinant)
        return [result["pixels"] * px_m2, result["pixels"] * px_m2 * result["road_share"]]
    found = re.findall(r"([\d,]+) labeled px, ([\d.]+)% of them road", "\n".join(done.told))
    m2 = [(int(px.replace(",", "")) * px_m2, float(percent) / 100) for px, percent in found]
    return [sum(each for each, _ in m2), sum(each * share for each, share in m2)]


def masked(done: Done) -> tuple[Any, Any]:
    """All that the mask of the whole scene shows is labeled."""
    if done.job == "finetune":
        card = load_weights(done.result["model"])[1]
        return card.training["labeled_px"] * card.resolution_m**2, pytest.approx(0.8 * SIDE_M**2, rel=0.1)
    return _labeled_m2(done), pytest.approx([SIDE_M**2, _mask_share(done) * SIDE_M**2], rel=0.01)


def _mask_share(done: Done) -> float:
    with rasterio.open(done.ground / "segment.mask.tif") as dataset:
        return float((dataset.read(1) == 1).mean())


def known(done: Done) -> tuple[Any, Any]:
    """A mask has data within the area alone."""
    with rasterio.open(done.result["mask"]) as dataset:
        share = (dataset.read(1) != 255).mean()
    inside = _area(done.given).intersection(_scene(done))
    return share, pytest.approx(inside.area / SIDE_M**2, rel=0.02)


def roads_within(done: Done) -> tuple[Any, Any]:
    roads, inside = _layer(done.result["roads"]), _area(done.given).buffer(2)
    outside_m = roads.length.sum() - shapely.length(shapely.intersection(roads.geometry.to_numpy(), inside)).sum()
    return outside_m, pytest.approx(0, abs=0.01 * roads.length.sum())


def on_given(done: Done) -> tuple[Any, Any]:
    """Nearly all of the network runs along the lines given."""
    roads, given = _layer(done.result["roads"]), _area(done.given).buffer(2)
    on_m = shapely.length(shapely.intersection(roads.geometry.to_numpy(), given)).sum()
    return _no_less(on_m / roads.length.sum(), 0.9)


def length(done: Done) -> tuple[Any, Any]:
    return done.result["length_m"], pytest.approx(_area(done.given).length, rel=0.02)


def alternatives(done: Done) -> tuple[Any, Any]:
    """Links that exclude each other run side by side in part, where they become one road."""
    return done.result["length_m"], pytest.approx(_area(done.given).length, rel=0.1)


def clipped(key: str) -> Number:
    """The length of a network within the area."""

    def number(done: Done) -> tuple[Any, Any]:
        name, _ = key.split(".")
        lines, area = _layer(done.options[name]).geometry.to_numpy(), _area(done.given)
        inside_m = shapely.length(shapely.intersection(lines, area)).sum()
        return _value(done.result, key), pytest.approx(inside_m, rel=0.02)

    return number


def counted(key: str) -> Number:
    """The number is that of the features given."""
    return lambda done: (_value(done.result, key), len(_layer(done.given)))


def tasks(done: Done) -> tuple[Any, Any]:
    """The tasks are as long as the stretches of changes or states to look at that are long enough."""
    lines = Path(done.result["challenge"]).read_text().split("\n")
    features = [json.loads(line.strip("\x1e"))["features"][0] for line in lines if line]
    tasks_m = sum(each["properties"]["length_m"] for each in features)
    layer = _layer(done.options["layer"])
    words = layer["change"] if "change" in layer else layer["state"]
    looked_at = ("new", "lost", "not seen", "partly seen", "under water")
    merged = [shapely.line_merge(_union(layer[words == each])) for each in looked_at]
    stretches_m = shapely.length(shapely.get_parts(merged))
    return tasks_m, pytest.approx(stretches_m[stretches_m >= 20].sum(), rel=0.1)


def itself(done: Done) -> tuple[Any, Any]:
    """A network scored against itself."""
    scores = [_value(done.result, key) for key in ("apls.score", "topo.f1", "lines.quality", "relaxed.f1")]
    return scores, pytest.approx([1.0] * len(scores))


def elsewhere(done: Done) -> tuple[Any, Any]:
    suggested = _area(done.result["suggestions"])
    return suggested.intersection(_area(done.given)).area, pytest.approx(0, abs=1)


def alike(done: Done) -> tuple[Any, Any]:
    """The quantized model finds the same roads."""
    return _no_less(done.result["agreement"], 0.995)


def sure(done: Done) -> tuple[Any, Any]:
    """The IoU of a model to which all is road, on a sample of the labels: their fraction of road."""
    labeled_m2, road_m2 = _drawn_m2(done)
    is_masked = done.field == "masks" and "chips" not in done.given
    share = _mask_share(done) if is_masked else road_m2 / labeled_m2
    return [done.result["iou_before"], done.result["iou"]], pytest.approx([share] * 2, abs=0.1)


def flop(done: Done) -> tuple[Any, Any]:
    """The same image and network take the same number of operations."""
    profiles = done.result["profile"], done.ground / "profile.profile.json"
    found, right = (
        sum(layer.get("flop") or 0 for layer in json.loads(Path(path).read_text())["layers"]) for path in profiles
    )
    return found, right


def weights(done: Done) -> tuple[Any, Any]:
    """The mean of models with the same weights has these."""
    merged, model = (load_weights(path)[0] for path in (done.result["model"], done.options["models"][-1]))
    return {name for name in model if not torch.allclose(merged[name], model[name], rtol=1e-3, atol=1e-3)}, set()


def drawn(done: Done) -> tuple[Any, Any]:
    """A session begins with all features of a layer."""
    lines = (Path(done.options["folder"]) / "labels.json").read_text().splitlines()
    kept = [change["layer"] for line in lines for change in json.loads(line)["changes"]]
    return kept.count(done.field), len(_layer(done.given))


def osm_roads(done: Done) -> tuple[Any, Any]:
    """Each way of a file is a road."""
    return done.result["counts"]["roads"], len(_layer(done.given))


def some_roads(done: Done) -> tuple[Any, Any]:
    """In an area there are roads, and no more than in the whole file, but for cut ones."""
    return 0 < done.result["counts"]["roads"] <= 2 * done.usual["counts"]["roads"], True
