import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training_core.errors import OutputError, RoadSegError
from training_core.system.outputs import PART, Outputs

ROOT = Path(__file__).parents[3]
NAMES = [
    "roads.gpkg",
    "town map.tif",
    "Straße नेपाल.tif",
    "image [1].tif",
    "a*b?.tif",
    "no suffix",
    "two.dots.tif",
    ".hidden",
]


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


class Failure(Exception):
    pass


@pytest.mark.parametrize("name", NAMES)
def test_an_output_appears_when_all_is_done(tmp_path, name):
    destination = tmp_path / name
    with Outputs() as outputs:
        staged = outputs.stage(str(destination))
        staged.write_text("done")
        assert staged.parent == destination.parent and staged.suffix == (destination.suffix or PART)
        assert not destination.exists()
    assert destination.read_text() == "done" and files(tmp_path) == [name]


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_run_leaves_nothing(tmp_path, name):
    with pytest.raises(Failure), Outputs() as outputs:
        staged = outputs.stage(str(tmp_path / name))
        staged.write_text("half")
        staged.with_name(f"{staged.name}-journal").write_text("half")
        raise Failure
    assert files(tmp_path) == []


def test_outputs_appear_together(tmp_path):
    with Outputs() as outputs:
        staged = [outputs.stage(str(tmp_path / name)) for name in ("a", "b")]
        for path in staged:
            path.write_text("done")
            assert files(tmp_path) == sorted(path.name for path in staged if path.exists())
    assert files(tmp_path) == ["a", "b"]


def test_a_destination_survives_a_failed_run(tmp_path):
    (tmp_path / "roads.gpkg").write_text("former")
    with pytest.raises(Failure), Outputs() as outputs:
        outputs.stage(str(tmp_path / "roads.gpkg")).write_text("half")
        raise Failure
    assert (tmp_path / "roads.gpkg").read_text() == "former" and files(tmp_path) == ["roads.gpkg"]


def test_a_destination_is_replaced_with_all_that_belonged_to_it(tmp_path):
    for name in ("roads.gpkg", "roads.gpkg-wal", "roads.gpkg-shm", "roads.gpkg.aux.xml", "roads.qml", "roads.gpkg2"):
        (tmp_path / name).write_text("former")
    with Outputs() as outputs:
        outputs.stage(str(tmp_path / "roads.gpkg")).write_text("new")
    assert (tmp_path / "roads.gpkg").read_text() == "new"
    assert files(tmp_path) == ["roads.gpkg", "roads.gpkg2", "roads.qml"]


def test_where_one_cannot_be_put_in_place_none_is(tmp_path):
    (tmp_path / "first").write_text("former")
    with pytest.raises(OutputError, match="third cannot be replaced"), Outputs() as outputs:
        for name in ("first", "second", "third", "fourth"):
            outputs.stage(str(tmp_path / name)).write_text("new")
        (tmp_path / "third").mkdir()
    assert files(tmp_path) == ["first"]
    assert (tmp_path / "first").read_text() == "former"


def test_an_output_that_was_not_written_does_not_appear(tmp_path):
    with Outputs() as outputs:
        outputs.stage(str(tmp_path / "a"))
    assert files(tmp_path) == []


def test_missing_folders_are_made(tmp_path):
    with Outputs() as outputs:
        outputs.stage(str(tmp_path / "new" / "folder" / "a")).write_text("done")
    assert (tmp_path / "new" / "folder" / "a").read_text() == "done"


def test_a_relative_destination_stays_where_it_was_when_asked_for(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Outputs() as outputs:
        outputs.stage("a").write_text("done")
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert files(tmp_path) == ["a"]


def test_a_killed_run_leaves_nothing_that_looks_finished_and_the_next_one_cleans_up(tmp_path):
    killed = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
                import os, signal, sys
                from training_core.system.outputs import Outputs
                with Outputs() as outputs:
                    staged = outputs.stage(sys.argv[1])
                    staged.write_text("half")
                    staged.with_name(staged.name + "-journal").write_text("half")
                    os.kill(os.getpid(), signal.SIGKILL)
            """),
            str(tmp_path / "a [1].tif"),
        ],
        cwd=ROOT,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL
    left = files(tmp_path)
    assert len(left) == 2 and all(name.startswith(".") and PART in name for name in left)
    with Outputs() as outputs:
        outputs.stage(str(tmp_path / "a [1].tif")).write_text("done")
    assert files(tmp_path) == ["a [1].tif"]


def test_what_a_living_process_writes_is_left_alone(tmp_path):
    others = [f".a.{os.getppid()}{PART}.tif", f".b.99999999{PART}.tif", f".a.old{PART}.tif", "a.part.tif", ".a.9.tif"]
    for name in others:
        (tmp_path / name).write_text("half")
    (tmp_path / f".a.{10**30}{PART}.tif").write_text("no process has such a number")
    with Outputs() as outputs:
        outputs.stage(str(tmp_path / "a.tif")).write_text("done")
    assert files(tmp_path) == sorted(["a.tif", *others])


@pytest.mark.parametrize("form", ["{}", "{}|layername=roads", "{}|layerid=0|subset=lanes > 1"])
def test_an_input_is_not_written_over(tmp_path, form):
    source = tmp_path / "roads.gpkg"
    source.write_text("drawn by hand")
    (tmp_path / "link.gpkg").symlink_to(source)
    for destination in (source, tmp_path / "link.gpkg", tmp_path / "." / "x" / ".." / "roads.gpkg"):
        with pytest.raises(OutputError, match=r"is an input of this job"), Outputs([form.format(source)]) as outputs:
            outputs.stage(str(destination))
    assert source.read_text() == "drawn by hand" and files(tmp_path) == ["link.gpkg", "roads.gpkg"]


def test_inputs_that_are_not_given_forbid_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Outputs(["", "other"]) as outputs:
        outputs.stage("a").write_text("done")
    assert files(tmp_path) == ["a"]


def refused(destination):
    with pytest.raises(OutputError) as refusal, Outputs() as outputs:
        outputs.stage(str(destination))
    assert refusal.value.remedy
    return refusal.value.message


def test_a_folder_is_no_destination(tmp_path):
    assert refused(tmp_path) == f"{tmp_path} is a folder."
    assert refused("/") == "/ is a folder."


def test_a_device_is_no_destination():
    assert refused("/dev/full") == "/dev/full is no file."
    assert os.path.exists("/dev/full")


def test_below_a_file_there_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in refused(tmp_path / "file" / "a.tif")
    assert str(tmp_path / "file") in refused(tmp_path / "file" / "folder" / "a.tif")
    assert files(tmp_path) == ["file"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc, to which not even root can write")
def test_a_folder_that_cannot_be_written_to_is_named():
    assert refused("/proc/roads.gpkg").startswith("/proc/roads.gpkg cannot be written (")


def test_a_name_that_the_file_system_does_not_take_is_refused(tmp_path):
    assert "a" * 300 in refused(tmp_path / ("a" * 300))
    assert "a\0b" in refused(tmp_path / "a\0b")


@given(st.text(st.characters(exclude_characters="/"), min_size=1, max_size=300))
@settings(deadline=None)
def test_any_name_is_written_or_refused(tmp_path_factory, name):
    folder = tmp_path_factory.mktemp("any")
    try:
        with Outputs() as outputs:
            outputs.stage(f"{folder}/{name}").write_text("done")
    except OutputError:
        assert files(folder) == []
    else:
        assert files(folder) == [name] and (folder / name).read_text() == "done"


NO_ROOM = pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])


@NO_ROOM
def test_a_full_disk_is_reported_with_the_output(tmp_path, number):
    with pytest.raises(OutputError, match=r"no room.*a\.tif") as refusal, Outputs() as outputs:
        outputs.stage(str(tmp_path / "a.tif")).write_text("half")
        raise OSError(number, os.strerror(number))
    assert refusal.value.remedy and files(tmp_path) == []


def test_other_errors_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), Outputs() as outputs:
        outputs.stage(str(tmp_path / "a.tif"))
        raise FileNotFoundError(errno.ENOENT, "no such file")


def test_no_message_names_a_temporary_file(tmp_path):
    with pytest.raises(OutputError) as refusal, Outputs() as outputs:
        staged = outputs.stage(str(tmp_path / "a.tif"))
        raise OutputError(f"{staged} cannot be written: {staged.name} is odd.", "Do better.")
    assert refusal.value.message == f"{tmp_path / 'a.tif'} cannot be written: a.tif is odd."
    assert refusal.value.remedy == "Do better."


SMALL_DISK = """
import sys
from pathlib import Path
from training_core.errors import OutputError
from training_core.system.outputs import Outputs
folder = Path(sys.argv[1])
(folder / "a.tif").write_bytes(b"former")
try:
    with Outputs() as outputs:
        outputs.stage(str(folder / "b.tif")).write_bytes(b"0" * 9000)
        outputs.stage(str(folder / "a.tif")).write_bytes(b"0" * 60000)
except OutputError as error:
    print(error.code, error.message)
(folder / "rest").write_bytes(b"0" * 61000)
try:
    with Outputs() as outputs:
        outputs.stage(str(folder / "c.tif"))
except OutputError as error:
    print(error.code, error.message)
print(sorted(path.name for path in folder.iterdir()), (folder / "a.tif").read_bytes())
"""


def test_on_a_disk_that_is_full(tmp_path):
    mounting = 'mount -t tmpfs -o size=64k none "$1" && exec "$0" -c "$2" "$1"'
    command = ["unshare", "-r", "-m", "sh", "-c", mounting, sys.executable, str(tmp_path), SMALL_DISK]
    try:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("no unshare here, with which a small disk is made")
    if "mount" in ran.stderr or "unshare" in ran.stderr:
        pytest.skip("no small disk can be made here")
    first, second, left = ran.stdout.splitlines()
    assert first.startswith("output There is no room") and "a.tif" in first
    assert second.startswith("output") and "No space left" in second
    assert left == "['a.tif', 'rest'] b'former'"


def test_every_refusal_is_one_of_roadsegs():
    assert issubclass(OutputError, RoadSegError)
