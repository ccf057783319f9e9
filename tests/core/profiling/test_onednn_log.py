"""oneDNN's log: parsed from lines as it writes them, and caught from a convolution."""

import os

import pytest
import torch
from torch.nn import functional

from training_core.profiling.onednn_log import OnednnPrimitive, logged_primitives, parse_log

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
    assert parse_log(LINES) == [
        OnednnPrimitive("reorder", "jit:uni", "undef", 1795361698.276925, pytest.approx(12.5e-6)),
        OnednnPrimitive(
            "convolution", "brg_conv_fwd:avx512_core_bf16", "forward_training", 1795361698.2775, pytest.approx(0.5e-3)
        ),
    ]


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this PyTorch has no oneDNN")
def test_a_convolution_is_caught_and_what_others_write_is_passed_on(capfd):
    images, filters = torch.ones(2, 16, 32, 32), torch.ones(16, 16, 3, 3)
    with logged_primitives() as log:
        os.write(1, b"somebody's line\n")
        functional.conv2d(images, filters)
    functional.conv2d(images, filters)
    assert [each.kind for each in log].count("convolution") == 1
    assert all(each.duration_s > 0 for each in log)
    assert capfd.readouterr().out == "somebody's line\n"
