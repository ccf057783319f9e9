"""*Set up runtime* that is killed, meets another QGIS, or is given bad wheels."""

import os
import subprocess
import sys
import tempfile

import pytest
from roadseg.qgis_roadseg.runtime import runtime
from roadseg.qgis_roadseg.runtime.build import Sources, set_up
from roadseg.qgis_roadseg.runtime.client import WorkerClient
from roadseg.qgis_roadseg.runtime.locks import is_in_use
from roadseg.training_core.errors import Cancelled, RuntimeEnvironmentError
from roadseg.training_core.jobs import ExportModel

from ..conftest import PLUGINS, ROOT
from ..support.acting import Ear
from ..support.wheels import make_wheel

# Another QGIS that sets up the same runtime; it waits where it is told a certain text.
OTHER = f"""
import sys
sys.dont_write_bytecode = True
sys.path[:0] = [{PLUGINS!r}, {str(ROOT)!r}]
from pathlib import Path
from qgis.core import QgsApplication, QgsProcessingFeedback
from roadseg.qgis_roadseg.runtime.build import Sources, set_up
from tests.plugin.support.wheels import tiny_set

class Waiting(QgsProcessingFeedback):
    def setProgressText(self, text):
        if text.startswith(sys.argv[3]):
            print("waits", flush=True)
            sys.stdin.readline()

    pushConsoleInfo = setProgressText

application = QgsApplication([], False)
application.initQgis()
print(set_up(tiny_set(Path(sys.argv[1])), Sources(wheels=sys.argv[2]), None, False, Waiting())[0])
"""


@pytest.fixture
def other(tiny, tmp_path):
    """Return a function that starts the other QGIS, and returns it as soon as it has come to a text."""
    started = []

    def start(wheels, text):
        command = [sys.executable, "-c", OTHER, str(tmp_path), wheels, text]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "waits\n"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def left(requirements):
    return sorted(os.listdir(requirements.folder.parent))


def assert_works(requirements, wheels, ear):
    python, versions = set_up(requirements, Sources(wheels=wheels), None, False, ear)
    assert versions["tiny"] == "1.2" and runtime.find() == python
    assert left(requirements) == [requirements.folder.name]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["Creating", "Installing packages", "Processing", "Checking"])
def test_a_build_that_was_killed_is_done_anew(text, tiny, other, tmp_path, ear):
    wheels = make_wheel(tmp_path / "wheels")
    killed = other(wheels, text)
    killed.kill()
    killed.wait()
    assert left(tiny) != [] and runtime.managed_set() is None  # nobody takes what is half built for a runtime
    assert_works(tiny, wheels, ear)
    assert "Successfully installed tiny-1.2" in ear.text


@pytest.mark.slow
@pytest.mark.parametrize("text", ["Creating", "Installing", "Looking in links", "Checking"])
def test_a_build_that_is_cancelled_leaves_nothing(text, tiny, tmp_path):
    with pytest.raises(Cancelled, match="Stopped before it was finished"):
        set_up(tiny, Sources(wheels=make_wheel(tmp_path / "wheels")), None, False, Ear(cancel_on=text))
    assert left(tiny) == [] and runtime.managed_set() is None


@pytest.mark.slow
@pytest.mark.parametrize("what", ["bin/python", "lib", "pyvenv.cfg"])
def test_a_runtime_of_which_a_part_was_deleted_is_built_anew(what, tiny, tmp_path, ear):
    wheels = make_wheel(tmp_path / "wheels")
    assert_works(tiny, wheels, Ear())
    part = tiny.folder / what
    part.rename(tmp_path / "deleted")
    assert_works(tiny, wheels, ear)
    assert "Successfully installed tiny-1.2" in ear.text


@pytest.mark.slow
def test_two_qgis_do_not_build_one_runtime_at_once(tiny, other, tmp_path, ear):
    wheels = make_wheel(tmp_path / "wheels")
    first = other(wheels, "Installing packages")
    with pytest.raises(
        RuntimeEnvironmentError, match=r"is being built by another QGIS. Wait for it, or stop it there."
    ):
        set_up(tiny, Sources(wheels=wheels), None, False, Ear())
    told, _ = first.communicate("\n", timeout=120)
    assert told.strip() == str(runtime.interpreter(tiny.folder))
    assert_works(tiny, wheels, ear)
    assert "Installing" not in ear.text  # the other one's is used


@pytest.mark.parametrize("folder", ["self", "absent"])
def test_a_folder_that_cannot_be_written_is_named(folder, tiny, tmp_path):
    tiny.folder.parent.parent.mkdir(parents=True)
    tiny.folder.parent.symlink_to(f"/proc/{folder}")  # where nobody can make a file
    with pytest.raises(
        RuntimeEnvironmentError, match=f"cannot write to the runtime.s folder {tiny.folder.parent}"
    ) as why:
        set_up(tiny, Sources(wheels=make_wheel(tmp_path / "wheels")), None, False, Ear())
    assert why.value.remedy.startswith("Make the folder writable, make room on its disk")


def test_a_runtime_in_which_a_job_runs_is_not_replaced(tiny, tmp_path):
    python = runtime.interpreter(tiny.folder)
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    script = f"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {PLUGINS!r})
from pathlib import Path
from roadseg.qgis_roadseg.runtime.locks import in_use
with in_use(Path({str(python)!r})):
    print("runs", flush=True)
    sys.stdin.readline()
"""
    wheels = make_wheel(tmp_path / "wheels")
    for ends in ("by itself", "killed"):
        job = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert job.stdout.readline() == "runs\n"
        with pytest.raises(RuntimeEnvironmentError, match=r"is in use by a running job.*Wait for it, or stop it\.$"):
            set_up(tiny, Sources(wheels=wheels), None, True, Ear())
        assert python.exists()
        if ends == "killed":
            job.kill()
        job.communicate("\n")
        assert not is_in_use(tiny.folder)
        assert left(tiny) == [tiny.folder.name]


def test_a_job_in_a_managed_runtime_marks_it_as_in_use(tiny, play, tmp_path, ear):
    python = runtime.interpreter(tiny.folder)
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    mark = tiny.folder.with_name(f".{tiny.folder.name}.use-*")
    folder = play(f'import glob; send("result", result={{"marks": glob.glob({str(mark)!r})}})')
    job = ExportModel(model="m.safetensors", onnx="m.onnx")
    assert len(WorkerClient(python, ear, folder).run(job)["marks"]) == 1
    assert left(tiny) == [tiny.folder.name]


def refused(requirements, wheels):
    """Return what is told of wheels that cannot be installed, of which nothing is left."""
    with pytest.raises(RuntimeEnvironmentError) as caught:
        set_up(requirements, Sources(wheels=wheels), None, False, Ear())
    assert left(requirements) == [] and runtime.managed_set() is None
    assert "Traceback" not in str(caught.value) and caught.value.remedy.endswith(".")
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../../../../../evil.txt", "{outside}/evil.txt"])
def test_a_wheel_that_would_write_outside_of_the_runtime_is_refused(name, tiny, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    name = name.format(outside=outside)
    told = refused(tiny, make_wheel(tmp_path / "wheels", extra={name: "written"}))
    assert "tiny-1.2-py3-none-any.whl" in told
    assert list(tmp_path.rglob("evil.txt")) == []


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "empty", "text", "flipped"])
def test_a_damaged_wheel_is_named(damage, tiny, tmp_path):
    wheels = make_wheel(tmp_path / "wheels")
    wheel = tmp_path / "wheels" / "tiny-1.2-py3-none-any.whl"
    content = wheel.read_bytes()
    middle = content.index(b"__version__")
    flipped = content[:middle] + b"\0" + content[middle + 1 :]
    wheel.write_bytes({"cut": content[:-40], "empty": b"", "text": b"no archive", "flipped": flipped}[damage])
    assert "tiny" in refused(tiny, wheels)


FOLDERS = f"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {PLUGINS!r})
from roadseg.qgis_roadseg.runtime.locks import working_folder
for number in range(30):
    with working_folder() as folder:
        (folder / "image.tif").write_text(str(number))
        with working_folder() as inner:
            assert (folder / "image.tif").read_text() == str(number) and inner.is_dir()
"""


def test_two_qgis_at_once_leave_each_others_temporary_folders_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    processes = [subprocess.Popen([sys.executable, "-c", FOLDERS], stderr=subprocess.PIPE) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [(b"", 0)] * 2
    assert list(tmp_path.iterdir()) == []
