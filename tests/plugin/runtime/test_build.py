import os
import subprocess
import sys
from pathlib import Path

import pytest
from roadseg.qgis_roadseg.runtime import build, runtime
from roadseg.qgis_roadseg.runtime.build import set_up
from roadseg.qgis_roadseg.runtime.runtime import RequirementSet
from roadseg.qgis_roadseg.runtime.sources import Sources
from roadseg.training_core.errors import Cancelled, RuntimeEnvironmentError

from tests.held_files import hold_files
from tests.shared_fixtures import make_once

from ..support.acting import Ear
from ..support.wheels import make_wheel, no_own_index

BASE = Path(sys.base_prefix, "bin", "python3")


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """A virtual environment of this Python; do not write there."""

    def make(folder):
        subprocess.run([BASE, "-m", "venv", folder], check=True)
        return folder

    return make_once(tmp_path_factory, "environment", make)


@pytest.fixture
def quick(environment, tmp_path):
    """A Python that copies an environment instead of making one, which takes seconds."""
    python = tmp_path / "quick"
    copying = f"""*" venv "*) for last; do :; done; exec cp -a '{environment}/.' "$last";;"""
    python.write_text(f"""#!/bin/sh\ncase "$*" in {copying} esac\nexec '{BASE}' "$@"\n""")
    python.chmod(0o755)
    return python


def left(requirements):
    return sorted(os.listdir(requirements.folder.parent))


def test_a_runtime_is_built_from_wheels_and_works_where_it_lies(tiny, quick, tmp_path, ear):
    sources = Sources(wheels=make_wheel(tmp_path / "Räder und mehr"))
    python, versions = set_up(tiny, sources, None, False, ear)
    assert python == runtime.find() == runtime.interpreter(tiny.folder)
    assert versions["tiny"] == "1.2"
    assert left(tiny) == [tiny.folder.name]
    assert "Successfully installed tiny-1.2" in ear.text
    assert ear.progress() == 90

    silent = Ear()
    assert set_up(tiny, Sources(), None, False, silent) == (python, versions)  # quick: nothing is built
    assert "Installing" not in silent.text

    make_wheel(tmp_path / "Räder und mehr", "raise OSError('broken')")
    with pytest.raises(RuntimeEnvironmentError, match="broken"):
        set_up(tiny, sources, quick, True, Ear())
    assert runtime.check(python, ["tiny"]) == versions  # the one that works is kept
    assert left(tiny) == [tiny.folder.name]

    make_wheel(tmp_path / "Räder und mehr")
    more = RequirementSet("more", tiny.pythons)
    more.file.write_text("more==3\n")
    with pytest.raises(RuntimeEnvironmentError, match=r"(?s)No matching distribution.*more") as why:
        set_up(tiny, sources, None, False, Ear(), [more])
    assert "-r tiny.txt -r more.txt -d Räder und mehr" in why.value.remedy
    assert runtime.check(python, ["tiny"]) == versions

    make_wheel(tmp_path / "Räder und mehr", "__version__ = '3'", name="more", version="3")
    both, loud, silent = {**versions, "more": "3"}, Ear(), Ear()
    assert set_up(tiny, sources, None, False, loud, [more]) == (python, both)
    assert "Installing more" in loud.text and "rebuilt" not in loud.text
    assert set_up(tiny, Sources(), None, False, silent, [more]) == (python, both)
    assert "Installing" not in silent.text

    (tiny.folder / "mark").touch()
    next(tiny.folder.rglob("tiny.py")).unlink()
    loud = Ear()
    assert set_up(tiny, sources, quick, False, loud, [more]) == (python, both)
    assert "No module named 'tiny'" in loud.text and "Rebuilding it" in loud.text
    assert not (tiny.folder / "mark").exists()
    assert left(tiny) == [tiny.folder.name]


@pytest.mark.slow
def test_packages_that_are_added_change_nothing_that_is_there(tiny, quick, tmp_path):
    wheels = tmp_path / "wheels"
    sources, more = Sources(wheels=make_wheel(wheels)), RequirementSet("more", tiny.pythons)
    python, before = set_up(tiny, sources, quick, False, Ear())
    make_wheel(wheels, "__version__ = '1.3'", version="1.3")
    more.file.write_text("more==3\n")
    make_wheel(wheels, name="more", version="3", requires=["tiny>1.2"])
    with pytest.raises(RuntimeEnvironmentError, match=r"(?i)conflict|unsatisfiable"):
        set_up(tiny, sources, None, False, Ear(), [more])
    assert runtime.check(python, ["tiny"]) == before
    make_wheel(wheels, name="more", version="3", requires=["tiny"])
    assert set_up(tiny, sources, None, False, Ear(), [more])[1]["tiny"] == "1.2"


def test_a_failing_installation_leaves_nothing(tiny, quick, tmp_path, ear):
    (tmp_path / "empty").mkdir()
    leftover = tiny.folder.with_name(f".{tiny.folder.name}-killed")
    leftover.mkdir(parents=True)
    with pytest.raises(
        RuntimeEnvironmentError, match=r"(?s)failed with status 1:.*No matching distribution.*tiny"
    ) as why:
        set_up(tiny, Sources(wheels=str(tmp_path / "empty")), quick, False, ear)
    assert left(tiny) == []
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert f"{python} -m pip download --only-binary=:all: -r tiny.txt -d empty" in why.value.remedy


def test_a_folder_of_wheels_that_is_not_there(tiny, tmp_path, ear):
    with pytest.raises(RuntimeEnvironmentError, match="folder of wheels .*wheels does not exist"):
        set_up(tiny, Sources(wheels=str(tmp_path / "wheels")), BASE, False, ear)
    assert not tiny.folder.parent.exists()


def test_a_cancelled_installation_leaves_nothing(tiny, tmp_path):
    with pytest.raises(Cancelled):
        set_up(tiny, Sources(wheels=make_wheel(tmp_path / "wheels")), BASE, False, Ear(cancel_on="Creating"))
    assert left(tiny) == []


def test_a_base_that_does_not_fit(tiny, ear):
    for base, reason in (("/bin/true", "it is not a Python interpreter"), ("/no/such/python", ".*cannot be started")):
        with pytest.raises(RuntimeEnvironmentError, match=rf"{base} cannot be used: {reason}.* 3.9 to 3.99"):
            set_up(tiny, Sources(), Path(base), False, ear)
    too_new = RequirementSet("tiny", ((3, 98), (3, 99)))
    with pytest.raises(
        RuntimeEnvironmentError, match=r"(?s)No Python 3.98 to 3.99 was found for building.*it is Python 3.\d+, not"
    ):
        set_up(too_new, Sources(), None, False, ear)
    assert left(tiny) == []


NO_VENV = "echo No module named venv >&2; exit 1"
PLAYED = """#!/bin/sh
case "$*" in
    *calcsize*) echo {version} 64 x86_64;;
    *import_module*) echo '{{}}';;
    *" venv "*) for last; do :; done; {venv};;
esac
"""


@pytest.fixture
def only_python(no_runtime, tmp_path, monkeypatch):
    """Return a function that leaves one Python on the machine, of the given version, beside those of other names."""

    def leave(version, name="python3", venv='/bin/mkdir -p "$last/bin" && /bin/cp "$0" "$last/bin/python"'):
        python = tmp_path / "usr" / "bin" / name
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(PLAYED.format(version=version, venv=venv))
        python.chmod(0o755)
        monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "usr"))
        monkeypatch.setenv("PATH", str(python.parent))
        return python

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CONDA_EXE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(runtime.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(runtime, "CPUINFO", tmp_path / "cpuinfo")
    runtime.CPUINFO.write_text("vendor_id : GenuineIntel\nflags : fpu avx2 avx512f\n")
    return leave


@pytest.fixture
def built(tmp_path):
    """Return a function that sets up a runtime, and returns its requirement set and the warnings."""

    def build_one(requirements=None, base=None, force=True):
        ear = Ear()
        ear.pushWarning = warnings.append
        python, _ = set_up(requirements, Sources(wheels=str(tmp_path)), base, force, ear)
        told = "".join(warnings)
        warnings.clear()
        return python.parent.parent.name.partition("-")[0], told

    warnings = []
    return build_one


def test_without_a_choice_the_packages_are_those_that_the_python_can_have(only_python, built, monkeypatch):
    only_python("3 13")
    assert built() == ("ipex", "")
    newer = only_python("3 14")
    name, told = built()
    assert name == "native"
    assert "No Python 3.10 to 3.13" in told and "ipex" in told and told.endswith("of packages.")
    assert built(base=newer)[0] == "native"
    only_python("3 9")
    with pytest.raises(RuntimeEnvironmentError, match=r"No Python 3.10 to 3.14 .*native"):
        built()
    only_python("3 13")
    monkeypatch.setattr(runtime.platform, "machine", lambda: "aarch64")
    assert built()[0] == "native"


def test_without_a_choice_packages_are_tried_that_another_python_can_have(only_python, built):
    only_python("3 13", venv=NO_VENV)
    only_python("3 14", name="python3.14")
    name, told = built()
    assert name == "native" and "python3: it lacks the module venv" in told
    only_python("3 14", name="python3.14", venv=NO_VENV)
    with pytest.raises(RuntimeEnvironmentError, match=r"(?s)native need it.*python3.14: it lacks the module") as why:
        built()
    assert "Or choose" not in why.value.remedy


def test_without_a_choice_the_packages_that_are_installed_are_kept(only_python, built):
    only_python("3 13")
    assert built(runtime.REQUIREMENT_SETS["native"]) == ("native", "")
    assert built(force=False) == ("native", "")
    assert built()[0] == "ipex"


def test_packages_that_are_chosen_and_cannot_be_had_are_an_error(only_python):
    python = only_python("3 14")
    ipex, native = runtime.REQUIREMENT_SETS["ipex"], runtime.REQUIREMENT_SETS["native"]
    for base, words in ((None, "(?s)No Python 3.10 to 3.13 .*ipex.*is Python 3.14"), (python, "ipex need Python")):
        with pytest.raises(RuntimeEnvironmentError, match=words) as why:
            set_up(ipex, Sources(), base, False, Ear())
        assert "Or choose native under Packages." in why.value.remedy
    only_python("3 9")
    with pytest.raises(RuntimeEnvironmentError, match=r"No Python 3.10 to 3.14 .*native") as why:
        set_up(native, Sources(), None, False, Ear())
    assert "Or choose" not in why.value.remedy


def test_two_builds_at_once(tiny, ear):
    with (
        build._build_folder(tiny.folder),
        pytest.raises(RuntimeEnvironmentError, match="being built by another"),
        build._build_folder(tiny.folder),
    ):
        pass


def test_a_runtime_is_put_in_place_as_soon_as_no_program_looks_at_it(tiny, monkeypatch):
    tiny.folder.mkdir(parents=True)
    hold_files(monkeypatch, refusals=3)
    with build._build_folder(tiny.folder) as folder:
        (folder / "new").touch()
    assert (tiny.folder / "new").is_file() and left(tiny) == [tiny.folder.name]


def test_a_named_python_is_only_checked(tiny, play_runtime, monkeypatch, ear):
    monkeypatch.setenv(runtime.VARIABLE, sys.executable)
    monkeypatch.setattr(build, "check", lambda python, *_, **__: {"python": str(python)})
    assert set_up(tiny, Sources(), None, False, ear) == (Path(sys.executable), {"python": sys.executable})
    assert "nothing is built" in ear.text
    monkeypatch.undo()
    monkeypatch.setenv(runtime.VARIABLE, sys.executable)
    quantize = runtime.ADDED_SETS["quantize"]
    with pytest.raises(RuntimeEnvironmentError, match="No module named") as why:
        set_up(runtime.REQUIREMENT_SETS["native"], Sources(), None, False, ear, [quantize])
    assert f"{sys.executable} -m pip install" in why.value.remedy and f"-r {quantize.file}" in why.value.remedy


def test_uv_is_used_where_present_unless_pip_is_told_where_from(tiny, tmp_path, monkeypatch, ear):
    no_own_index(monkeypatch, tmp_path)
    assert not build._uses_uv(BASE) or build.shutil.which("uv")
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text('#!/bin/sh\necho uv "$@"\n[ "$1" = venv ] || exit 7\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(uv.parent), prepend=os.pathsep)
    with pytest.raises(RuntimeEnvironmentError, match=r"failed with status 7"):
        set_up(tiny, Sources(extra_index_url="https://cpu.example.org"), BASE, False, ear)
    assert f"uv venv --no-progress --python {BASE}" in ear.text
    assert "--extra-index-url https://cpu.example.org -r" in ear.text
    assert left(tiny) == []
    assert build._uses_uv(BASE)
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example.org")
    assert not build._uses_uv(BASE)
