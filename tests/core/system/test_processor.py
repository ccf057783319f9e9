import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from training_core.system import cpu_features, processor

ROOT = Path(__file__).parents[3]


def in_fresh_process(code):
    """Run code where neither torch nor numpy is loaded, and return what it prints as JSON."""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(ran.stdout)


needs_cpuinfo = pytest.mark.skipif(not Path("/proc/cpuinfo").is_file(), reason="needs /proc/cpuinfo")


@needs_cpuinfo
def test_instruction_sets_are_those_of_the_first_core():
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split()
    if processor.limit():
        pytest.skip(f"limited by {processor.limit()}")
    found = processor.instruction_sets()
    assert set(found) == set(flags) & set(cpu_features.RELEVANT)
    assert processor.has_bf16_unit() == bool({"amx_bf16", "avx512_bf16", "bf16"} & set(flags))
    assert processor.has_vnni() == bool({"amx_int8", "avx512_vnni", "avx_vnni", "i8mm"} & set(flags))


@needs_cpuinfo
def test_the_name_has_model_cores_and_instruction_sets():
    name = processor.name()
    assert name.startswith(
        Path("/proc/cpuinfo").read_text().split("model name", 1)[1].split(":", 1)[1].split("\n")[0].strip()
    )
    assert f"{processor.core_count()} cores" in name
    assert all(flag in name for flag in processor.instruction_sets())


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_only_cores_that_may_be_used_count():
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); " \
        "from training_core.system import processor; print(processor.core_count())"  # fmt: skip
    assert in_fresh_process(code) == 1


@pytest.mark.parametrize(("threads", "expected"), [(0, processor.core_count()), (1, 1), (3, 3)])
def test_threads_are_set_for_all_libraries_before_they_load(threads, expected):
    code = f"""
import json, os, sys
from training_core.system.processor import prepare_process
prepare_process({threads})
loaded = [name for name in ("torch", "numpy") if name in sys.modules]
variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
print(json.dumps([loaded, [os.environ[name] for name in variables]]))
"""
    assert in_fresh_process(code) == [[], [str(expected)] * 3]


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
def test_large_arrays_are_not_given_back_and_faulted_anew():
    code = """
import json, resource, sys
if "prepare" in sys.argv:
    from training_core.system.processor import prepare_process
    prepare_process()
piece = b"x" * (1 << 20)
piece * 64
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    piece * 64
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    faults = [
        int(subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, check=True).stdout)
        for arguments in ([], ["prepare"])
    ]
    if faults[0] < 1000:
        pytest.skip("this C library keeps large arrays by itself")
    assert faults[1] < faults[0] / 10


@pytest.mark.parametrize("variable", ["PROJ_LIB", "PROJ_DATA"])
def test_the_data_of_another_gdal_or_proj_are_not_looked_for(monkeypatch, variable):
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
