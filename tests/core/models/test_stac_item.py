import hashlib
import json
from dataclasses import replace
from urllib.parse import unquote

import numpy as np
import onnxruntime
import pytest

from tests.core.support.towns import RGB, plant_model
from training_core.events import Reporter
from training_core.jobs import ExportModel
from training_core.models.loading import load_model
from training_core.models.stac_item import stac_item
from training_core.pipelines import exportmodel


def export(model, onnx, item, **options):
    result = exportmodel.run(ExportModel(model=str(model), onnx=str(onnx), stac_item=str(item), **options), Reporter())
    assert result["stac_item"] == str(item)
    return json.loads(item.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A model of four bands as an ONNX file, and its item in another folder; do not write there."""
    folder = tmp_path_factory.mktemp("exported")
    model = plant_model(folder / "model.safetensors", (*RGB, "nir"))
    onnx = folder / "Straße #1 100%.onnx"
    return onnx, export(model, onnx, folder / "catalog" / "stac-item.json", tile_px=96)


def of_card(exported, **changes):
    """Return the properties of the item that the exported model would have with another card."""
    onnx, _ = exported
    card = replace(load_model(str(onnx))[1], **changes)
    return stac_item(card, onnx, str(onnx), str(onnx.parent / "stac-item.json"))["properties"]


def test_who_follows_the_item_finds_the_file_whole(exported):
    onnx, item = exported
    (asset,) = item["assets"].values()
    content = (onnx.parent / "catalog" / unquote(asset["href"])).read_bytes()
    assert content == onnx.read_bytes() and asset["file:size"] == len(content)
    assert asset["file:checksum"] == "1220" + hashlib.sha256(content).hexdigest()  # multihash: SHA2-256 of 32 bytes
    assert "mlm:model" in asset["roles"] and asset["mlm:artifact_type"] == "onnx"
    assert "#" not in asset["href"] and " " not in asset["href"]


def test_who_does_what_the_item_says_gets_a_probability(exported):
    onnx, item = exported
    (source,), (target,) = item["properties"]["mlm:input"], item["properties"]["mlm:output"]
    assert source["bands"] == [*RGB, "nir"] and source["input"]["shape"] == [-1, 4, 96, 96]
    values = np.random.default_rng(0).integers(0, 256, (4, 96, 96))
    scaled = [(band - each["mean"]) / each["stddev"] for band, each in zip(values, source["value_scaling"])]
    np.testing.assert_allclose(scaled, (values - 80.0) / 40.0)  # the statistics of a planted model
    session = onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    (found,) = session.run([target["name"]], {source["name"]: np.array([scaled], source["input"]["data_type"])})
    assert target["result"]["shape"] == [-1, *found.shape[1:]] and found.dtype == target["result"]["data_type"]
    assert 0 <= found.min() < found.max() <= 1
    assert [each["name"] for each in target["classification:classes"]] == ["background", "road"]


def test_license_and_attribution_are_those_of_the_card(exported):
    plain = of_card(exported)
    assert "license" not in plain and "providers" not in plain
    found = of_card(exported, license="CC-BY-4.0", training={"attribution": {"town": "Town of X (CC BY 4.0)"}})
    assert found["license"] == "CC-BY-4.0"
    assert found["providers"] == [{"name": "town", "description": "Town of X (CC BY 4.0)"}]
