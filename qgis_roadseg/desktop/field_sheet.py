"""Field sheet: what the map shows as a print layout of one page, with legend, scale bar and degrees in its frame.

A layer of roads with their state adds a list of the places to check. List and legend stand beside the map, which they
would cover.

Scope: the layout. Independent of the window that opens it; QGIS' layout designer edits and exports it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, count

from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsFeatureRequest,
    QgsLayoutItem,
    QgsLayoutItemLabel,
    QgsLayoutItemLegend,
    QgsLayoutItemMap,
    QgsLayoutItemMapGrid,
    QgsLayoutItemPicture,
    QgsLayoutItemScaleBar,
    QgsLayoutPoint,
    QgsLayoutSize,
    QgsLegendStyle,
    QgsMapLayer,
    QgsPrintLayout,
    QgsProject,
    QgsRectangle,
    QgsUnitTypes,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QRectF

from ...training_core.jobs.status import CHECK, STATE
from ..translation import tr

# Places on a page of A4 in landscape, in mm.
_TITLE, _MAP, _FOOT = QRectF(10, 8, 277, 10), QRectF(82, 24, 199, 164), QRectF(10, 198, 277, 8)
_BESIDE, _SCALE, _NORTH = QRectF(10, 24, 62, 4), QRectF(85, 171, 60, 14), QRectF(264, 27, 14, 14)
_NORTH_ARROW = "arrows/NorthArrow_02.svg"
_SYMBOL_MM, _SPACE_MM = 3, 3
# About as many lines of coordinates from the bottom of the map to its top.
_GRID_LINES = 4
_TITLE_PT, _NOTE_PT, _COORDINATES_PT = 16, 8, 7
_DEGREES = QgsCoordinateReferenceSystem("EPSG:4326")
_MAX_CHECKS = 20


def make_sheet(
    project: QgsProject, layers: Sequence[QgsMapLayer], extent: QgsRectangle, crs: QgsCoordinateReferenceSystem
) -> QgsPrintLayout:
    """Add a layout with layers, the topmost first, within an extent to a project, and return it.

    The project's other layouts stay as they are.
    """
    manager, title = project.layoutManager(), tr("Field sheet")
    names = {layout.name() for layout in manager.layouts()}
    layout = QgsPrintLayout(project)
    layout.initializeDefaults()
    layout.setName(next(name for name in chain([title], (f"{title} {n}" for n in count(2))) if name not in names))
    shown = _add_map(layout, layers, extent, crs)
    _add_label(layout, project.title() or title, _TITLE, _TITLE_PT)
    note = tr("Roads found in imagery: check them on the ground.")
    rights = sorted({right for layer in project.mapLayers().values() for right in layer.metadata().rights()})
    foot = " · ".join([f"{note} [% format_date(now(), 'yyyy-MM-dd') %]", *rights])
    _add_label(layout, foot, _FOOT, _NOTE_PT)
    of_vectors = [layer for layer in layers if isinstance(layer, QgsVectorLayer)]
    bottom_mm = _add_checks(layout, of_vectors, project)
    _add_legend(layout, shown, of_vectors, bottom_mm)
    _add_scale(layout, shown)
    arrow = QgsLayoutItemPicture(layout)
    arrow.setPicturePath(QgsApplication.pkgDataPath() + f"/svg/{_NORTH_ARROW}")
    arrow.setLinkedMap(shown)
    _place(arrow, _NORTH)
    layout.addLayoutItem(arrow)
    manager.addLayout(layout)
    return layout


def _add_map(
    layout: QgsPrintLayout, layers: Sequence[QgsMapLayer], extent: QgsRectangle, crs: QgsCoordinateReferenceSystem
) -> QgsLayoutItemMap:
    shown = QgsLayoutItemMap(layout)
    _place(shown, _MAP)
    shown.setCrs(crs)
    shown.setLayers(list(layers))  # these alone, whatever the project shows later
    shown.setKeepLayerSet(True)
    shown.setFrameEnabled(True)
    layout.addLayoutItem(shown)
    if not extent.isEmpty():  # as where nothing has been loaded yet
        shown.zoomToExtent(extent)
        _add_coordinates(shown, layout.project())
    return shown


def _add_coordinates(shown: QgsLayoutItemMap, project: QgsProject) -> None:
    """Add latitudes and longitudes, as a GPS receiver has them, to a map's frame."""
    to_degrees = QgsCoordinateTransform(shown.crs(), _DEGREES, project)
    interval = _round_interval(to_degrees.transformBoundingBox(shown.extent()).height() / _GRID_LINES)
    grid = QgsLayoutItemMapGrid("coordinates", shown)
    grid.setCrs(_DEGREES)
    grid.setIntervalX(interval)
    grid.setIntervalY(interval)
    grid.setStyle(QgsLayoutItemMapGrid.GridStyle.FrameAnnotationsOnly)
    grid.setAnnotationEnabled(True)
    grid.setAnnotationPrecision(max(0, -math.floor(math.log10(interval))))
    small = grid.annotationTextFormat()
    small.setSize(_COORDINATES_PT)
    grid.setAnnotationTextFormat(small)
    for side in (QgsLayoutItemMapGrid.BorderSide.Left, QgsLayoutItemMapGrid.BorderSide.Right):
        grid.setAnnotationDirection(QgsLayoutItemMapGrid.AnnotationDirection.Vertical, side)
    shown.grids().addGrid(grid)


def _round_interval(about: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above a number above 0."""
    power = 10.0 ** math.floor(math.log10(about))
    return max(step * power for step in (1, 2, 5) if step * power <= about)


def _add_legend(
    layout: QgsPrintLayout, shown: QgsLayoutItemMap, layers: Sequence[QgsVectorLayer], top_mm: float
) -> None:
    """Add a legend of what the map shows of layers, below a place beside it."""
    legend = QgsLayoutItemLegend(layout)
    legend.setLinkedMap(shown)
    legend.setAutoUpdateModel(False)
    root = legend.model().rootGroup()
    root.clear()
    for layer in layers:
        root.addLayer(layer)
    legend.setLegendFilterByMapEnabled(True)
    for kind in (QgsLegendStyle.Style.Subgroup, QgsLegendStyle.Style.SymbolLabel):
        style = legend.style(kind)
        small = style.textFormat()
        small.setSize(_NOTE_PT)
        style.setTextFormat(small)
        legend.setStyle(kind, style)
    legend.setSymbolHeight(_SYMBOL_MM)
    _place(legend, QRectF(_BESIDE.x(), top_mm, _BESIDE.width(), _BESIDE.height()))
    layout.addLayoutItem(legend)
    legend.adjustBoxSize()


def _add_checks(layout: QgsPrintLayout, layers: Sequence[QgsVectorLayer], project: QgsProject) -> float:
    """List the checks of roads with their state, as numbered on the map, with latitude and longitude.

    Returns where the list ends, in mm.
    """
    rows = sorted(
        row for layer in layers if {CHECK, STATE} <= set(layer.fields().names()) for row in _checks(layer, project)
    )
    if not rows:
        return _BESIDE.top()
    lines = [f"{number}  {y:.5f}, {x:.5f}  {state}" for number, state, x, y in rows[:_MAX_CHECKS]]
    label = _add_label(layout, "\n".join([tr("To check:"), *lines]), _BESIDE, _NOTE_PT)
    label.adjustSizeToText()
    return label.rect().bottom() + _BESIDE.top() + _SPACE_MM


def _checks(layer: QgsVectorLayer, project: QgsProject) -> Iterator[tuple[int, str, float, float]]:
    """Yield number, state, longitude and latitude of the checks of a layer."""
    request = (
        QgsFeatureRequest()
        .setFilterExpression(f'"{CHECK}" is not null')
        .setDestinationCrs(_DEGREES, project.transformContext())
    )
    for feature in layer.getFeatures(request):
        shape = feature.geometry()
        middle = shape.interpolate(shape.length() / 2).asPoint()
        yield int(feature[CHECK]), str(feature[STATE]), middle.x(), middle.y()


def _add_scale(layout: QgsPrintLayout, shown: QgsLayoutItemMap) -> None:
    bar = QgsLayoutItemScaleBar(layout)
    bar.setStyle("Single Box")
    bar.setLinkedMap(shown)
    bar.applyDefaultSize(QgsUnitTypes.DistanceUnit.DistanceMeters)
    bar.setBackgroundEnabled(True)
    _place(bar, _SCALE)
    layout.addLayoutItem(bar)
    bar.resizeToMinimumWidth()


def _add_label(layout: QgsPrintLayout, text: str, place: QRectF, size_pt: float) -> QgsLayoutItemLabel:
    label = QgsLayoutItemLabel(layout)
    label.setText(text)
    style = label.textFormat()
    style.setSize(size_pt)
    label.setTextFormat(style)
    _place(label, place)
    layout.addLayoutItem(label)
    return label


def _place(item: QgsLayoutItem, at: QRectF) -> None:
    item.attemptMove(QgsLayoutPoint(at.x(), at.y()))
    item.attemptResize(QgsLayoutSize(at.width(), at.height()))
