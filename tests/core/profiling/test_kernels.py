"""Kernels of oneDNN, from lines as it writes them and from a convolution; nodes of OpenVINO beside PyTorch's count."""

import os

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import make_engine, why_not
from training_core.profiling.kernels import (
    Node,
    implementations,
    nodes_of,
    onednn_log,
    parse_log,
    with_nodes,
)
from training_core.profiling.operation_costs import OperationCost
from training_core.profiling.step_trace import COLUMNS, PYTHON

LINES = """\
onednn_verbose,v1,info,oneDNN v3.7.1 (commit 8d263e69)
onednn_verbose,v1,primitive,info,template:timestamp,operation,engine,primitive,implementation,prop_kind,exec_time
onednn_verbose,v1,1795361698276.925,primitive,exec,cpu,reorder,jit:uni,undef,src:bf16 dst:bf16,,,64x3x7x7,0.0125
a line of another library
onednn_verbose,v1,1795361698277.5,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core_bf16,forward_training,\
src:bf16 wei:bf16 bia:undef dst:bf16,attr-scratchpad:user,alg:convolution_direct,mb4_ic3oc64_ih128oh64kh7sh2dh0ph3,0.5
onednn_verbose,v1,notime,primitive,exec,cpu,convolution,ref:any,forward,src,attr,alg,mb1,0.5
"""


def test_primitives_are_read_with_begin_and_duration_in_seconds():
    assert list(parse_log(LINES).itertuples(index=False, name=None)) == [
        ("reorder", "jit:uni", 1795361698.276925, pytest.approx(12.5e-6)),
        ("convolution", "brg_conv_fwd:avx512_core_bf16", 1795361698.2775, pytest.approx(0.5e-3)),
    ]
    assert parse_log("").empty


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this PyTorch has no oneDNN")
def test_a_convolution_is_caught_and_lines_of_others_are_passed_on(capfd):
    images, filters = torch.ones(2, 16, 32, 32), torch.ones(16, 16, 3, 3)
    with onednn_log() as log:
        os.write(1, b"somebody's line\n")
        functional.conv2d(images, filters)
    functional.conv2d(images, filters)
    primitives = parse_log("".join(log))
    assert list(primitives["kind"]).count("convolution") == 1 and (primitives["duration_s"] > 0).all()
    assert capfd.readouterr().out == "somebody's line\n"


def test_primitives_belong_to_the_operation_during_which_they_ran():
    rows = [(0, "forward", "x", 0, 1e-6, 1.0), (0, "forward", "", PYTHON, 1e-6, 1.000001)]
    rows += [(0, "forward", "y", 1, 1e-6, 1.000002)]
    log = [
        ("reorder", "jit:uni", 1.0 + 100e-9, 200e-9),
        ("convolution", "brg", 1.0 + 400e-9, 500e-9),
        ("convolution", "between", 1.0 + 1200e-9, 300e-9),
        ("reorder", "simple:any", 1.0 + 2100e-9, 700e-9),
    ]
    log = pd.DataFrame(log, columns=["kind", "implementation", "begin_s", "duration_s"])
    trace = pd.DataFrame(rows, columns=COLUMNS)
    assert implementations(trace, log) == {0: "brg", 1: "simple:any"}
    assert implementations(trace, parse_log("")) == implementations(trace[:0], log) == {}


@pytest.mark.skipif(bool(why_not("openvino")), reason="OpenVINO is not installed")
def test_nodes_have_the_layers_and_the_operations_of_the_model():
    model = build_network(Architecture(encoder="resnet18")).eval()
    images = np.zeros((1, 3, 32, 64), dtype=np.float32)
    nodes = nodes_of(make_engine("openvino", "fp32").prepare_inference(model).timed_graph(images, 1))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.from_numpy(images))
    assert sum(node.cost.flop for node in nodes) == counter.get_total_flops()
    paths = {name for name, _ in model.named_modules()}
    convolutions = [node for node in nodes if node.cost.name == "Convolution"]
    assert len(convolutions) == 31 and {node.layer for node in convolutions} <= paths
    assert all(node.cost.implementation and node.time_s >= 0 for node in convolutions)


COST = OperationCost("Convolution", 1, 1, "", "", "fp32")


@pytest.mark.parametrize(
    ("times_s", "expected_s"), [((1e-6, 3e-6), (1e-6, 3e-6, 5e-6)), ((9e-6, 9e-6), (4.5e-6, 4.5e-6, 0))]
)
def test_nodes_take_the_time_of_the_forward_phase_and_no_more_of_it_than_there_is(times_s, expected_s):
    phases = (("waiting for data", 1e-7), ("forward", 4e-6), ("forward", 5e-6), ("conversion to bytes", 1e-7))
    rows = [(0, phase, phase, PYTHON, time_s, float(number)) for number, (phase, time_s) in enumerate(phases)]
    nodes = [Node("a", COST, time_s) for time_s in times_s]
    found = with_nodes(pd.DataFrame(rows, columns=COLUMNS), nodes, 3)
    assert found["time_s"].tolist() == pytest.approx([1e-7, *expected_s, 1e-7])
    assert found["layer"].tolist() == ["waiting for data", "a", "a", "model", "conversion to bytes"]
    assert found["operation"].tolist() == [PYTHON, 3, 4, PYTHON, PYTHON]
