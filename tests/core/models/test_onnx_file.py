import json
import os

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from tests.core.support.systems import make_pipe
from tests.core.support.towns import RGB
from training_core.errors import ModelFileError
from training_core.events import Reporter, Warning
from training_core.geodata.rasters import Band
from training_core.geodata.road_classes import RoadClass
from training_core.jobs import ExportModel, FineTune
from training_core.jobs.recipe import EFFICIENTNET
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import FP32, NativeEngine
from training_core.models.loading import load_model, load_network
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_model
from training_core.models.onnx_file import export_onnx, read_onnx, save_onnx
from training_core.pipelines import exportmodel, finetune


@pytest.fixture(scope="module")
def exported(planted, tmp_path_factory):
    """A model that has learned nothing, for squares of 96 px; do not write there."""
    return export(planted, tmp_path_factory.mktemp("exported") / "model.onnx", tile_px=96)


@pytest.fixture(scope="module")
def exported_freely(planted, tmp_path_factory):
    """The same model for images of any size; do not write there."""
    return export(planted, tmp_path_factory.mktemp("exported") / "any.onnx", tile_px=0)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The bytes of the smallest model that there is, for squares of 96 px."""
    folder = tmp_path_factory.mktemp("small")
    card = ModelCard(Architecture(encoder=EFFICIENTNET), tuple(map(Band, RGB)), 0.5)
    save_onnx(folder / "small.onnx", export_onnx(build_network(card.architecture).eval()), card, 96)
    return (folder / "small.onnx").read_bytes()


@pytest.fixture
def damaged(small, tmp_path):
    """Return a copy of the small model after a change to it."""

    def make(change):
        model = onnx.load_from_string(small)
        change(model)
        path = tmp_path / "bad.onnx"
        path.write_bytes(model.SerializeToString())
        return str(path)

    return make


def export(model, path, **options):
    result = exportmodel.run(ExportModel(model=model, onnx=str(path), **options), Reporter())
    assert result == {"onnx": str(path), "megabytes": pytest.approx(path.stat().st_size / 1e6)}
    return str(path)


def notes(path):
    return {note.key: json.loads(note.value) for note in onnx.load(path).metadata_props}


def torch_probability(model, images):
    engine = NativeEngine(FP32)
    return engine.probability(engine.prepare_inference(load_network(model)[0]), torch.from_numpy(images)).numpy()


def images_of(batch, height, width):
    return np.random.default_rng(height).normal(size=(batch, 3, height, width)).astype(np.float32)


@pytest.mark.parametrize("shape", [(2, 64, 96), (1, 128, 32)])
def test_another_runtime_gives_the_same_probability_at_any_size(planted, exported_freely, shape):
    session = onnxruntime.InferenceSession(exported_freely, providers=["CPUExecutionProvider"])
    images = images_of(*shape)
    (found,) = session.run(None, {"image": images})
    expected = torch_probability(planted, images)
    assert found.shape == expected.shape == (shape[0], 1, *shape[1:])
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)
    is_clear = np.abs(expected - 0.5) > 1e-4
    assert is_clear.mean() > 0.99 and expected.std() > 0.01
    np.testing.assert_array_equal((found >= 0.5)[is_clear], (expected >= 0.5)[is_clear])


def test_the_card_is_the_same(planted, exported):
    card = load_network(planted)[1]
    assert read_onnx(exported)[1] == load_model(exported)[1] == card
    assert notes(exported)["roadseg"] == card.to_document()


def test_deepness_finds_what_it_wants(exported):
    """What its code does: squares of a fixed side, values as (value / 255 - mean) / std, classes counted from 0."""
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    (source,), (target,) = session.get_inputs(), session.get_outputs()
    assert source.shape[1:] == [3, 96, 96] and target.shape[1:] == [1, 96, 96] and isinstance(source.shape[0], str)
    metadata = notes(exported)
    assert (metadata["model_type"], metadata["tile_size"], metadata["tiles_size"]) == ("Segmentor", 96, 96)
    assert metadata["class_names"] == {"0": "background", "1": "road"}
    assert metadata["resolution"] == 100 and metadata["seg_thresh"] == 0.5 and metadata["seg_small_segment"] == 0
    values = np.random.default_rng(0).integers(0, 256, (96, 96, 3)).astype(np.uint8)
    deepness = (values / 255 - np.array(metadata["standardization_mean"])) / np.array(metadata["standardization_std"])
    np.testing.assert_allclose(deepness, (values - 80.0) / 40.0, atol=1e-9)
    batch = deepness.astype(np.float32).transpose(2, 0, 1)[None]
    (found,) = session.run(None, {source.name: batch})
    assert found.min() >= 0 and found.max() <= 1


def test_a_model_of_road_classes_is_no_segmentor_of_deepness(tmp_path):
    """It would take the largest channel of road and its classes, and find no name for the last of them."""
    architecture = Architecture(encoder=EFFICIENTNET, classes=2)
    card = ModelCard(architecture, tuple(map(Band, RGB)), 0.5, classes=(RoadClass("track", 20),))
    model, path = str(tmp_path / "model.safetensors"), str(tmp_path / "model.onnx")
    save_model(tmp_path / "model.safetensors", build_network(architecture).state_dict(), card)
    told = []
    exportmodel.run(ExportModel(model=model, onnx=path, tile_px=96), Reporter(told.append))
    assert notes(path) == {"roadseg": card.to_document()} and read_onnx(path)[1] == card
    assert any("Deepness cannot run this model" in event.message for event in told if isinstance(event, Warning))


def refused(path, *words):
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert all(word in str(caught.value) for word in ("bad.onnx", *words))
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("write", "words"),
    [
        *((lambda path, content=content: path.write_bytes(content), "damaged or not an ONNX file")
          for content in (b"", b"hello", b"PK\x03\x04", b"\x80\x02}q\x00.")),
        (lambda path: None, "cannot be opened"),
        (lambda path: (path.touch(), os.truncate(path, 1 << 31)), "too large"),
        (make_pipe, "is not a file"),  # and not waited for
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path, write, words):
    write(tmp_path / "bad.onnx")
    refused(str(tmp_path / "bad.onnx"), words)


def test_a_truncated_file_is_refused(small, tmp_path):
    (tmp_path / "bad.onnx").write_bytes(small[: int(len(small) * 0.999)])
    refused(str(tmp_path / "bad.onnx"))


def _first_input(model):
    return model.graph.input[0].type.tensor_type.shape


def _set(part, name, value):
    return lambda model: setattr(part(model), name, value)


def _external(model):
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")


def _with_another_input(model):
    model.graph.input[0].name = "picture"
    for node in model.graph.node:
        for number, name in enumerate(node.input):
            if name == "image":
                node.input[number] = "picture"


def _with_a_damaged_note(text):
    def change(model):
        next(note for note in model.metadata_props if note.key == "roadseg").value = text

    return change


def _without_its_sigmoid(model):
    last = model.graph.node.pop()
    model.graph.node[-1].output[0] = last.output[0]


def _weight(model):
    return max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))


def _with_a_weight_of(value):
    def change(model):
        values = numpy_helper.to_array(_weight(model)).copy()
        values.flat[5] = value
        _weight(model).raw_data = values.tobytes()

    return change


def _of_another_shape(model):
    tensor = next(each for each in model.graph.initializer if "segmentation_head" in each.name and len(each.dims) == 4)
    tensor.dims[0], tensor.dims[1] = tensor.dims[0] * 2, tensor.dims[1] // 2


def _with_fewer_bytes(model):
    _weight(model).raw_data = _weight(model).raw_data[:-4]


def _that_enlarges_without_limit(model):
    for tensor in [*(each.t for node in model.graph.node if node.op_type == "Constant" for each in node.attribute),
                   *model.graph.initializer]:  # fmt: skip
        if tensor.data_type == TensorProto.FLOAT and list(tensor.dims) == [4]:
            tensor.raw_data = np.array([1, 1, 1000, 1000], np.float32).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model.ClearField("metadata_props"), "not a RoadSeg model"),
        (_without_its_sigmoid, "does not match its description"),
        (_set(lambda model: model.opset_import[0], "version", 7), "version of the ONNX operators"),
        (lambda model: model.ClearField("opset_import"), "version of the ONNX operators"),
        (lambda model: model.functions.add(name="f", domain="ai.onnx"), "has layers that no RoadSeg model has"),
        (
            lambda model: model.graph.node[0].attribute.add(name="body", type=5, g=onnx.GraphProto(name="hidden")),
            "has layers that no RoadSeg model has",
        ),
        (
            lambda model: model.graph.node.append(helper.make_node("Loop", ["image", "", ""], ["loop"], name="loop")),
            "has layers that no RoadSeg model has (Loop)",
        ),
        (_set(lambda model: model.graph.node[0], "domain", "org.example"), "has layers that no RoadSeg model has"),
        (_with_a_weight_of(np.nan), "not numbers"),
        (_with_a_weight_of(1e30), "not numbers"),
        (_of_another_shape, "damaged"),
        (_with_fewer_bytes, "damaged"),
        (lambda model: _weight(model).dims.__setitem__(0, -1), "damaged"),
        (_with_another_input, "does not match its description"),
        (lambda model: model.graph.input.add(name="mask").type.CopyFrom(model.graph.input[0].type),
         "does not match its description"),
        (lambda model: model.graph.output.append(model.graph.output[0]), "does not match its description"),
        (lambda model: _first_input(model).dim.pop(), "does not match its description"),
        (_set(lambda model: _first_input(model).dim[1], "dim_value", 4), "does not match its description"),
        (
            lambda model: model.graph.node.extend(
                helper.make_node("Identity", [f"n{i}"], [f"n{i + 1}"]) for i in range(100_000)
            ),
            "more than any RoadSeg model",
        ),
        (_that_enlarges_without_limit, ""),
        (lambda model: model.metadata_props.add(key="roadseg", value="{}"), "damaged"),
        (_external, "keeps its weights in other files"),
        (_with_a_damaged_note("{"), "damaged"),
    ],
)  # fmt: skip
def test_a_tampered_file_is_refused(damaged, change, message):
    refused(damaged(change), message)


def test_it_can_be_run_but_not_fine_tuned(town, exported, tmp_path):
    job = FineTune(rasters=(town.raster,), roads=town.roads, base_model=exported, model=str(tmp_path / "m.safetensors"))
    with pytest.raises(ModelFileError, match="can be run, but not fine-tuned"):
        finetune.run(job, Reporter())
    with pytest.raises(ModelFileError, match="not fine-tuned, merged or exported"):
        exportmodel.run(ExportModel(model=exported, onnx=str(tmp_path / "m.onnx")), Reporter())
    assert not list(tmp_path.iterdir())
