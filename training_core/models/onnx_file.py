"""The ONNX file of a model: the network as a graph that any program can run, and the model card in the metadata.

Scope: export, reading, checks of the graph, metadata for Deepness. Independent of engines. An ONNX file is
untrusted input: it must be self-contained, and have only the layer types of RoadSeg's models.
"""

from __future__ import annotations

import io
import json
import math
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import onnx
import torch
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto
from torch import nn

from ..errors import ModelFileError, shown
from ..geodata.tiling import STRIDE_PX, USUAL_HALO_PX
from .model_card import ModelCard, card_from_text
from .model_file import MAX_WEIGHT, check_file, no_numbers, unopened
from .onnx_model import INPUT, OUTPUT, OnnxModel

OPSET = 17
# The oldest set of operators with all that RoadSeg's models have.
_OLDEST_OPSET = 13
# A quantized U-Net on the largest encoder has some 2000 nodes.
_MAX_NODES = 20_000
# Larger squares than any program tiles images into.
MAX_SIDE_PX = 8192
# A layer returns at most this number of values for each pixel of an image of _TRIED_PX squared.
_TRIED_PX, _MAX_PER_PX = 64, 1024
CARD_KEY = "roadseg"
_QUANTIZING = frozenset({"QuantizeLinear", "DequantizeLinear"})
LAYERS = _QUANTIZING | {
    "Add", "BatchNormalization", "Cast", "Clip", "Concat", "Constant", "ConstantOfShape", "Conv", "Div", "Equal", "Erf",
    "Expand", "Gather", "GlobalAveragePool", "Identity", "InstanceNormalization", "LayerNormalization", "MatMul",
    "MaxPool", "Mod", "Mul", "ReduceSum", "Relu", "Reshape", "Resize", "Shape", "Sigmoid", "Slice", "Softmax",
    "Transpose", "Unsqueeze", "Where",
}  # fmt: skip


def read_onnx(path: str) -> tuple[ModelProto, ModelCard]:
    """Return the RoadSeg model of an ONNX file; see `checked_onnx`.

    Raises ModelFileError if the file cannot be read, or is not a RoadSeg model.
    """
    return checked_onnx(parse_onnx(path), path)


def checked_onnx(model: ModelProto, path: str) -> tuple[ModelProto, ModelCard]:
    """Return a RoadSeg model, with batch, height and width made dynamic, and its card.

    Raises ModelFileError if it is not a RoadSeg model, or damaged.
    """
    card = _read_card(model, path)
    check_layers(model, path, LAYERS)
    _check_ends(model, card, path)
    check_numbers_and_shapes(model, path, _TRIED_PX)
    set_side(model, 0)
    return model, card


def serialized(model: ModelProto) -> OnnxModel:
    """Return a model in the form that engines run."""
    side_px = model.graph.input[0].type.tensor_type.shape.dim[-1].dim_value
    return OnnxModel(model.SerializeToString(), is_quantized(model), side_px)


def is_quantized(model: ModelProto) -> bool:
    """Whether layers of a model are quantized to INT8."""
    return any(node.op_type in _QUANTIZING for node in model.graph.node)


def export_onnx(model: nn.Module) -> ModelProto:
    """Export a model, with a sigmoid after it, in FP32, with dynamic batch, height and width."""
    bands = next(model.parameters()).shape[1]
    axes = {0: "batch", 2: "height", 3: "width"}
    whole = nn.Sequential(OrderedDict(network=model, sigmoid=nn.Sigmoid())).eval()
    content = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # about tracing, and about a newer exporter, which needs another package
        torch.onnx.export(
            whole,
            (torch.zeros(1, bands, 2 * STRIDE_PX, 2 * STRIDE_PX),),
            content,
            input_names=[INPUT],
            output_names=[OUTPUT],
            dynamic_axes={INPUT: axes, OUTPUT: axes},
            opset_version=OPSET,
            dynamo=False,
        )
    return onnx.load_model_from_string(content.getvalue())


def save_onnx(path: Path, model: ModelProto, card: ModelCard, tile_px: int) -> None:
    """Write a model with its card to one file, for programs that use square tiles of `tile_px`, or any (0)."""
    written = ModelProto()
    written.CopyFrom(model)
    set_side(written, tile_px)
    notes = {CARD_KEY: card.to_document(), **_deepness_notes(card, tile_px)}
    onnx.helper.set_model_props(written, {key: json.dumps(value) for key, value in notes.items()})
    onnx.checker.check_model(written)
    path.write_bytes(written.SerializeToString())


def _deepness_notes(card: ModelCard, tile_px: int) -> dict[str, Any]:
    """Return the metadata that the QGIS plugin Deepness reads.

    It normalizes by (value / 255 - mean) / std, and needs square tiles of a fixed side, whose name differs between its
    guide and its code. It removes small segments by erosion, which would cut thin roads, so that is switched off. It
    takes the largest of several channels, which means nothing for road classes: such a model gets no metadata.
    """
    if card.classes:
        return {}
    sides = {"tiles_size": tile_px, "tile_size": tile_px} if tile_px else {}
    overlap = round(100 * 2 * (card.halo_px or USUAL_HALO_PX) / tile_px) if tile_px else 0
    return {
        "model_type": "Segmentor",
        "class_names": {"0": "background", "1": "road"},
        "resolution": card.resolution_m * 100,
        **sides,
        "tiles_overlap": min(50, overlap),
        "standardization_mean": [band.mean / 255 for band in card.bands],
        "standardization_std": [band.std / 255 for band in card.bands],
        "seg_thresh": card.threshold,
        "seg_small_segment": 0,
    }


def set_side(model: ModelProto, side_px: int, batch: int = 0) -> None:
    """Declare the size of a model's input and output: squares of a side, in batches of a size; 0 for any.

    The graph itself, of a RoadSeg model, works for any size.
    """
    del model.graph.value_info[:]
    for value in (model.graph.input[0], model.graph.output[0]):
        count, _, height, width = value.type.tensor_type.shape.dim
        for extent, size, name in ((count, batch, "batch"), (height, side_px, "height"), (width, side_px, "width")):
            if size:
                extent.dim_value = size
            else:
                extent.dim_param = name


def parse_onnx(path: str) -> ModelProto:
    """Return the model of an ONNX file; nothing in it has been checked.

    Raises ModelFileError if the file cannot be read.
    """
    check_file(path)
    try:
        model = ModelProto.FromString(Path(path).read_bytes())
    except OSError as error:
        raise unopened(path, error.strerror) from error
    except DecodeError as error:
        raise _damaged(path) from error
    if not model.graph.node:
        raise _damaged(path)
    return model


def _read_card(model: ModelProto, path: str) -> ModelCard:
    texts = [note.value for note in model.metadata_props if note.key == CARD_KEY]
    if not texts:
        raise ModelFileError(f"{path} is an ONNX file, but not a RoadSeg model.", "Choose one made by Export a model.")
    if len(texts) > 1:
        raise _damaged(path)
    return card_from_text(texts[0], path)[0]


def check_layers(model: ModelProto, path: str, layers: frozenset[str]) -> None:
    """Check that a graph is self-contained, and has only layers of known types.

    Raises ModelFileError if it is not, or has others.
    """
    graph = model.graph
    if len(graph.node) > _MAX_NODES:
        raise ModelFileError(
            f"{path} has {len(graph.node)} nodes, more than any RoadSeg model.", "Choose one made by Export a model."
        )
    attributes = [each for node in graph.node for each in node.attribute]
    tensors = [*graph.initializer, *(each.t for each in attributes if each.HasField("t"))]
    if any(tensor.data_location == TensorProto.EXTERNAL or tensor.external_data for tensor in tensors):
        raise ModelFileError(
            f"{path} keeps its weights in other files, which RoadSeg does not follow.", "Export the model to one file."
        )
    foreign = {node.op_type for node in graph.node if node.domain not in ("", "ai.onnx") or node.op_type not in layers}
    hidden = any(each.HasField("g") or each.graphs or each.HasField("sparse_tensor") for each in attributes)
    if foreign or hidden or model.functions or model.training_info or graph.sparse_initializer:
        what = f" ({', '.join(shown(name)[1:-1] for name in sorted(foreign)[:5])})" if foreign else ""
        raise ModelFileError(
            f"{path} has layers that no RoadSeg model has{what}.", "Choose one made by Export a model."
        )
    opsets = [each.version for each in model.opset_import if each.domain in ("", "ai.onnx")]
    if len(opsets) != 1 or not _OLDEST_OPSET <= opsets[0] <= onnx.defs.onnx_opset_version():
        raise ModelFileError(
            f"{path} is written in a version of the ONNX operators that RoadSeg does not know ({shown(opsets)}).",
            f"Choose one made by Export a model, which writes version {OPSET}.",
        )


def _check_ends(model: ModelProto, card: ModelCard, path: str) -> None:
    """Raise ModelFileError unless the graph takes and returns images of the channels that the card says."""
    graph = model.graph
    is_fitting = graph.node[-1].op_type == "Sigmoid" and list(graph.node[-1].output) == [OUTPUT]
    ends = [(INPUT, card.architecture.in_channels, graph.input), (OUTPUT, card.architecture.classes, graph.output)]
    for name, channels, values in ends:
        tensors = [each.type.tensor_type for each in values if each.name == name]
        shapes = [list(each.shape.dim) for each in tensors if each.elem_type == TensorProto.FLOAT]
        is_image = len(values) == len(shapes) == 1 and len(shapes[0]) == 4
        is_fitting = is_fitting and is_image and shapes[0][1].dim_value == channels
    if not is_fitting:
        raise ModelFileError(f"The graph in {path} does not match its description.", "Copy it again.")


def check_numbers_and_shapes(model: ModelProto, path: str, side_px: int) -> None:
    """Check that weights are numbers, and that layers fit together for squares of a side, and are not too large.

    Raises ModelFileError if they are not, or do not.
    """
    _check_weights(model, path)
    _check_shapes(model, path, side_px)


def _check_weights(model: ModelProto, path: str) -> None:
    """Raise ModelFileError where a weight of a convolution, or any other constant, is not a number."""
    constants = [
        (name, each.t)
        for node in model.graph.node
        for name, each in zip(node.output, node.attribute)
        if each.HasField("t")
    ]
    variances = {node.input[4] for node in model.graph.node if node.op_type == "BatchNormalization" and node.input[4:]}
    for name, tensor in [*((each.name, each) for each in model.graph.initializer), *constants]:
        try:
            values = onnx.numpy_helper.to_array(tensor)
            if values.dtype.kind in "iu":  # of shapes, which are checked as such
                continue
            low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _damaged(path) from error
        if not ((0 if name in variances else -MAX_WEIGHT) <= low and high <= MAX_WEIGHT):
            raise no_numbers(name, path)


def _check_shapes(model: ModelProto, path: str, side_px: int) -> None:
    """Raise ModelFileError unless layers and weights fit together, for squares of a side.

    The output of a layer must not be much larger than in RoadSeg's models, and that of the network as large as the
    image.
    """
    tried = ModelProto()
    tried.CopyFrom(model)
    set_side(tried, side_px, batch=1)
    try:
        onnx.checker.check_model(tried)
        inferred = onnx.shape_inference.infer_shapes(tried, check_type=True, strict_mode=True, data_prop=True).graph
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
        raise _damaged(path) from error
    sizes = [
        math.prod(extent.dim_value for extent in value.type.tensor_type.shape.dim) for value in inferred.value_info
    ]
    if max(sizes, default=0) > _MAX_PER_PX * side_px**2:
        raise ModelFileError(
            f"A layer of {path} returns far more than any of a RoadSeg model.", "Choose one made by Export a model."
        )


def _damaged(path: str) -> ModelFileError:
    return ModelFileError(f"{path} is damaged or not an ONNX file.", "Copy it again or choose another.")
