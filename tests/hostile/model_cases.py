"""Model files that no training wrote: documents, weights and graphs spoiled one by one, and files cut and fuzzed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import ModelProto, numpy_helper
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.hostile.cases import EITHER, REFUSED, Case, Place
from tests.hostile.spoiling import NO_FILES, TEXTS, VALUES, Keys, Write, cut, fuzzed, with_value
from training_core.models.onnx_file import set_side

# Jobs that read a model, and the field that names it; every spoiled file is given to one of them, in turns.
_READERS = (("segment", "model"), ("extractroads", "model"), ("mapregion", "model"), ("evaluate", "model"),
            ("finetune", "base_model"), ("exportmodel", "model"), ("quantize", "model"),
            ("mergemodels", "models"))  # fmt: skip
_ONNX_READERS = ("segment", "extractroads", "evaluate", "quantize")

# Where in the document; the last key is replaced.
MEMBERS = {
    "format": ("format",),
    "architecture": ("roadseg:architecture",),
    "encoder": ("roadseg:architecture", "encoder"),
    "bands in": ("roadseg:architecture", "in_channels"),
    "classes out": ("roadseg:architecture", "classes"),
    "resolution": ("roadseg:resolution_m",),
    "threshold": ("roadseg:threshold",),
    "halo": ("roadseg:halo_px",),
    "scaling": ("roadseg:scaling",),
    "classes": ("roadseg:classes",),
    "input": ("mlm:input",),
    "bands": ("mlm:input", 0, "bands"),
    "a band": ("mlm:input", 0, "bands", 0),
    "scalings": ("mlm:input", 0, "value_scaling"),
    "mean": ("mlm:input", 0, "value_scaling", 0, "mean"),
    "deviation": ("mlm:input", 0, "value_scaling", 0, "stddev"),
    "chip": ("mlm:input", 0, "input", "shape", 3),
}
# What may stand there, though it is not what a training writes.
_HARMLESS = {
    ("resolution", "half"), ("threshold", "half"), ("threshold", "zero"), ("threshold", "tiny"), ("halo", "zero"),
    ("classes", "list"), ("a band", "text"), ("mean", "negative"), ("mean", "zero"), ("mean", "half"), ("mean", "tiny"),
    ("mean", "an integer of 18 digits"),
    ("deviation", "half"), ("deviation", "an integer of 18 digits"),
}  # fmt: skip


def _document(path: str) -> dict[str, Any]:
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()["roadseg"])


def _write(path: Path, weights: dict[str, torch.Tensor], text: str) -> None:
    save_file(weights, path, metadata={"roadseg": text})


def _spoilt(field: str, write: Write) -> Callable[[Place], dict[str, Any]]:
    def spoil(place: Place) -> dict[str, Any]:
        path = place.bad / "spoilt.safetensors"
        write(path, place)
        return {field: [place.goods.sure_model, str(path)] if field == "models" else str(path)}

    return spoil


def _of_member(keys: Keys, value: Any, may_pass: bool) -> Write:
    """Return a function that writes a model with another document; its weights are looked at after that."""

    def write(path: Path, place: Place) -> None:
        weights = load_file(place.goods.model) if may_pass else {"x": torch.zeros(1)}
        _write(path, weights, json.dumps(with_value(_document(place.goods.model), keys, value)))

    return write


def _of_text(text: str) -> Write:
    return lambda path, place: _write(path, {"x": torch.zeros(1)}, text)


def _of_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Write:
    def write(path: Path, place: Place) -> None:
        weights = load_file(place.goods.model)
        change(weights)
        _write(path, weights, json.dumps(_document(place.goods.model)))

    return write


def _set(name: str, value: float) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda weights: weights[name].view(-1)[:1].fill_(value)


def _replaced(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda weights: weights.__setitem__(name, change(weights[name]).contiguous())


_LAYERS = (
    "encoder.conv1.weight",
    "encoder.bn1.running_mean",
    "decoder.blocks.2.conv1.0.weight",
    "segmentation_head.0.bias",
)
_TYPES = (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool)
WEIGHTS = {
    **{f"{value} in {name}": _set(name, value) for name in _LAYERS for value in (float("nan"), float("inf"), 3e38)},
    **{f"{name} missing": lambda weights, name=name: weights.pop(name) for name in _LAYERS},
    **{f"{_LAYERS[0]} in {str(dtype)[6:]}": _replaced(_LAYERS[0], lambda each, dtype=dtype: each.to(dtype))
       for dtype in _TYPES},
    **{f"{name} of a size 0": _replaced(name, lambda each: each[:0]) for name in _LAYERS},
    **{f"{name} with an axis more": _replaced(name, lambda each: each[None]) for name in _LAYERS},
    "all in float64": lambda weights: weights.update({name: each.double() for name, each in weights.items()}),
    "all in bfloat16": lambda weights: weights.update({name: each.bfloat16() for name, each in weights.items()}),
    "a tensor more": lambda weights: weights.update(extra=torch.zeros(3)),
    "a scale of nothing": lambda weights: weights.update({"encoder.conv1.weight.scale": torch.zeros(64)}),
    "a thousand tensors more": lambda weights: weights.update({f"t{number}": torch.zeros(0) for number in range(1000)}),
    "no tensors": lambda weights: weights.clear(),
    "a negative variance": _set("encoder.bn1.running_var", -1.0),
}  # fmt: skip


def _of_bytes(good: str, change: Callable[[bytes], bytes]) -> Write:
    """Return a function that writes a good model, the field `good` of `Goods`, with other bytes."""
    return lambda path, place: path.write_bytes(change(Path(getattr(place.goods, good)).read_bytes()))


def _with_header(length: int, header: bytes) -> Write:
    return lambda path, place: path.write_bytes(struct.pack("<Q", length) + header)


def _fuzzed_header(number: int) -> Write:
    return _of_bytes("model", lambda content: fuzzed(content, number, 8 + int.from_bytes(content[:8], "little")))


_HUGE = b'{"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}'
FILES: dict[str, Write] = {
    **NO_FILES,
    **{f"cut to {share:.0%}": _of_bytes("model", partial(cut, share=share)) for share in (1e-6, 1e-4, 0.3, 0.999999)},
    "of another program": lambda path, place: save_file({"weight": torch.zeros(3)}, path),
    "a header of 2^63": _with_header(2**63, b"{}"),
    "a header of 100 MB": _with_header(100_000_000, b"{" + b" " * 99_999_999),
    "a header of 1 TB": _with_header(10**12, b"{"),
    "a nested header": _with_header(100_000, b"[" * 100_000),
    "a header of objects": _with_header(120_000, b'{"a":' * 24_000),
    "no JSON": _with_header(4, b"\xff\xfe\xff\xfe"),
    "an empty header": _with_header(2, b"{}"),
    "a tensor beyond the file": _with_header(len(_HUGE), _HUGE),
}


def _in_turns(kinds: dict[str, Write], expected: Callable[[str], str]) -> list[Case]:
    cases = []
    for number, (what, write) in enumerate(kinds.items()):
        job, field = _READERS[number % len(_READERS)]
        expect = expected(what)
        names = ("spoilt.safetensors",) if expect == REFUSED else ()
        cases.append(Case(f"{job}, model: {what}", job, _spoilt(field, write), expect, names, limit_s=40))
    return cases


_DOCUMENTS = {
    f"{name} is {what}": _of_member(keys, value, (name, what) in _HARMLESS)
    for name, keys in MEMBERS.items()
    for what, value in VALUES.items()
}
_MAY_PASS = {f"{name} is {what}" for name, what in _HARMLESS}


def _spoilt_onnx(job: str, write: Write) -> Callable[[Place], dict[str, Any]]:
    def spoil(place: Place) -> dict[str, Any]:
        path = place.bad / "spoilt.onnx"
        write(path, place)
        return {"model": str(path), **({} if job == "quantize" else {"engine": "openvino"})}

    return spoil


def _of_graph(change: Callable[[ModelProto], object]) -> Write:
    def write(path: Path, place: Place) -> None:
        model = onnx.load(place.goods.onnx)
        change(model)
        path.write_bytes(model.SerializeToString())

    return write


def _of_deepness(change: Callable[[ModelProto], object]) -> Callable[[ModelProto], object]:
    """Return a change to the same model as another program would have made it, with the metadata of Deepness alone."""

    def change_foreign(model: ModelProto) -> None:
        notes = {note.key: note.value for note in model.metadata_props if note.key != "roadseg"}
        onnx.helper.set_model_props(model, notes)
        set_side(model, 64)
        change(model)

    return change_foreign


def _largest(model: ModelProto) -> onnx.TensorProto:
    return max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))


def _weight_of(value: float) -> Callable[[ModelProto], object]:
    def change(model: ModelProto) -> None:
        values = numpy_helper.to_array(_largest(model)).copy()
        values.flat[7] = value
        _largest(model).raw_data = values.tobytes()

    return change


def _external(model: ModelProto) -> None:
    tensor = _largest(model)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "../../../etc/passwd"), ("offset", "0"), ("length", "100")):
        tensor.external_data.add(key=key, value=value)


def _dims(*dims: int) -> Callable[[ModelProto], object]:
    def change(model: ModelProto) -> None:
        _largest(model).ClearField("dims")
        _largest(model).dims.extend(dims)

    return change


def _scaled(factor: float) -> Callable[[ModelProto], object]:
    def change(model: ModelProto) -> None:
        constants = [each.t for node in model.graph.node if node.op_type == "Constant" for each in node.attribute]
        for tensor in [*constants, *model.graph.initializer]:
            if tensor.data_type == onnx.TensorProto.FLOAT and list(tensor.dims) == [4]:
                tensor.raw_data = np.array([1, 1, factor, factor], np.float32).tobytes()

    return change


def _without_sigmoid(model: ModelProto) -> None:
    last = model.graph.node.pop()
    model.graph.node[-1].output[0] = last.output[0]


def _attribute(name: str, kind: int) -> Callable[[ModelProto], object]:
    return lambda model: model.graph.node[0].attribute.add(name=name, type=kind)


def _all_attributes(value: int) -> Callable[[ModelProto], object]:
    def change(model: ModelProto) -> None:
        for node in model.graph.node:
            for attribute in node.attribute:
                if node.op_type == "Conv" and attribute.name == "strides":
                    attribute.ints[:] = [value, value]

    return change


def _channels(value: onnx.ValueInfoProto) -> Any:
    return value.type.tensor_type.shape.dim[1]


GRAPHS = {
    **{f"opset {version}": lambda model, version=version: setattr(model.opset_import[0], "version", version)
       for version in (0, 9999, 2**62)},
    "no opset": lambda model: model.ClearField("opset_import"),
    "an unknown version": lambda model: setattr(model, "ir_version", 9999),
    "no version": lambda model: model.ClearField("ir_version"),
    **{f"a weight of {value}": _weight_of(value) for value in (np.nan, -np.inf, 1e38)},
    **{f"a weight of shape {dims}": _dims(*dims) for dims in ((0,), (-1, 3), (1 << 40, 1 << 20))},
    "external data": _external,
    "no sigmoid": _without_sigmoid,
    "a loop": lambda model: model.graph.node.add(op_type="Loop", input=["image"], output=["loop"]),
    "another domain": lambda model: setattr(model.graph.node[3], "domain", "com.microsoft"),
    "an unknown layer": lambda model: setattr(model.graph.node[3], "op_type", "X" * 100_000),
    "a function": lambda model: model.functions.add(name="f", domain="x"),
    "training": lambda model: model.training_info.add(),
    "a subgraph": lambda model: model.graph.node[0].attribute.add(name="body", type=5).g.node.add(op_type="Relu"),
    "an attribute of no type": _attribute("strides", 0),
    "strides of 0": _all_attributes(0),
    "strides of 2^40": _all_attributes(1 << 40),
    "enlargement by 1000": _scaled(1000.0),
    "enlargement by 0": _scaled(0.0),
    "enlargement by NaN": _scaled(float("nan")),
    "a hundred thousand nodes": lambda model: model.graph.node.extend(
        onnx.helper.make_node("Identity", [f"n{at}"], [f"n{at + 1}"]) for at in range(100_000)),
    "a cycle": lambda model: model.graph.node[0].input.__setitem__(0, model.graph.node[-1].output[0]),
    "nodes in another order": lambda model: model.graph.node.append(model.graph.node.pop(0)),
    "no nodes": lambda model: model.graph.ClearField("node"),
    "two inputs": lambda model: model.graph.input.append(model.graph.input[0]),
    "no input": lambda model: model.graph.ClearField("input"),
    "two outputs": lambda model: model.graph.output.append(model.graph.output[0]),
    "an input of three axes": lambda model: model.graph.input[0].type.tensor_type.shape.dim.pop(),
    "an input of no shape": lambda model: model.graph.input[0].type.tensor_type.ClearField("shape"),
    "an input of integers": lambda model: setattr(model.graph.input[0].type.tensor_type, "elem_type", 7),
    "an input that is a list": lambda model: model.graph.input[0].type.sequence_type.SetInParent(),
    "an output of five classes": lambda model: setattr(_channels(model.graph.output[0]), "dim_value", 5),
    "no metadata": lambda model: model.ClearField("metadata_props"),
    # Documents are read as those of other model files are.
    "a document that is no JSON": lambda model: onnx.helper.set_model_props(
        model, {note.key: "{" if note.key == "roadseg" else note.value for note in model.metadata_props}),
    "two documents": lambda model: model.metadata_props.add(key="roadseg", value="{}"),
}  # fmt: skip


def _fuzzed_onnx(number: int) -> Write:
    """Return a function that changes bytes of the file, in every second one before the weights."""
    return _of_bytes("onnx", lambda content: fuzzed(content, number, 20_000 if number % 2 else None))


ONNX_FILES: dict[str, Write] = {
    **NO_FILES,
    **{f"cut to {share:.0%}": _of_bytes("onnx", partial(cut, share=share)) for share in (0.0001, 0.5, 0.999999)},
    "nested messages": lambda path, place: path.write_bytes(b"\x3a\x80\x08" * 50_000),
    **{what: _of_graph(change) for what, change in GRAPHS.items()},
}
# Of the metadata, each text in the place of each value.
_DEEPNESS = {
    "nothing": lambda model: None,
    **GRAPHS,
    **{f"{key} is {what}": lambda model, key=key, text=text: onnx.helper.set_model_props(
           model, {**{note.key: note.value for note in model.metadata_props}, key: text})
       for key in ("class_names", "resolution", "standardization_std") for what, text in TEXTS.items()},
}  # fmt: skip
# Variations of other programs that write ONNX, which RoadSeg accepts.
_ONNX_MAY_PASS = {"a function", "no version", "an unknown version"}


def _onnx_cases(kinds: dict[str, Write], fuzzed: bool) -> list[Case]:
    cases = []
    for number, (what, write) in enumerate(kinds.items()):
        job = _ONNX_READERS[number % len(_ONNX_READERS)]
        expect = EITHER if fuzzed or what in _ONNX_MAY_PASS else REFUSED
        names = () if expect == EITHER else ("spoilt.onnx",)
        cases.append(Case(f"{job}, ONNX: {what}", job, _spoilt_onnx(job, write), expect, names, limit_s=60))
    return cases


def _enlarged(weights: dict[str, torch.Tensor]) -> None:
    for tensor in weights.values():
        if tensor.dim() == 4:
            tensor *= 1e12


CASES = [
    Case("segment, model: numbers that overflow within", "segment", _spoilt("model", _of_weights(_enlarged)), REFUSED,
         ("spoilt.safetensors", "town.tif")),
    *_in_turns(_DOCUMENTS, lambda what: EITHER if what in _MAY_PASS else REFUSED),
    *_in_turns({f"document: {what}": _of_text(text) for what, text in TEXTS.items()}, lambda what: REFUSED),
    *_in_turns({what: _of_weights(change) for what, change in WEIGHTS.items()}, lambda what: REFUSED),
    *_in_turns(FILES, lambda what: REFUSED),
    *_in_turns({f"fuzzed header {number}": _fuzzed_header(number) for number in range(60)}, lambda what: EITHER),
    *_onnx_cases(ONNX_FILES, False),
    *_onnx_cases({f"fuzzed {number}": _fuzzed_onnx(number) for number in range(40)}, True),
    *_onnx_cases({f"of Deepness, {what}": _of_graph(_of_deepness(change)) for what, change in _DEEPNESS.items()}, True),
]  # fmt: skip
