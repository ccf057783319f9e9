"""The choice of a threshold, kept with the layer: a number, and areas in which others hold.

Scope: its form, steps, and the layer's property. Independent of widgets and workers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Annotated

from qgis.core import Qgis, QgsFeature, QgsGeometry, QgsProject, QgsRasterLayer, QgsVectorLayer

from ....training_core.jobs.json_fields import Range, parse, read
from ....training_core.jobs.mapping import MAX_AREAS, Threshold, ThresholdArea
from ....training_core.jobs.shared import THRESHOLDS
from ...layers.styles import THRESHOLD_PROPERTY

# One step changes the odds of the threshold by this factor: 0.5 becomes 0.38 or 0.62.
_STEP = 1.6


@dataclass(frozen=True)
class Choice:
    """The threshold of a raster, and areas in its CRS in the order in which they were drawn: the last one holds."""

    threshold: Threshold = 0.5
    areas: Annotated[tuple[ThresholdArea, ...], Range(0, MAX_AREAS)] = ()
    crs: str = ""

    def stepped(self, shape: QgsGeometry, is_more: bool) -> "Choice":
        """Return the choice with one more area, whose threshold is a step below, or above, that within it."""
        place = shape.pointOnSurface()
        held = [area for area in self.areas if QgsGeometry.fromWkt(area.geometry).intersects(place)]
        here = held[-1].threshold if held else self.threshold
        odds = here / (1 - here) * (1 / _STEP if is_more else _STEP)
        _, threshold, _ = sorted([*THRESHOLDS, round(odds / (1 + odds), 3)])
        return replace(self, areas=(*self.areas, ThresholdArea(shape.asWkt(), threshold)))


def read_choice(layer: QgsRasterLayer) -> Choice:
    """Return the choice that is kept with a layer, without areas from when it had another CRS."""
    crs = layer.crs().authid() or layer.crs().toWkt()
    try:
        kept = read(Choice, parse(str(layer.customProperty(THRESHOLD_PROPERTY, "{}"))))
    except ValueError:  # another program has changed it
        kept = Choice()
    shapes = [polygons(QgsGeometry.fromWkt(area.geometry)) for area in kept.areas if kept.crs == crs]
    return replace(kept, crs=crs, areas=tuple(a for a, shape in zip(kept.areas, shapes) if not shape.isEmpty()))


def keep_choice(layer: QgsRasterLayer, choice: Choice) -> None:
    """Keep a choice with a layer; the project saves it."""
    layer.setCustomProperty(THRESHOLD_PROPERTY, json.dumps(asdict(choice)))
    QgsProject.instance().setDirty()


def area_layer(choice: Choice, raster: QgsRasterLayer) -> QgsVectorLayer:
    """Return the areas as a layer in memory, as Vectorize roads takes them."""
    layer = QgsVectorLayer("MultiPolygon?field=threshold:double", "threshold areas", "memory")
    layer.setCrs(raster.crs())
    for area in choice.areas:
        shape, feature = QgsGeometry.fromWkt(area.geometry), QgsFeature(layer.fields())
        shape.convertToMultiType()
        feature.setGeometry(shape)
        feature["threshold"] = area.threshold
        layer.dataProvider().addFeature(feature)
    return layer


def polygons(shape: QgsGeometry) -> QgsGeometry:
    """Return the polygons of a geometry, valid; empty where it has none."""
    parts = [part for part in shape.makeValid().asGeometryCollection() if part.type() == Qgis.GeometryType.Polygon]
    return QgsGeometry.unaryUnion(parts) if parts else QgsGeometry()
