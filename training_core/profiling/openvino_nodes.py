"""Nodes of OpenVINO's graph: what it runs for each layer, with which implementation, and for how long.

Scope: the graph as it runs, and the steps that it belongs to. Independent of images.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .operation_costs import Implementation, OperationCost
from .profile import FORWARD
from .step_trace import MODEL, Piece, TracedStep

if TYPE_CHECKING:
    import openvino

_DTYPES = {"f32": "fp32", "f16": "fp16", "i8": "int8", "u8": "uint8"}
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1, "uint8": 1}
_NOT_RUN = "not_executed"
_CHANNELS_LAST = "acdb"
# The model within what is exported, see `onnx_file.export_onnx`.
_ROOT = "/network/"


@dataclass(frozen=True)
class Node:
    """A node of the graph.

    Parameters
    ----------
    layer : str
        Path of the module that it computes.
    """

    layer: str
    cost: OperationCost
    implementation: Implementation
    time_s: float


def nodes_of(graph: openvino.Model) -> list[Node]:
    """Return the nodes that ran, in order.

    Parameters
    ----------
    graph : openvino.Model
        As `OpenvinoModel.timed_graph` returns it.
    """
    found = []
    for node in graph.get_ordered_ops():
        said = {name: _text(value) for name, value in node.get_rt_info().items()}
        time_us = said.get("execTimeMcs", _NOT_RUN)
        if time_us == _NOT_RUN:
            continue
        shapes = [tuple(port.get_shape()) for port in (*node.inputs(), *node.outputs())]
        cost = _cost(said, shapes, len(node.outputs()))
        running = Implementation(said.get("primitiveType", ""), 0.0)
        found.append(Node(_layer(node.get_friendly_name()), cost, running, float(time_us) / 1e6))
    return found


def _text(value: object) -> str:
    return str(value.astype(str) if hasattr(value, "astype") else value)


def _cost(said: dict[str, str], shapes: list[tuple[int, ...]], outputs: int) -> OperationCost:
    """Return the cost of a node; a multiplication and an addition are two operations, as PyTorch counts them."""
    kind, precision = said.get("layerType", ""), said.get("runtimePrecision", "")
    dtype = _DTYPES.get(precision, precision)
    flop = 0
    if kind == "Convolution" and len(shapes) > outputs + 1:
        filters, result = shapes[1], shapes[-1]
        flop = 2 * math.prod(result) * math.prod(filters[-3:])
    layout = "channels last" if said.get("outputLayouts", "").startswith(_CHANNELS_LAST) else "contiguous"
    traffic = sum(math.prod(shape) for shape in shapes) * _BYTES.get(dtype, 4)
    named = " ".join("x".join(map(str, shape)) for shape in (*shapes[:2], shapes[-1]))
    return OperationCost(kind, flop, traffic, named, layout, dtype)


def _layer(name: str) -> str:
    """Return the module's path from a name such as `/network/encoder/layer1/layer1.0/conv1/Conv/WithoutBiases`."""
    _, root, path = name.partition(_ROOT)
    # Names of operations begin with a capital; a part of `layer1` is called `layer1.0`.
    parts = [part for part in path.split("/") if part and not part[0].isupper()] if root else []
    kept = [part for part, after in zip(parts, [*parts[1:], ""]) if not after.startswith(f"{part}.")]
    return ".".join(kept) or MODEL


def with_nodes(step: TracedStep, nodes: Sequence[Node]) -> TracedStep:
    """Return a step with the nodes in its forward phase, one after the other; what they leave of it stays.

    Parameters
    ----------
    nodes : sequence of Node
        None for a model that PyTorch runs.
    """
    return replace(step, pieces=tuple(_pieces(step, nodes))) if nodes else step


def _pieces(step: TracedStep, nodes: Sequence[Node]) -> Iterator[Piece]:
    begin_ns, end_ns = next((begin, end) for name, begin, end in step.phases if name == FORWARD)
    yield from (piece for piece in step.pieces if piece.end_ns <= begin_ns)
    # Other steps than this one were timed, and may have been slower.
    pace = min(1.0, (end_ns - begin_ns) / 1e9 / sum(node.time_s for node in nodes))
    at_ns = begin_ns
    for node in nodes:
        until_ns = min(end_ns, at_ns + int(1e9 * pace * node.time_s))
        yield Piece(node.cost.name, FORWARD, node.layer, at_ns, until_ns, node.cost)
        at_ns = until_ns
    yield Piece("", FORWARD, MODEL, at_ns, end_ns)
    yield from (piece for piece in step.pieces if piece.begin_ns >= end_ns)
