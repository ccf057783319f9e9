"""What the hostile tests share: values for every algorithm, and a look at what a run has left."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from qgis.core import QgsFeature, QgsGeometry, QgsProcessingFeatureSourceDefinition, QgsProject

from ..support.acting import failure, memory_layer
from ..support.parts import WRITE

LINE = "LineString (350001 3059999, 350011 3059999)"
AREA = "Polygon ((350000 3059990, 350010 3059990, 350010 3060000, 350000 3059990))"

# Inputs and outputs by algorithm: lines and area are layers, what begins with a dot is a file to write.
TABLE = {
    "finetune": {"INPUT": ["image"], "ROADS": "lines", "AOI": "area", "MODEL": ".safetensors", "REPORT": ".html"},
    "evaluate": {"INPUT": ["image"], "ROADS": "lines", "AOI": "area", "MODEL": "model", "REPORT": ".html"},
    "suggestlabels": {"INPUT": "image", "LABELED": "area", "OUTPUT": ".gpkg"},
    "exportchips": {"INPUT": ["image"], "ROADS": "lines", "AOI": "area", "OUTPUT": "folder"},
    "exportmodel": {"INPUT": "model", "OUTPUT": ".onnx"},
    "quantize": {"INPUT": ["image"], "MODEL": "model", "ROADS": "lines", "OUTPUT": ".onnx"},
    "mergemodels": {"INPUT": ["model", "model"], "RASTERS": ["image"], "OUTPUT": ".safetensors"},
    "makescene": {"RASTER": ".tif", "OUTPUT": ".gpkg"},
    "segment": {"INPUT": "image", "MODEL": "model", "AOI": "area", "MASK": ".tif"},
    "vectorize": {"INPUT": "image", "OUTPUT": ".gpkg", "NODES": ".shp"},
    "extractroads": {"INPUT": "image", "MODEL": "model", "AOI": "area", "OUTPUT": ".geojson"},
    "mapregion": {"INPUT": ["image"], "MODEL": "model", "AOI": "area", "FOLDER": "folder", "OUTPUT": ".gpkg"},
    "cleannetwork": {"INPUT": "lines", "OUTPUT": ".gpkg", "NODES": ".shp"},
    "scorenetwork": {"INPUT": "lines", "TRUTH": "lines", "AOI": "area", "OUTPUT": ".gpkg"},
    "sampleaccuracy": {"INPUT": "lines", "RASTER": "image", "AOI": "area", "OUTPUT": ".gpkg"},
    "checkaccuracy": {"INPUT": "lines", "REPORT": ".html"},
    "exportnetwork": {"INPUT": "lines", "GRAPHML": ".graphml"},
    "comparenetworks": {"INPUT": "lines", "BEFORE": "lines", "OUTPUT": ".gpkg"},
    "roadstatus": {"INPUT": "lines", "RASTER": "image", "MODEL": "model", "HAZARDS": "area", "OUTPUT": ".gpkg"},
    "getosmdata": {"INPUT": "area", "EXTRACT": "profile", "OUTPUT": ".gpkg"},
    "applyreview": {"INPUT": "lines", "REVIEW": "lines", "OUTPUT": ".gpkg"},
    "makechallenge": {"INPUT": "lines", "OUTPUT": ".json"},
    "exportchanges": {"INPUT": "lines", "EXTRACT": "profile", "OUTPUT": ".osc"},
    "profile": {"INPUT": "image", "MODEL": "model", "REPORT": ".html", "TRACE": ".json"},
    "compareprofiles": {"INPUT": "profile", "BEFORE": "profile", "REPORT": ".html"},
}
# Algorithms share the code that runs their worker: these stand for all, which `make test-hostile` tries.
STANDING = ("finetune", "segment", "cleannetwork", "makescene")
EACH = [pytest.param(name, marks=() if name in STANDING else pytest.mark.slow) for name in TABLE]
WITH_LAYERS_IN = sorted(name for name, values in TABLE.items() if {"lines", "area"} & set(map(str, values.values())))
WITH_LAYERS_OUT = sorted(name for name, values in TABLE.items() if str(values.get("OUTPUT"))[1:] in ("gpkg", "geojson"))

# Writes 300 features into each layer that is asked for, and a file for every other output.
ALL_OUTPUTS = (
    WRITE
    + """
options = job()["options"]
for name, path in options.items():
    if name in ("roads", "nodes", "suggestions", "errors", "changes", "sample", "reached", "places", "status",
                "arrows") and path \
            and not os.path.exists(path):
        write(path, name, ogr.wkbLineString, {"length_m": ogr.OFTReal},
              [("LINESTRING (350001 3059999, 350011 3059999)", {"length_m": 10.0})] * 300)
    elif name in ("mask", "report", "model", "onnx", "graphml", "challenge", "raster") and path \
            and not os.path.exists(path):
        open(path, "w").close()
"""
)


@dataclass
class Place:
    """Where a run works: its outputs, and its temporary files."""

    out: Path
    temporary: Path

    def assert_clean(self, complete=()):
        assert sorted(path.name for path in self.out.iterdir()) == list(complete)
        assert list(self.temporary.glob("roadseg*")) == []


@pytest.fixture
def place(tmp_path, monkeypatch):
    found = Place(tmp_path / "out", tmp_path / "temporary")
    found.out.mkdir()
    found.temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found.temporary))
    return found


@pytest.fixture
def values_of(place, image, model, profile):
    """Return a function that makes the values of an algorithm; an expression filters its layers."""

    def layer(name, expression):
        found = memory_layer("LineString" if name == "lines" else "Polygon", f"drawn {name}", "")
        for _ in range(300):
            feature = QgsFeature(found.fields())
            feature.setGeometry(QgsGeometry.fromWkt(LINE if name == "lines" else AREA))
            found.dataProvider().addFeature(feature)
        return QgsProcessingFeatureSourceDefinition(found.id(), filterExpression=expression)

    def make(algorithm, expression=""):
        files = {"image": str(image), "model": model, "profile": profile}
        files["folder"] = str(place.out / "folder")
        values = {}
        for name, kind in TABLE[algorithm].items():
            if kind in ("lines", "area"):
                values[name] = layer(kind, expression)
            elif isinstance(kind, list):
                values[name] = [files[each] for each in kind]
            else:
                values[name] = files.get(kind, str(place.out / f"{name.lower()}{kind}"))
        return values

    yield make
    QgsProject.instance().removeAllMapLayers()


@pytest.fixture
def told(place, provider):
    """Return a function that runs an algorithm that fails, checks that nothing is left, and returns what was told."""

    def run(algorithm, values, ear=None, complete=()):
        text = failure(algorithm, values, ear)
        assert "Traceback" not in text
        place.assert_clean(complete)
        return text

    return run
