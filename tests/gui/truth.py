"""What a person sees in the image of a generated scene, by its true roads: what a network has wrong, and what it lacks.

Scope: shapes in the scene's CRS. Independent of the window.
"""

from qgis.core import QgsGeometry, QgsPointXY, QgsRectangle, QgsVectorLayer

# A line is on a road if it is that near to its true center-line, and shorter parts beside it are none.
NEAR_M, LEAST_M = 6.0, 20.0


def shape_of(lines: QgsVectorLayer) -> QgsGeometry:
    return QgsGeometry.unaryUnion([each.geometry() for each in lines.getFeatures()])


def wrong_in(view: QgsRectangle, roads: QgsVectorLayer, truth: QgsGeometry) -> list[list[QgsPointXY]]:
    """Return the stretches of a network in a view on which there is no road, the longest first."""
    near = truth.buffer(NEAR_M, 6)
    return _longest([each.geometry().difference(near) for each in roads.getFeatures(view)], view)


def missing_in(view: QgsRectangle, roads: QgsVectorLayer, truth: QgsGeometry) -> list[list[QgsPointXY]]:
    """Return the stretches of roads in a view that a network lacks, the longest first."""
    return _longest([truth.difference(shape_of(roads).buffer(NEAR_M, 6)).mergeLines()], view)


def along(line: list[QgsPointXY], step_m: float) -> list[QgsPointXY]:
    """Return places at equal distances of about a step from one end of a line to the other."""
    shape = QgsGeometry.fromPolylineXY(line)
    count = max(1, round(shape.length() / step_m))
    return [shape.interpolate(shape.length() * number / count).asPoint() for number in range(count + 1)]


def answer(place: QgsGeometry, is_transect: bool, roads: QgsGeometry, truth: QgsGeometry) -> str:
    """Return the key for a place of an accuracy sample."""
    if not is_transect:
        on_road = place.intersection(truth.buffer(NEAR_M, 6)).length()
        return "A" if on_road > place.length() / 2 else "X"
    near = roads.intersection(place).buffer(2 * NEAR_M, 6)
    missed = place.intersection(truth).asGeometryCollection()
    return str(sum(not near.intersects(each) for each in missed))


def _longest(shapes: list[QgsGeometry], view: QgsRectangle) -> list[list[QgsPointXY]]:
    parts = [part for shape in shapes for part in shape.clipped(view).asGeometryCollection()]
    parts = sorted((each for each in parts if each.length() > LEAST_M), key=lambda each: -each.length())
    return [each.simplify(1.0).asPolyline() for each in parts]
