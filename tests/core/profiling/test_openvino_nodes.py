"""Nodes of OpenVINO's graph, beside what PyTorch counts for the same model."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import make_engine, why_not
from training_core.profiling.openvino_nodes import Node, nodes_of, with_nodes
from training_core.profiling.operation_costs import Implementation, OperationCost
from training_core.profiling.step_trace import Piece, TracedStep


@pytest.mark.skipif(bool(why_not("openvino")), reason="OpenVINO is not installed")
def test_nodes_have_the_layers_and_the_operations_of_the_model():
    model = build_network(Architecture(encoder="resnet18")).eval()
    images = np.zeros((1, 3, 64, 96), dtype=np.float32)
    nodes = nodes_of(make_engine("openvino", "fp32").prepare_inference(model).timed_graph(images, 1))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.from_numpy(images))
    assert sum(node.cost.flop for node in nodes) == counter.get_total_flops()
    paths = {name for name, _ in model.named_modules()}
    convolutions = [node for node in nodes if node.cost.name == "Convolution"]
    assert len(convolutions) == 31 and {node.layer for node in convolutions} <= paths
    assert all(node.implementation.name and node.time_s >= 0 for node in convolutions)


def node(time_s):
    return Node("a", OperationCost("Convolution", 1, 1, "", "", "fp32"), Implementation("brgconv", 0.0), time_s)


@pytest.mark.parametrize(("times_s", "ends"), [((1e-6, 3e-6), (1100, 4100)), ((10e-6, 10e-6), (4600, 9100))])
def test_nodes_take_the_place_of_the_forward_phase_and_no_more_of_it_than_there_is(times_s, ends):
    phases = (("waiting for data", 0, 100), ("forward", 100, 9100), ("conversion to bytes", 9100, 9200))
    pieces = tuple(Piece("", phase, phase, begin, end) for phase, begin, end in phases)
    found = with_nodes(TracedStep(phases, pieces), [node(time_s) for time_s in times_s])
    assert [piece.end_ns for piece in found.pieces] == [100, *ends, 9100, 9200]
    assert [piece.layer for piece in found.pieces] == ["waiting for data", "a", "a", "model", "conversion to bytes"]
