"""Extracts of OpenStreetMap as drawn roads: which ways are roads, how wide they are, and which cannot be seen.

Scope: the tags of a layer that GDAL has read. Independent of images and pixels.
"""

from __future__ import annotations

import re
from pathlib import Path

import geopandas
import numpy as np
import pandas
import shapely

from ..errors import LabelError
from ..geodata.osm_tags import NESTED_TAGS, tag_values
from ..geodata.sources import QGIS_PART

CLASS_FIELD, WIDTH_FIELD, SURE_FIELD = "road_class", "width_m", "sure"
# Usual width of a carriageway by class, in meters, where neither width nor lanes are mapped.
_USUAL_WIDTH_M = {
    "motorway": 11.0, "trunk": 9.0, "primary": 9.0, "secondary": 8.0, "tertiary": 7.0, "unclassified": 5.5,
    "residential": 6.0, "living_street": 5.0, "service": 4.0, "track": 3.0, "road": 6.0, "busway": 4.0, "raceway": 9.0,
}  # fmt: skip
# Ways that look like roads in some images, and roads that are not there yet.
_UNSURE = ("pedestrian", "footway", "path", "cycleway", "bridleway", "steps", "construction")
_UNSURE_WIDTH_M, _LANE_M = 3.0, 3.25
_MAX_WIDTH_M = 100.0
_METERS = {"": 1.0, "m": 1.0, "ft": 0.3048, "'": 0.3048}
_WIDTH = re.compile(r"(\d+(?:\.\d+)?)\s*(m|ft|')?")


def is_extract(layer: geopandas.GeoDataFrame, path: str) -> bool:
    """Whether a layer holds ways of OpenStreetMap: of its own formats, or lines with its tags and identifiers."""
    suffix = Path(QGIS_PART.split(path)[0]).suffix.lower()
    has_highway = "highway" in layer or (NESTED_TAGS in layer and (tag_values(layer, "highway") != "").any())
    has_tags = has_highway and any(key in layer for key in ("osm_id", "@id"))
    has_lines = (shapely.get_dimensions(layer.geometry.to_numpy()) == 1).any()
    return suffix in (".osm", ".pbf") or bool(has_tags and has_lines)


def roads_of(layer: geopandas.GeoDataFrame, path: str) -> geopandas.GeoDataFrame:
    """Return the roads of an extract, with the fields CLASS_FIELD, WIDTH_FIELD, SURE_FIELD and `surface`.

    Paths, roads under construction and in tunnels are unsure, so that they are ignored. A width that is mapped counts
    before that of the lanes, and this before the usual one of the class.

    Raises
    ------
    LabelError
        There is no road.
    """
    is_line = shapely.get_dimensions(layer.geometry.to_numpy()) == 1
    kind = tag_values(layer, "highway").str.removesuffix("_link")
    is_sure, is_unsure = kind.isin(_USUAL_WIDTH_M), kind.isin(_UNSURE)
    kept = layer[is_line & (is_sure | is_unsure)].reset_index(drop=True)
    if kept.empty:
        raise LabelError(
            f"The drawn roads ({path}) are an extract of OpenStreetMap without any road (highway) where the images "
            "lie.",
            "Give an extract of the ground that the images show.",
        )
    kind = tag_values(kept, "highway").str.removesuffix("_link")
    is_hidden = ~tag_values(kept, "tunnel").isin(["", "no"]) | ~tag_values(kept, "covered").isin(["", "no"])
    lanes = pandas.to_numeric(tag_values(kept, "lanes"), errors="coerce")
    width_m = tag_values(kept, "width").map(_meters).fillna(lanes * _LANE_M)
    width_m = width_m.where(width_m.between(1, _MAX_WIDTH_M)).fillna(kind.map(_USUAL_WIDTH_M)).fillna(_UNSURE_WIDTH_M)
    fields = {
        CLASS_FIELD: kind,
        WIDTH_FIELD: width_m,
        SURE_FIELD: kind.isin(_USUAL_WIDTH_M) & ~is_hidden,
        "surface": tag_values(kept, "surface"),
    }
    return geopandas.GeoDataFrame(fields, geometry=kept.geometry)


def _meters(text: str) -> float:
    """Return a width such as `3.5`, `3.5 m` or `12 ft` in meters; NaN if it is none."""
    found = _WIDTH.fullmatch(text.strip())
    return float(found[1]) * _METERS[found[2] or ""] if found else np.nan
