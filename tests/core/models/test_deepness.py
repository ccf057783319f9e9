import json
import os

import numpy as np
import onnx
import onnxruntime
import pytest
import rasterio
import torch
from torch import nn

from training_core.errors import JobError, ModelFileError
from training_core.events import Reporter
from training_core.jobs import Segment
from training_core.models.loading import load_graph, load_model
from training_core.pipelines import segment

# Of PyTorch, about its older exporter.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SIDE_PX = 128
METADATA = {
    "model_type": "Segmentor",
    "class_names": {"0": "not_road", "1": "road"},
    "resolution": 100,
    "tiles_size": SIDE_PX,
    "tiles_overlap": 15,
    "standardization_mean": [0.4, 0.4, 0.4],
    "standardization_std": [0.2, 0.2, 0.2],
}


class Bright(nn.Module):
    """Bright ground is road: what a network of some pixels' context would learn of a town, with other layers."""

    def __init__(self, channels):
        super().__init__()
        self.smooth = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.again = nn.ConvTranspose2d(channels, channels, 2, 2)
        with torch.no_grad():
            self.smooth.weight[:] = 1 / 27
            self.again.weight[:] = 8 * torch.eye(channels)[:, :, None, None]
            self.again.bias[:] = 0
            self.again.weight[: channels - 1] *= -1  # the last channel is road

    def forward(self, images):
        logits = nn.functional.avg_pool2d(self.again(self.smooth(images)), 2)
        return torch.sigmoid(logits) if self.again.out_channels == 1 else torch.softmax(logits, 1)


def write(path, channels=2, side_px=SIDE_PX, **metadata):
    content = os.fspath(path)
    torch.onnx.export(
        Bright(channels).eval(), (torch.zeros(1, 3, side_px, side_px),), content, input_names=["pixels"],
        output_names=["output"], opset_version=17, dynamo=False,
    )  # fmt: skip
    model = onnx.load(content)
    onnx.helper.set_model_props(model, {key: json.dumps(value) for key, value in {**METADATA, **metadata}.items()})
    onnx.save(model, content)
    return content


def read_raster(path):
    with rasterio.open(path) as dataset:
        return dataset.read()


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A model of another program, of two channels, for squares; do not write there."""
    return write(tmp_path_factory.mktemp("foreign") / "bright.onnx")


@pytest.mark.parametrize(
    ("channels", "metadata"),
    [
        (2, {}),
        (1, {"class_names": {"0": "road"}, "seg_thresh": 0.4}),
        (1, {"class_names": [{"0": "background", "1": "Roads"}]}),
        (3, {"class_names": {"0": "background", "1": "building", "2": "road"}}),
    ],
)
def test_segment_finds_what_the_model_finds_in_squares(town, tmp_path, channels, metadata):
    model = write(tmp_path / "model.onnx", channels, **metadata)
    mask, probability = str(tmp_path / "mask.tif"), str(tmp_path / "probability.tif")
    result = segment.run(Segment(raster=town.raster, model=model, mask=mask, probability=probability), Reporter())
    assert result["threshold"] == metadata.get("seg_thresh", 0.5)
    values = np.pad(read_raster(town.raster), ((0, 0), (0, 64), (0, 64)), mode="constant", constant_values=102)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    batch = ((values[:, :SIDE_PX, :SIDE_PX] / 255 - 0.4) / 0.2)[None].astype(np.float32)
    (expected,) = session.run(None, {"pixels": batch})
    inner = slice(0, SIDE_PX - 8)  # farther from the square's end than the model sees
    found = read_raster(probability)[0][inner, inner] / 254
    assert np.abs(found - expected[0, -1][inner, inner]).max() < 0.02 and expected.std() > 0.1
    assert ((read_raster(mask)[0] == 1) == town.truth).mean() > 0.9


def test_what_needs_its_layers_is_refused(town, foreign, tmp_path):
    with pytest.raises(JobError, match="halo"):
        segment.run(Segment(raster=town.raster, model=foreign, mask=str(tmp_path / "m.tif"), halo="exact"), Reporter())
    with pytest.raises(ModelFileError, match="not a RoadSeg model"):
        load_graph(foreign)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"model_type": "Detector"}, "not a Segmentor"),
        ({"class_names": {"0": "background", "1": "building"}}, "exactly one must be road"),
        ({"class_names": {"0": "background", "7": "road"}}, "exactly one must be road"),
        ({"class_names": [{"0": "a"}, {"0": "road"}]}, "class_names"),
        ({"resolution": 0}, "resolution"),
        ({"standardization_std": [0, 0, 0]}, "standardization_std"),
        ({"standardization_mean": [0.1]}, "1 means"),
        ({"class_names": {str(number): "road" for number in range(100_000)}}, "class_names"),
    ],
)
def test_metadata_that_say_nothing_clear_are_refused(foreign, tmp_path, metadata, words):
    def change(model):
        props = {**METADATA, **metadata}
        onnx.helper.set_model_props(model, {key: json.dumps(value) for key, value in props.items()})

    refused(foreign, tmp_path, change, words)


def _without(key):
    return lambda model: onnx.helper.set_model_props(
        model, {name: json.dumps(value) for name, value in METADATA.items() if name != key}
    )


def _note(model, key):
    return next(note for note in model.metadata_props if note.key == key)


def _dims(value):
    return value.type.tensor_type.shape.dim


def _without_softmax(model):
    last = model.graph.node.pop()
    model.graph.node[-1].output[0] = last.output[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without("resolution"), "resolution is missing"),
        (_without("model_type"), "not a RoadSeg model"),
        (lambda model: setattr(_note(model, "class_names"), "value", "{0: 'a', 1: 'road'}"), "not JSON"),
        (lambda model: setattr(_dims(model.graph.input[0])[2], "dim_param", "height"), "squares of one size"),
        (lambda model: setattr(_dims(model.graph.input[0])[1], "dim_value", 4), "takes 4 bands"),
        (lambda model: setattr(_dims(model.graph.output[0])[1], "dim_value", 1), "not end in a sigmoid"),
        (lambda model: setattr(model.graph.input[0].type.tensor_type, "elem_type", 2), "floating-point"),
        (lambda model: model.graph.input.add(name="more").type.CopyFrom(model.graph.input[0].type), "one image"),
        (lambda model: model.graph.output.append(model.graph.output[0]), "one image"),
        (lambda model: model.graph.input[0].ClearField("type"), "one image"),
        (_without_softmax, "softmax"),
        (lambda model: setattr(model.graph.node[-1].attribute[0], "i", 3), "softmax"),
        (lambda model: setattr(model.graph.node[0], "op_type", "Loop"), "Loop"),
        (lambda model: model.graph.initializer[0].dims.__setitem__(0, 1 << 40), "damaged"),
        (lambda model: model.graph.node[0].output.__setitem__(0, "image"), "damaged"),
    ],
)  # fmt: skip
def test_a_graph_that_is_no_such_model_is_refused(foreign, tmp_path, change, words):
    refused(foreign, tmp_path, change, words)


def refused(foreign, tmp_path, change, words):
    model = onnx.load(foreign)
    change(model)
    path = tmp_path / "bad.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelFileError) as caught:
        load_model(str(path))
    assert "bad.onnx" in str(caught.value) and words in str(caught.value) and len(str(caught.value)) < 1000
    assert caught.value.remedy
