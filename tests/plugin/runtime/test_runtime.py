import os
import sys
from pathlib import Path

import pytest
from qgis.core import QgsSettings
from roadseg.qgis_roadseg.runtime import runtime
from roadseg.training_core.errors import PACKAGE_SETS, RuntimeEnvironmentError


def pretend(requirements, age_s=0):
    python = runtime.interpreter(requirements.folder)
    python.parent.mkdir(parents=True)
    python.touch()
    time = python.stat().st_mtime - age_s
    os.utime(requirements.folder, (time, time))
    return python


IPEX, NATIVE = runtime.REQUIREMENT_SETS["ipex"], runtime.REQUIREMENT_SETS["native"]


def test_of_several_the_one_set_up_last_counts(no_runtime):
    pretend(IPEX, age_s=10)
    native = pretend(NATIVE)
    assert runtime.find() == native
    os.utime(IPEX.folder)
    assert runtime.find() == runtime.interpreter(IPEX.folder)


@pytest.mark.parametrize(
    ("system", "processor", "expected"),
    [
        ("linux", "vendor_id : GenuineIntel\nflags : sse2 avx2 avx512f avx512_vnni", ["ipex", "native"]),
        ("linux", "vendor_id : GenuineIntel\nflags : sse2 avx2 amx_tile", ["ipex", "native"]),
        ("linux", "vendor_id : GenuineIntel\nflags : sse2 avx2 avx_vnni", ["native"]),
        ("linux", "vendor_id : AuthenticAMD\nflags : sse2 avx2 avx512f", ["native"]),
        ("linux", None, ["native"]),
        ("darwin", "vendor_id : GenuineIntel\nflags : avx512f", ["native"]),
    ],
)
def test_the_extension_is_for_the_processors_it_was_made_for(monkeypatch, tmp_path, system, processor, expected):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(runtime.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(runtime, "CPUINFO", tmp_path / "cpuinfo")
    if processor is not None:
        runtime.CPUINFO.write_text(processor)
    assert [each.name for each in runtime.preferred_sets()] == expected
    assert not any(each.index for each in runtime.preferred_sets())  # sets for GPUs are never taken unasked


def test_the_variable_counts_before_the_setting_and_that_before_the_managed_one(
    qgis_app, no_runtime, tmp_path, monkeypatch
):
    pretend(IPEX)
    by_setting, by_variable = tmp_path / "setting", tmp_path / "variable"
    by_setting.touch()
    by_variable.touch()
    QgsSettings().setValue("roadseg/python", str(by_setting))
    try:
        assert runtime.find() == by_setting
        monkeypatch.setenv(runtime.VARIABLE, str(by_variable))
        assert runtime.find() == by_variable
        monkeypatch.setenv(runtime.VARIABLE, "/no/such/python")
        with pytest.raises(RuntimeEnvironmentError, match=r"/no/such/python, does not exist"):
            runtime.find()
    finally:
        QgsSettings().remove("roadseg/python")


def test_the_check_tells_versions_or_what_is_missing():
    versions = runtime.check(Path(sys.executable), ["json", "argparse"])
    assert list(versions) == ["python", "json", "argparse"]
    assert versions["python"] == "{}.{}.{}".format(*sys.version_info)
    with pytest.raises(RuntimeEnvironmentError, match=r"(?s)does not work as .*No module named 'no_such_module'"):
        runtime.check(Path(sys.executable), ["no_such_module"])
    for no_python in ("/bin/true", "/bin/echo"):
        with pytest.raises(RuntimeEnvironmentError, match="does not work as"):
            runtime.check(Path(no_python), [])


@pytest.mark.parametrize(
    "said",
    [
        "OSError: [WinError 126] Das angegebene Modul wurde nicht gefunden. Error loading c10.dll",
        "ImportError: DLL load failed while importing _C: The specified module could not be found.",
    ],
)
def test_missing_libraries_of_windows_are_explained(tmp_path, said):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(RuntimeEnvironmentError, match=r"(WinError|DLL)") as why:
        runtime.check(python, [])
    assert "Visual C++ Redistributable" in why.value.remedy


def test_sets_have_the_packages_of_those_that_they_include():
    native, sets = runtime.REQUIREMENT_SETS["native"], runtime.ADDED_SETS
    assert native.modules[:3] == ("torch", "torchvision", "segmentation_models_pytorch")
    assert sets["quantize"].modules == ("onnx", "openvino", "nncf", "onnxruntime")
    each = {module for name in sets if name != "all" for module in sets[name].modules}
    assert set(sets["all"].modules) == each and not each & set(native.modules)


@pytest.mark.parametrize(("module", "name"), PACKAGE_SETS.items())
def test_a_job_asks_for_a_set_that_has_the_package(module, name):
    assert module in runtime.ADDED_SETS[name].modules
