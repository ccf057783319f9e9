"""ONNX models of other programs that find roads, with the metadata of the QGIS plugin Deepness.

Scope: which of them RoadSeg can run; metadata to model card, graph to RoadSeg's input and output. Independent of
engines. The file is untrusted input: see `onnx_file`. The format is that of Deepness 0.6, in the chapters *Adding
metadata to ONNX model* and *Model classes and requirements* of its documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

import onnx
from onnx import ModelProto

from ..errors import ModelFileError, shown
from ..geodata.rasters import MAX_VALUE, MIN_STD, Band
from ..geodata.tiling import STRIDE_PX
from ..jobs.json_fields import MAX_TEXT, Key, Range, parse, read
from . import onnx_file
from .architectures import Architecture
from .model_card import COARSEST_M, FINEST_M, ModelCard
from .onnx_model import INPUT, OUTPUT, UNKNOWN
from .openvino_model import square_halo_px

_ROAD = ("road", "roads")
_BANDS = ("red", "green", "blue")
# Values are divided by this before they are normalized: Deepness takes only images of 8 bits.
_FULL = 255
_KEYS = ("model_type", "class_names", "resolution", "standardization_mean", "standardization_std", "seg_thresh")
# Layers of other segmentation networks, in addition to those of RoadSeg's models.
_LAYERS = onnx_file.LAYERS | {
    "AveragePool", "ConvTranspose", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Pad", "Pow", "PRelu", "ReduceMean",
    "Sqrt", "Squeeze", "Sub", "Tanh",
}  # fmt: skip


@dataclass(frozen=True)
class _Metadata:
    """The metadata that RoadSeg reads; each value is JSON of its own. Resolution in cm."""

    model_type: str
    class_names: dict[str, str]
    resolution_cm: Annotated[float, Key("resolution"), Range(100 * FINEST_M, 100 * COARSEST_M)]
    mean: Annotated[tuple[Annotated[float, Range(-MAX_VALUE, MAX_VALUE)], ...], Key("standardization_mean")] = (0,) * 3
    std: Annotated[tuple[Annotated[float, Range(MIN_STD, MAX_VALUE)], ...], Key("standardization_std")] = (1,) * 3
    threshold: Annotated[float, Key("seg_thresh"), Range(0.001, 1)] = 0.5


def is_from_deepness(model: ModelProto) -> bool:
    """Whether a model has the metadata of Deepness, and none of RoadSeg."""
    keys = {note.key for note in model.metadata_props}
    return "model_type" in keys and onnx_file.CARD_KEY not in keys


def read_deepness(model: ModelProto, path: str) -> tuple[ModelProto, ModelCard]:
    """Return a model with RoadSeg's input and output, for batches of one square of its side, and a card for it.

    Raises ModelFileError if it is not a segmentation model with one class road for squares of red, green and blue, or
    is damaged.
    """
    metadata = _read_metadata(model, path)
    onnx_file.check_layers(model, path, _LAYERS)
    side_px, channels = _extents(model, path)
    channel = _road_channel(metadata.class_names, channels, path)
    _check_end(model, channels, path)
    _connect(model, channel if channels > 1 else None)
    architecture = Architecture(UNKNOWN, UNKNOWN, len(_BANDS))
    bands = (Band(name, mean * _FULL, std * _FULL) for name, mean, std in zip(_BANDS, metadata.mean, metadata.std))
    card = ModelCard(
        architecture,
        tuple(bands),
        metadata.resolution_cm / 100,
        # Deepness takes the largest of several channels.
        threshold=metadata.threshold if channels == 1 else max(0.5, metadata.threshold),
        chip_px=side_px,
        halo_px=square_halo_px(side_px),
    )
    onnx_file.check_numbers_and_shapes(model, path, side_px)
    onnx_file.set_side(model, side_px, batch=1)
    return model, card


def _read_metadata(model: ModelProto, path: str) -> _Metadata:
    try:
        document = {note.key: _value(note) for note in model.metadata_props if note.key in _KEYS}
        metadata = read(_Metadata, document, "its")
    except ValueError as error:
        raise ModelFileError(
            f"The metadata of Deepness in {path} cannot be used: {str(error).rstrip('.')}.",
            "Correct it with the tools that made the model, or choose one made by Export a model.",
        ) from error
    if metadata.model_type.lower() != "segmentor":
        raise _unfit(path, f"is a {shown(metadata.model_type)} of Deepness, not a Segmentor")
    if not len(metadata.mean) == len(metadata.std) == len(_BANDS):
        raise _unfit(path, f"is normalized by {len(metadata.mean)} means and {len(metadata.std)} deviations, not 3")
    return metadata


def _value(note: onnx.StringStringEntryProto) -> object:
    """Return the value of a note; names of one output may be a list of one object."""
    if len(note.value) > MAX_TEXT:
        raise ValueError(f"{note.key} has {len(note.value)} characters, not at most {MAX_TEXT}")
    try:
        value = parse(note.value)
    except ValueError as error:
        raise ValueError(f"{note.key} is {shown(note.value)}, not JSON") from error
    return value[0] if note.key == "class_names" and isinstance(value, list) and len(value) == 1 else value


def _extents(model: ModelProto, path: str) -> tuple[int, int]:
    """Return the side of the squares that a model takes, in pixels, and the number of channels that it returns."""
    graph = model.graph
    shapes = [
        [extent.dim_value for extent in value.type.tensor_type.shape.dim] for value in (*graph.input, *graph.output)
    ]
    if len(graph.input) != 1 or len(graph.output) != 1 or any(len(shape) != 4 for shape in shapes):
        raise _unfit(path, "does not have one image as its input and one as its output")
    (_, bands, height, width), (_, channels, *extents) = shapes
    types = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    if types != {onnx.TensorProto.FLOAT}:
        raise _unfit(path, "does not take and return 32-bit floating-point numbers")
    if bands != len(_BANDS):
        raise _unfit(path, f"takes {bands} bands, not red, green and blue")
    if not STRIDE_PX <= height == width <= onnx_file.MAX_SIDE_PX or extents != [height, width] or not channels:
        raise _unfit(path, "does not declare squares of one size as its input and output")
    return height, channels


def _road_channel(names: dict[str, str], channels: int, path: str) -> int:
    """Return the channel of road: class 1 after the background where there is a single channel."""
    roads = [number for number, name in names.items() if name.strip().lower() in _ROAD]
    expected = [set(map(str, range(channels)))] if channels > 1 else [{"0"}, {"0", "1"}]
    if names.keys() not in expected or len(roads) != 1 or (channels == 1 and roads != [max(names)]):
        raise _unfit(path, f"has the classes {shown(list(names.values()))}, but exactly one must be road")
    return int(roads[0])


def _check_end(model: ModelProto, channels: int, path: str) -> None:
    """Raise ModelFileError unless the result is a probability."""
    last = next((node for node in model.graph.node if model.graph.output[0].name in node.output), None)
    axes = [each.i for each in last.attribute if each.name == "axis"] if last else []
    is_probability = last and (last.op_type == "Sigmoid" if channels == 1 else (last.op_type, axes) == ("Softmax", [1]))
    if not is_probability:
        raise _unfit(path, f"does not end in a {'sigmoid' if channels == 1 else 'softmax over its classes'}")


def _connect(model: ModelProto, channel: Optional[int]) -> None:
    """Give a graph RoadSeg's input and output, which is a channel of its own output, or its only one."""
    graph, make = model.graph, onnx.helper
    source, target = graph.input[0], graph.output[0]
    _rename(graph, source.name, INPUT)
    _rename(graph, target.name, OUTPUT if channel is None else "classes")
    if channel is not None:
        graph.initializer.append(make.make_tensor("road", onnx.TensorProto.INT64, [1], [channel]))
        graph.node.append(make.make_node("Gather", ["classes", "road"], [OUTPUT], axis=1))
    source.name, target.name = INPUT, OUTPUT
    target.type.tensor_type.shape.dim[1].dim_value = 1


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Rename an array; where another has the new name, the checks of the graph find it assigned twice."""
    for node in graph.node:
        for names in (node.input, node.output):
            for number, name in enumerate(names):
                if name == old:
                    names[number] = new


def _unfit(path: str, why: str) -> ModelFileError:
    return ModelFileError(
        f"{path} {why}.",
        "Choose a segmentation model with a class road for squares of red, green and blue, or one made by Export a "
        "model.",
    )
