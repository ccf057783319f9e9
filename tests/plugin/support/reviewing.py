"""Changes and places to review: their file, the keys pressed on the map, and what the panel and the file then hold."""

import sqlite3

from qgis.core import (
    QgsCoordinateTransformContext,
    QgsFeature,
    QgsGeometry,
    QgsPointXY,
    QgsVectorFileWriter,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtTest import QTest

# From west to east; the second is not reviewed, and the last is far away and long.
ROADS = [
    ("new", "350000 3060000, 350020 3060000"),
    ("intact", "350050 3060000, 350070 3060000"),
    ("lost", "350100 3060000, 350120 3060000"),
    ("displaced", "350210 3060000, 350230 3060000"),
    ("new", "352000 3060000, 358000 3060000"),
]
NEAR_LOST = QgsPointXY(350115, 3060000)


def write(path, fields="", roads=ROADS):
    """Write changes to a GeoPackage, in which a line's id is its place in the list, from 1."""
    layer = QgsVectorLayer(f"LineString?crs=epsg:32645&field=change:string{fields}", "changes", "memory")
    for change, points in roads:
        line = QgsFeature(layer.fields())
        line["change"] = change
        line.setGeometry(QgsGeometry.fromWkt(f"LineString ({points})"))
        layer.dataProvider().addFeature(line)
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.layerName = "changes"
    QgsVectorFileWriter.writeAsVectorFormatV3(layer, str(path), QgsCoordinateTransformContext(), options)


def review_in(path):
    """Return the field `review` by id, as another program finds it in the file."""
    database = sqlite3.connect(path)
    try:
        return dict(database.execute("select fid, review from changes where review is not null"))
    finally:
        database.close()


def press(review, keys):
    for key in keys:
        QTest.keyClick(review._window.mapCanvas(), getattr(Qt.Key, f"Key_{key}"))


def shown(review):
    """Return what is asked, without its words, and how many lines are reviewed and left."""
    kind = review.panel.line.text().partition("<b>")[2].partition(" ")[0]
    return kind, review.panel.progress.value(), review.panel.progress.maximum() - review.panel.progress.value()
