"""An exported model's item, as the package stac-model and the core schema of STAC in pystac read it, offline."""

import json
from datetime import datetime

import pystac
import pytest
from pystac.validation import RegisteredValidator
from pystac.validation.stac_validator import STACObjectType
from stac_model.schema import MLModelProperties

from tests.core.support.towns import plant_model
from training_core.events import Reporter
from training_core.jobs import ExportModel
from training_core.pipelines import exportmodel


@pytest.fixture(scope="module")
def item(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    path = folder / "stac-item.json"
    model = plant_model(folder / "model.safetensors")
    exportmodel.run(ExportModel(model=model, onnx=str(folder / "model.onnx"), stac_item=str(path)), Reporter())
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_item_follows_the_core_of_stac(item):
    validator = RegisteredValidator.get_validator()
    validator.validate_core(item, STACObjectType.ITEM, "1.1.0")
    with pytest.raises(pystac.STACValidationError):
        validator.validate_core({**item, "properties": {}}, STACObjectType.ITEM, "1.1.0")
    assert isinstance(pystac.Item.from_dict(item).datetime, datetime)


def test_stac_model_reads_the_model_from_it(item):
    model = MLModelProperties(**item["properties"])
    (source,), (target,) = model.input, model.output
    assert source.bands == ["red", "green", "blue"] and source.input.shape == [-1, 3, 512, 512]
    assert [each.type for each in source.value_scaling] == ["z-score"] * 3
    assert [each.name for each in target.classes] == ["background", "road"]
    with pytest.raises(ValueError, match="mlm:input"):
        MLModelProperties(**{**item["properties"], "mlm:input": [{"name": "image"}]})
