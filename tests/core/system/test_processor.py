import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from training_core.system import processor
from training_core.system.processor import WITH_BF16, WITH_VNNI, usable

ROOT = Path(__file__).parents[3]


def in_fresh_process(code):
    """Run code where neither torch nor numpy is loaded, and return what it prints as JSON."""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(ran.stdout)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_only_cores_that_may_be_used_count():
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); " \
        "from training_core.system import processor; print(processor.core_count())"  # fmt: skip
    assert in_fresh_process(code) == 1


def test_threads_are_set_for_all_libraries_before_they_load():
    code = """
import json, os, sys
from training_core.system.processor import prepare_process
found = []
for threads in (0, 1, 3):
    prepare_process(threads)
    found.append([os.environ[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")])
print(json.dumps([[name for name in ("torch", "numpy") if name in sys.modules], found]))
"""
    expected = [str(processor.core_count()), "1", "3"]
    assert in_fresh_process(code) == [[], [[threads] * 3 for threads in expected]]


def test_the_data_of_another_gdal_or_proj_are_not_looked_for(monkeypatch):
    for variable in ("PROJ_LIB", "PROJ_DATA"):
        monkeypatch.setenv(variable, "/nowhere")
    code = """
from training_core.system.processor import prepare_process
prepare_process(1)
import pyproj, rasterio
print("[%d, %d]" % (pyproj.CRS("EPSG:32633").to_epsg(), rasterio.CRS.from_string("EPSG:32633").to_epsg()))
"""
    assert in_fresh_process(code) == [32633, 32633]


@pytest.mark.slow
def test_a_server_that_says_nothing_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setenv("GDAL_HTTP_LOW_SPEED_TIME", "1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"/vsicurl/http://127.0.0.1:{server.getsockname()[1]}/a.tif"
        code = f"""
import json
from training_core.system.processor import prepare_process
prepare_process()
from training_core.errors import ImageryError
from training_core.geodata.rasters import open_raster
try:
    with open_raster({address!r}):
        pass
except ImageryError as error:
    print(json.dumps(error.message))
"""
        assert "too slow" in in_fresh_process(code)


AVX512 = frozenset({"avx2", "avx512f"})
X86_SERVER = AVX512 | {"avx512_vnni", "avx512_bf16"}, True
# What the libraries answer. The first four are recorded from PyTorch 2.8 on a processor with AVX512-BF16, the limits
# set; the others follow from what PyTorch's source asks of the processor there.
ANSWERS = {
    "AVX512-BF16": X86_SERVER,
    "limited to AVX512": X86_SERVER,
    "limited to AVX2": (X86_SERVER[0], False),
    "AVX2 of a part": X86_SERVER,
    "AVX2": (frozenset({"avx2"}), False),
    "AVX512": (AVX512, True),
    "AVX512-VNNI": (AVX512 | {"avx512_vnni"}, True),
    "AMX": (X86_SERVER[0] | {"amx_bf16", "amx_int8"}, True),
    "Apple silicon": (frozenset(), False),
    "ARM server": (frozenset(), True),
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


def names(answers, cpuinfo="", **environment):
    return usable(cpuinfo, *answers, environment).names


@pytest.mark.parametrize(("system", "expected"), EXPECTED.items())
def test_where_the_system_lists_nothing_pytorch_is_believed(system, expected):
    found = usable("", *ANSWERS[system], {})
    assert found.names == expected and not found.limit
    has_bf16, has_vnni = (not sets.isdisjoint(found.names) for sets in (WITH_BF16, WITH_VNNI))
    assert has_bf16 == (system in ("AVX512-BF16", "AMX", "ARM server"))
    assert has_vnni == (system in ("AVX512-BF16", "AVX512-VNNI", "AMX"))


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
        ("limited to AVX512", "ONEDNN_MAX_CPU_ISA", "AVX512_CORE", ("avx512f", "avx2")),
        ("AVX2 of a part", "ATEN_CPU_CAPABILITY", "avx2", ("avx2",)),
        ("AVX512", "ATEN_CPU_CAPABILITY", "default", ()),
    ],
)
def test_a_limit_takes_instruction_sets_away_and_is_named(system, variable, value, expected):
    found = usable("", *ANSWERS[system], {variable: value})
    assert found.names == expected and found.limit == f"{variable}={value}"


@pytest.mark.parametrize("environment", [{"ONEDNN_MAX_CPU_ISA": "DEFAULT"}, {"ATEN_CPU_CAPABILITY": "avx512"}, {}])
def test_what_takes_nothing_away_is_no_limit(environment):
    found = usable("", *ANSWERS["AMX"], environment)
    assert found.names == EXPECTED["AMX"] and found.limit == ""
    assert usable("", *ANSWERS["AVX2"], {"ONEDNN_MAX_CPU_ISA": "AVX2"}).limit == ""


def test_of_two_variables_of_onednn_the_newer_one_counts():
    environment = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "DNNL_MAX_CPU_ISA": "AVX2"}
    assert names(X86_SERVER, **environment) == ("avx512f", "avx2")


def test_a_limited_process_computes_in_fp32_and_says_so():
    code = """
import json
from training_core.models.engine_choice import choose_precision
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
