"""Kernels of oneDNN and OpenVINO: which implementation ran for each operation, and for how long.

oneDNN writes a verbose log, whose time stamps tell to which operation a primitive belongs. OpenVINO's graph holds the
time of each node.

Scope: the log, the graph, and the traces that they belong to. Independent of the computation.
"""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .operation_costs import OperationCost, shapes_in_words
from .profile import Phase
from .step_trace import MODEL, PYTHON

if TYPE_CHECKING:
    import openvino

# oneDNN reads it once, when it writes its first line: primitives then carry the time at which they begin.
TIMESTAMPS = "ONEDNN_VERBOSE_TIMESTAMP"
_MARK = b"onednn_verbose,"
# onednn_verbose,v1,begin_ms,primitive,exec,cpu,kind,implementation,direction,...,duration_ms
_PRIMITIVE = re.compile(
    r"^onednn_verbose,[^,]*,([\d.]+),primitive,exec,[^,]*,([^,]*),([^,]*),.*,([\d.]+)\r?$", re.MULTILINE
)
_STANDARD_OUTPUT = 1
_REORDER = "reorder"
_DTYPES = {"f32": "fp32", "f16": "fp16", "i8": "int8", "u8": "uint8"}
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1, "uint8": 1}
_NOT_RUN = "not_executed"
_CHANNELS_LAST = "acdb"
# The model within the exported graph, see `onnx_file.export_onnx`.
_ROOT = "/network/"


def parse_log(text: str) -> pd.DataFrame:
    """Return the primitives that a log with time stamps names, in order; lines of another form are skipped.

    The columns are kind, such as convolution or reorder, implementation, begin_s, seconds since 1970, and duration_s.
    """
    rows = [(kind, name, float(begin) / 1e3, float(ms) / 1e3) for begin, kind, name, ms in _PRIMITIVE.findall(text)]
    return pd.DataFrame(rows, columns=["kind", "implementation", "begin_s", "duration_s"])


@contextmanager
def onednn_log() -> Iterator[list[str]]:
    """Catch the log of what oneDNN runs within the context, in a list that is filled at the end.

    oneDNN writes to the file descriptor of the standard output, which is redirected to a temporary file. Other lines
    are passed on. Nothing is caught if PyTorch has no oneDNN or the process has no standard output.
    """
    import torch

    log: list[str] = []
    os.environ.setdefault(TIMESTAMPS, "1")
    try:
        original = os.dup(_STANDARD_OUTPUT)
    except OSError:
        original = None
    if original is None or not torch.backends.mkldnn.is_available():
        yield log
        return
    with tempfile.TemporaryFile() as caught:
        _flush()
        os.dup2(caught.fileno(), _STANDARD_OUTPUT)
        try:
            with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
                yield log
        finally:
            _flush()
            os.dup2(original, _STANDARD_OUTPUT)
            os.close(original)
            caught.seek(0)
            for line in caught:
                if line.startswith(_MARK):
                    log.append(line.decode("ascii", "replace"))
                else:
                    os.write(_STANDARD_OUTPUT, line)


def _flush() -> None:
    """Flush the buffers of Python and of C, which oneDNN writes to."""
    import ctypes

    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None) if os.name == "posix" else None


def implementations(trace: pd.DataFrame, log: pd.DataFrame) -> dict[int, str]:
    """Return what oneDNN ran for each operation of a trace, by the operation's number; see `trace_of`, `parse_log`.

    Those of its first call that oneDNN computes are joined by ` + `, without reorders beside them.
    """
    calls = trace[trace["operation"] != PYTHON].reset_index(drop=True)
    # A primitive belongs to the call during which its middle lies.
    middle_s = (log["begin_s"] + log["duration_s"] / 2).to_numpy()
    call = np.searchsorted(calls["begin_s"].to_numpy(), middle_s) - 1
    ends_s = (calls["begin_s"] + calls["time_s"]).to_numpy()
    is_within = (call >= 0) & (middle_s < np.append(ends_s, 0.0)[call])
    names: dict[int, str] = {}
    for number, primitives in log[is_within].groupby(call[is_within]):
        main = primitives.loc[primitives["kind"] != _REORDER, "implementation"].unique()
        names.setdefault(int(calls["operation"][number]), " + ".join(main) or primitives["implementation"].iloc[0])
    return names


@dataclass(frozen=True)
class Node:
    """A node of the graph, with the path of the module that it computes."""

    layer: str
    cost: OperationCost
    time_s: float


def nodes_of(graph: openvino.Model) -> list[Node]:
    """Return the nodes that ran, in order, of a graph as `OpenvinoModel.timed_graph` returns it."""
    nodes = []
    for operation in graph.get_ordered_ops():
        info = {name: _text(value) for name, value in operation.get_rt_info().items()}
        time_us = info.get("execTimeMcs", _NOT_RUN)
        if time_us != _NOT_RUN:
            shapes = [tuple(port.get_shape()) for port in (*operation.inputs(), *operation.outputs())]
            cost = _cost(info, shapes, len(operation.outputs()))
            nodes.append(Node(_layer(operation.get_friendly_name()), cost, float(time_us) / 1e6))
    return nodes


def _text(value: object) -> str:
    return str(value.astype(str) if hasattr(value, "astype") else value)


def _cost(info: dict[str, str], shapes: list[tuple[int, ...]], outputs: int) -> OperationCost:
    """Return the cost of a node; a multiplication and an addition are two operations, as PyTorch counts them."""
    kind, precision = info.get("layerType", ""), info.get("runtimePrecision", "")
    dtype = _DTYPES.get(precision, precision)
    flop = 0
    if kind == "Convolution" and len(shapes) > outputs + 1:
        filters, result = shapes[1], shapes[-1]
        flop = 2 * math.prod(result) * math.prod(filters[-3:])
    layout = "channels last" if info.get("outputLayouts", "").startswith(_CHANNELS_LAST) else "contiguous"
    traffic = sum(math.prod(shape) for shape in shapes) * _BYTES.get(dtype, 4)
    named = shapes_in_words([*shapes[:2], shapes[-1]])
    return OperationCost(kind, flop, traffic, named, layout, dtype, info.get("primitiveType", ""))


def _layer(name: str) -> str:
    """Return the module's path from a name such as `/network/encoder/layer1/layer1.0/conv1/Conv/WithoutBiases`."""
    _, root, path = name.partition(_ROOT)
    # Names of operations begin with a capital; a part of `layer1` is called `layer1.0`.
    parts = [part for part in path.split("/") if part and not part[0].isupper()] if root else []
    kept = [part for part, after in zip(parts, [*parts[1:], ""]) if not after.startswith(f"{part}.")]
    return ".".join(kept) or MODEL


def with_nodes(trace: pd.DataFrame, nodes: Sequence[Node], first: int) -> pd.DataFrame:
    """Return a trace in which nodes take the time of the forward phase of each step; the rest of it stays.

    `first` is the number of the first node among the operations.
    """
    is_forward = trace["phase"] == Phase.FORWARD
    times_s = np.array([node.time_s for node in nodes])
    named = {
        "phase": Phase.FORWARD,
        "layer": [*(node.layer for node in nodes), MODEL],
        "operation": [*range(first, first + len(nodes)), PYTHON],
    }
    parts = [trace[~is_forward]]
    for step, forward in trace[is_forward].groupby("step"):
        forward_s = forward["time_s"].sum()
        # The nodes were timed in other steps, which may have been slower.
        node_s = times_s * min(1.0, forward_s / times_s.sum())
        shares_s = [*node_s, forward_s - node_s.sum()]
        parts.append(pd.DataFrame({"step": step, **named, "time_s": shares_s, "begin_s": forward["begin_s"].min()}))
    return pd.concat(parts).sort_values(["step", "begin_s"], kind="stable")
