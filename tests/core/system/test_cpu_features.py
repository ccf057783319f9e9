import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from training_core.system.cpu_features import WITH_BF16, WITH_VNNI, TorchAnswers, usable

ROOT = Path(__file__).parents[3]
X86_SERVER = TorchAnswers(avx2=True, avx512=True, vnni=True, avx512_bf16=True, onednn_bf16=True)
# What the libraries answer. The first four are recorded from PyTorch 2.8 on a processor with AVX512-BF16, the limits
# set; the others follow from what PyTorch's source asks of the processor there.
ANSWERS = {
    "AVX512-BF16": X86_SERVER,
    "limited to AVX512": X86_SERVER,
    "limited to AVX2": TorchAnswers(avx2=True, avx512=True, vnni=True, avx512_bf16=True),
    "AVX2 of a part": X86_SERVER,
    "AVX2": TorchAnswers(avx2=True),
    "AVX512": TorchAnswers(avx2=True, avx512=True, onednn_bf16=True),
    "AVX512-VNNI": TorchAnswers(avx2=True, avx512=True, vnni=True, onednn_bf16=True),
    "AMX": TorchAnswers(avx2=True, avx512=True, vnni=True, avx512_bf16=True, amx=True, onednn_bf16=True),
    "Apple silicon": TorchAnswers(),
    "ARM server": TorchAnswers(onednn_bf16=True),
}
EXPECTED = {
    "AVX512-BF16": ("avx512_bf16", "avx512_vnni", "avx512f", "avx2"),
    "AVX2": ("avx2",),
    "AVX512": ("avx512f", "avx2"),
    "AVX512-VNNI": ("avx512_vnni", "avx512f", "avx2"),
    "AMX": ("amx_bf16", "amx_int8", "avx512_bf16", "avx512_vnni", "avx512f", "avx2"),
    "Apple silicon": (),
    "ARM server": ("bf16",),
}


def names(answers, cpuinfo=None, **environment):
    return usable(cpuinfo, answers, environment).names


@pytest.mark.parametrize(("system", "expected"), EXPECTED.items())
def test_where_the_system_lists_nothing_pytorch_is_believed(system, expected):
    found = usable(None, ANSWERS[system], {})
    assert found.names == expected and not found.limit


@pytest.mark.parametrize("system", ["AVX2", "AVX512", "AVX512-VNNI", "Apple silicon"])
def test_without_a_unit_or_kernels_there_is_no_bf16(system):
    assert WITH_BF16.isdisjoint(names(ANSWERS[system]))


def test_what_only_linux_lists_counts_too():
    laptop = "processor : 0\nflags\t\t: fpu avx avx2 avx_vnni\n\nprocessor : 1\nflags\t\t: avx512f\n"
    assert names(ANSWERS["AVX2"], laptop) == ("avx_vnni", "avx2")
    server = "processor\t: 0\nFeatures\t: fp asimd bf16 i8mm sve\n"
    assert names(ANSWERS["ARM server"], server) == ("bf16", "i8mm")
    assert names(ANSWERS["Apple silicon"], server) == ("i8mm",), "without kernels for it BF16 is slow"


@pytest.mark.parametrize(
    ("system", "variable", "value", "expected"),
    [
        ("limited to AVX2", "ONEDNN_MAX_CPU_ISA", "AVX2", ("avx2",)),
        ("limited to AVX2", "DNNL_MAX_CPU_ISA", "avx2", ("avx2",)),
        ("limited to AVX512", "ONEDNN_MAX_CPU_ISA", "AVX512_CORE", ("avx512f", "avx2")),
        ("limited to AVX512", "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI", ("avx512_vnni", "avx512f", "avx2")),
        ("AVX2 of a part", "ATEN_CPU_CAPABILITY", "avx2", ("avx2",)),
        ("AMX", "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", ("avx512_bf16", "avx512_vnni", "avx512f", "avx2")),
        ("AVX512", "ATEN_CPU_CAPABILITY", "default", ()),
    ],
)
def test_a_limit_takes_instruction_sets_away_and_is_named(system, variable, value, expected):
    found = usable(None, ANSWERS[system], {variable: value})
    assert found.names == expected and found.limit == f"{variable}={value}"


@pytest.mark.parametrize("environment", [{"ONEDNN_MAX_CPU_ISA": "DEFAULT"}, {"ATEN_CPU_CAPABILITY": "avx512"}, {}])
def test_what_takes_nothing_away_is_no_limit(environment):
    found = usable(None, ANSWERS["AMX"], environment)
    assert found.names == EXPECTED["AMX"] and found.limit == ""
    assert usable(None, ANSWERS["AVX2"], {"ONEDNN_MAX_CPU_ISA": "AVX2"}).limit == ""


def test_of_two_variables_of_onednn_the_newer_one_counts():
    environment = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "DNNL_MAX_CPU_ISA": "AVX2"}
    assert names(X86_SERVER, **environment) == ("avx512f", "avx2")


def test_int8_is_known_without_linux():
    assert [WITH_VNNI.isdisjoint(names(ANSWERS[name])) for name in ("AVX512", "AVX512-VNNI", "AMX")] == [True, 0, 0]


def test_a_limited_process_computes_in_fp32_and_says_so():
    code = """
import json
from training_core.models.engines import choose_precision
from training_core.system import processor
said = []
print(json.dumps([choose_precision("auto", said.append), said, processor.name()]))
"""
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    precision, said, name = json.loads(ran.stdout)
    assert precision == "fp32"
    if "limited" not in name:
        pytest.skip("this processor has no more than AVX2")
    assert "ONEDNN_MAX_CPU_ISA=AVX2" in name and len(said) == 1 and "ONEDNN_MAX_CPU_ISA=AVX2" in said[0]
