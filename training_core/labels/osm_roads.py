"""Extracts of OpenStreetMap as drawn roads: which ways are roads, how wide they are, and which cannot be seen.

Scope: the tags of a layer that GDAL has read. Independent of images and pixels.

Options take precedence over tags: a width or sure field, or a road width other than the default.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import geopandas
import numpy as np
import pandas
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.fields import numbers_in
from ..geodata.osm_layers import is_mapped, is_osm_file, tag_values
from ..jobs import LabelOptions
from ..jobs.fields import METERS

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


def roads_of(
    layer: geopandas.GeoDataFrame, path: str, options: LabelOptions, named: Collection[str], reporter: Reporter
) -> tuple[geopandas.GeoDataFrame, LabelOptions]:
    """Return the roads of an extract with fields of their tags, and the options with those fields that nobody named.

    Roads are the lines that the tag highway makes roads, and what was drawn among them, which has no identifier and is
    as in any other layer. The fields are CLASS_FIELD, WIDTH_FIELD, SURE_FIELD and the `named` ones that are tags; the
    layer's own stay if they are named. Paths, roads under construction and in tunnels are unsure, so that they are
    ignored. A width that is mapped counts before that of the lanes, and this before the usual one of the class. The log
    says how the layer is read, and how many features are left out, with a warning if the layer only looks like an
    extract. Raises LayerError if there is no road.
    """
    dimensions = shapely.get_dimensions(layer.geometry.to_numpy())
    kind = tag_values(layer, "highway").str.strip().str.removesuffix("_link")
    is_drawn = ~is_mapped(layer)
    is_road = ~is_drawn & (dimensions == 1) & kind.isin([*_USUAL_WIDTH_M, *_UNSURE])
    roads = layer[is_road | is_drawn].reset_index(drop=True)
    if roads.empty:
        raise LayerError(
            f"The drawn roads ({path}) are an extract of OpenStreetMap without any road (highway) in the area of the "
            "images.",
            "Give an extract that covers the images.",
        )
    tags = {name: tag_values(roads, name) for name in named if name and name not in layer}
    fields = {**{name: values for name, values in tags.items() if (values != "").any()}, **_fields(roads)}
    roads = roads.assign(**{name: fields[name] for name in fields if not (name in named and name in layer)})
    is_width_named = options.width_field or options.width_m != type(options).width_m
    tagged = replace(
        options,
        width_field=options.width_field if is_width_named else WIDTH_FIELD,
        sure_field=options.sure_field or SURE_FIELD,
    )
    _tell(path, layer, int(is_road.sum()), int(is_drawn.sum()), options, tagged, reporter)
    return roads, tagged


def _fields(roads: geopandas.GeoDataFrame) -> dict[str, pandas.Series]:
    """Return the fields that tags give; a road that was drawn has no width of its own, and is sure."""
    kind = tag_values(roads, "highway").str.strip().str.removesuffix("_link")
    is_hidden = ~tag_values(roads, "tunnel").isin(["", "no"]) | ~tag_values(roads, "covered").isin(["", "no"])
    lanes, width_m = numbers_in(tag_values(roads, "lanes")), numbers_in(tag_values(roads, "width"), METERS)
    width_m = pandas.Series(np.where(np.isnan(width_m), lanes * _LANE_M, width_m), index=roads.index)
    is_drawn, usual_m = ~is_mapped(roads), kind.map({**_USUAL_WIDTH_M, **dict.fromkeys(_UNSURE, _UNSURE_WIDTH_M)})
    return {
        CLASS_FIELD: kind,
        WIDTH_FIELD: width_m.where(width_m.between(1, _MAX_WIDTH_M)).fillna(usual_m).mask(is_drawn),
        SURE_FIELD: is_drawn | (~kind.isin(_UNSURE) & ~is_hidden),
    }


def _tell(
    path: str,
    layer: geopandas.GeoDataFrame,
    mapped: int,
    drawn: int,
    options: LabelOptions,
    tagged: LabelOptions,
    reporter: Reporter,
) -> None:
    """Tell what of a layer is read as roads, and which fields are those of the tags."""
    of_tags = [
        text
        for text, is_guessed in (
            ("widths", tagged.width_field != options.width_field),
            ("which roads cannot be seen and are ignored", tagged.sure_field != options.sure_field),
        )
        if is_guessed
    ]
    reporter.log(
        f"The drawn roads ({path}) are read as an extract of OpenStreetMap: {mapped:,} roads by their tag highway"
        + (f", {drawn:,} drawn ones without an identifier" if drawn else "")
        + (f"; the tags say {' and '.join(of_tags)}." if of_tags else ".")
    )
    left_out = len(layer) - mapped - drawn
    if left_out:
        tell = reporter.log if is_osm_file(path) else reporter.warning
        tell(
            f"{left_out:,} of {len(layer):,} features of the drawn roads ({path}) are left out: they have an "
            "identifier of OpenStreetMap but are not lines with a road's highway tag. If some of them are roads, "
            "empty their identifier."
        )
