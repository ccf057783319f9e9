"""Jobs ask for the packages that only they need."""

import sys

import pytest

from training_core.errors import PACKAGE_SETS, MissingPackagesError, missing_set
from training_core.events import Error, Reporter, explain
from training_core.jobs import ExportModel, ExportNetwork, MakeChallenge, MapRegion, Quantize, Segment
from training_core.system.packages import require


@pytest.mark.parametrize(
    ("job", "needed"),
    [
        (Segment(raster="a.tif"), []),
        (Segment(raster="a.tif", engine="openvino"), ["openvino"]),
        (Segment(raster="a.tif", model="m.ONNX"), ["openvino"]),
        (ExportModel(model="m", onnx="m.onnx"), ["onnx"]),
        (Quantize(model="m.onnx", rasters=("a.tif",), onnx="q.onnx"), ["nncf", "onnxruntime"]),
        (ExportNetwork(lines="a.gpkg", graphml="a.graphml"), []),
        (ExportNetwork(lines="a.gpkg", osm="a.osm"), ["osmium"]),
        (MakeChallenge(extract="a.osm.pbf"), ["osmium"]),
        (MapRegion(scheduler="tcp://a:1", roads="r.GeoParquet"), ["distributed", "pyarrow"]),
    ],
)
def test_a_job_names_what_only_it_needs(job, needed):
    assert job.packages() == needed


@pytest.mark.parametrize(("module", "name"), PACKAGE_SETS.items())
def test_a_missing_package_is_an_error_that_names_its_set(monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingPackagesError, match=f"{module}, which is not installed. Run .* with {name} under"
    ) as why:
        require(["json", module])
    assert missing_set(why.value) == name
    for error in (why.value, ModuleNotFoundError(f"No module named {module!r}", name=module)):
        assert explain(error, Reporter()) == Error(f"packages:{name}", why.value.message, why.value.remedy)
