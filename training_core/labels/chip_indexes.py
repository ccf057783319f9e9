"""Indexes of training chips as other programs read them: items of STAC, and the files of Esri's classified tiles.

Each has `masks`, the name of the folder of label rasters, takes the chips one by one, and writes its files at the end.
COCO annotations are in `coco`. Scope: text files. Independent of how chips are cut.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from rasterio.warp import transform_geom
from shapely.geometry import mapping, shape

from ..geodata.grid import GEOGRAPHIC
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.sources import source_name
from .training_chips import Bands, Chip

_TIFF = "image/tiff; application=geotiff"
_NAMES = {BACKGROUND: "background", ROAD: "road", IGNORE: "unknown"}
_CLASSES = [{"value": value, "name": name, "description": name} for value, name in _NAMES.items()]
_COLORS = {ROAD: [255, 0, 0], IGNORE: [128, 128, 128]}
_CLASSIFICATION = "https://stac-extensions.github.io/classification/v2.0.0/schema.json"


class StacIndex:
    """An item of STAC 1.0 for each chip, all in the collection `items.json`, which QGIS opens as a layer, too.

    The time is that of the export, since rasters seldom say when they were taken.
    """

    masks = "masks"

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._time = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def add(self, chip: Chip) -> None:
        """Take a chip into the index; one without a place on the map has no geometry."""
        place: dict[str, Any] = {"geometry": None}
        if chip.is_placed:
            outline = transform_geom(chip.grid.crs, GEOGRAPHIC, mapping(chip.grid.outline))
            place = {"geometry": outline, "bbox": list(shape(outline).bounds)}
        image = {"href": f"./images/{chip.name}.tif", "type": _TIFF, "roles": ["data"]}
        mask = {"href": f"./masks/{chip.name}.tif", "type": _TIFF, "roles": ["labels"]}
        shares = {f"{_NAMES[label]}_share": round(float((chip.labels == label).mean()), 6) for label in (ROAD, IGNORE)}
        item = {
            "type": "Feature",
            "stac_version": "1.0.0",
            "stac_extensions": [_CLASSIFICATION],
            "id": chip.name,
            **place,
            "properties": {"datetime": self._time, "source": source_name(chip.image), **shares},
            "links": [],
            "assets": {"image": image, "mask": {**mask, "classification:classes": _CLASSES}},
        }
        self._items.append(item)

    def write(self, folder: Path, bands: Bands) -> None:
        """Write the index to the folder of the chips."""
        _write_json(folder / "items.json", {"type": "FeatureCollection", "features": self._items})


class EsriIndex:
    """The files that Export Training Data For Deep Learning of ArcGIS writes beside classified tiles."""

    masks = "labels"

    def __init__(self) -> None:
        self._names: list[str] = []
        self._side_px, self._is_placed = 0, True
        self._pixels = {ROAD: [0, 0], IGNORE: [0, 0]}  # chips with a class, and its pixels
        self._extremes: list[np.ndarray] = []
        self._sums: list[np.ndarray] = []

    def add(self, chip: Chip) -> None:
        """Take a chip into the statistics."""
        self._names.append(chip.name)
        self._side_px, self._is_placed = len(chip.labels), self._is_placed and chip.is_placed
        for label, counts in self._pixels.items():
            pixels = int((chip.labels == label).sum())
            counts[0], counts[1] = counts[0] + (pixels > 0), counts[1] + pixels
        values = chip.values[:, chip.known].astype(np.float64)
        if values.size:
            self._extremes.append(np.stack([values.min(axis=1), values.max(axis=1)]))
            count = np.full(len(values), values.shape[1])
            self._sums.append(np.stack([count, values.sum(axis=1), (values**2).sum(axis=1)]))

    def write(self, folder: Path, bands: Bands) -> None:
        """Write the model definition, the list of files and the statistics to the folder of the chips."""
        there = {label: counts for label, counts in self._pixels.items() if counts[0]}
        _write_json(
            folder / "esri_model_definition.emd",
            {
                "ImageHeight": self._side_px,
                "ImageWidth": self._side_px,
                "ExtractBands": list(range(len(bands.names))),
                "MetaDataMode": "Classified_Tiles",
                "ImageSpaceUsed": "MAP_SPACE" if self._is_placed else "PIXEL_SPACE",
                "Classes": [{"Value": value, "Name": _NAMES[value], "Color": _COLORS[value]} for value in there],
                "InputRastersProps": {"RasterCount": 1, "SensorName": "", "BandNames": list(bands.names)},
                "AllTilesStats": self._band_stats(bands),
            },
        )
        files = "".join(f"images/{name}.tif labels/{name}.tif\n" for name in self._names)
        (folder / "map.txt").write_text(files, encoding="utf-8")
        lines = [
            f"images = {len(self._names)} *{len(bands.names)}*{self._side_px}*{self._side_px}",
            f"classes = {len(there)}",
            f"{'cls name':<12}{'cls value':>10}{'images':>10}{'pixels':>14}",
            *(f"{_NAMES[value]:<12}{value:>10}{chips:>10}{pixels:>14}" for value, (chips, pixels) in there.items()),
        ]
        (folder / "stats.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")

    def _band_stats(self, bands: Bands) -> list[dict[str, Any]]:
        if not self._sums:
            return []
        low, high = np.min(self._extremes, axis=0)[0], np.max(self._extremes, axis=0)[1]
        count, total, squares = np.sum(self._sums, axis=0)
        mean = total / count
        deviation = np.sqrt(np.maximum(squares / count - mean**2, 0))
        keys = ("BandName", "Min", "Max", "Mean", "StdDev")
        rows = zip(bands.names, *(each.tolist() for each in (low, high, mean, deviation)))
        return [dict(zip(keys, row)) for row in rows]


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
