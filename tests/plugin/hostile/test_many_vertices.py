"""Labels of a million vertices: what it costs to hand them to the worker."""

import sys
import time

import pytest
from qgis.core import QgsFeature, QgsGeometry, QgsProcessingContext, QgsVectorLayer
from roadseg.qgis_roadseg.layers import exchange


def write_lines(lines, vertices, path):
    """Write a layer of lines as an input of the worker; return the seconds and the number of calls that took."""
    layer = QgsVectorLayer("LineString?crs=epsg:32645&field=width:double", "Straßen", "memory")
    features = []
    for number in range(lines):
        feature = QgsFeature(layer.fields())
        points = ", ".join(f"{350000 + x} {3060000 + number}" for x in range(vertices))
        feature.setGeometry(QgsGeometry.fromWkt(f"LineString ({points})"))
        feature["width"] = 5.0
        features.append(feature)
    layer.dataProvider().addFeatures(features)
    calls = []
    context, began = QgsProcessingContext(), time.perf_counter()
    sys.setprofile(lambda frame, event, what: calls.append(event) if event.endswith("call") else None)
    try:
        exchange.write_source(layer, ["width"], path, context)
    finally:
        sys.setprofile(None)
    seconds = time.perf_counter() - began
    assert QgsVectorLayer(str(path), "seen", "ogr").featureCount() == lines
    return seconds, len(calls)


def test_the_work_in_python_grows_with_features_alone_and_no_faster(tmp_path, qgis_app):
    _, base = write_lines(50, 10, tmp_path / "a.gpkg")
    _, with_vertices = write_lines(50, 1000, tmp_path / "b.gpkg")
    _, with_features = write_lines(500, 10, tmp_path / "c.gpkg")
    assert with_vertices == base
    assert with_features <= 10 * base


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "vertices"), [(1_000, 1_000), (100_000, 10), (1, 1_000_000)])
def test_a_million_vertices_are_handed_over_in_seconds(lines, vertices, tmp_path, qgis_app):
    seconds, _ = write_lines(lines, vertices, tmp_path / "roads.gpkg")
    assert seconds < 60  # 0.1 s where lines are long, 2.5 s where they are short
