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

from tests.core.support.rasters import files
from tests.core.support.systems import needs_linux, needs_posix
from training_core.errors import OutputError
from training_core.jobs import file_systems
from training_core.jobs.file_systems import files_in
from training_core.system.outputs import Outputs, replaced

ROOT = Path(__file__).parents[3]
NAMES = [
    "roads.gpkg", "town map.tif", "Straße नेपाल.tif", "image [1].tif", "a*b?.tif", "no suffix", "two.dots.tif",
    ".hidden", "a" * 251 + ".tif", "a." + "b" * 253,
]  # fmt: skip


class Failure(Exception):
    pass


@pytest.mark.parametrize("name", NAMES)
def test_an_output_appears_when_all_is_done_and_a_failed_run_leaves_what_was_there(tmp_path, name):
    destination = tmp_path / name
    for former in ([], [name]):
        with pytest.raises(Failure), Outputs() as outputs:
            staged = outputs.stage(str(destination))
            staged.write_text("half")
            staged.with_name(f"{staged.name}-journal").write_text("half")
            assert staged.stat().st_dev == tmp_path.stat().st_dev
            assert staged.suffix == (destination.suffix if destination.suffix in (".gpkg", ".tif") else ".part")
            raise Failure
        assert files(tmp_path) == former
        with Outputs() as outputs:
            outputs.stage(str(destination)).write_text(f"done {len(former)}")
            assert destination.exists() == bool(former)
        assert destination.read_text() == f"done {len(former)}" and files(tmp_path) == [name]


def test_a_file_that_is_protected_is_not_replaced(tmp_path):
    (tmp_path / "a").touch(0o444)
    with pytest.raises(OutputError, match="a is read-only"), Outputs() as outputs:
        outputs.stage(str(tmp_path / "a"))


def test_a_destination_is_replaced_with_all_that_belonged_to_it(tmp_path):
    for name in ("roads.gpkg", "roads.gpkg-wal", "roads.gpkg-shm", "roads.gpkg.aux.xml", "roads.qml", "roads.gpkg2"):
        (tmp_path / name).write_text("former")
    with Outputs() as outputs:
        outputs.stage(str(tmp_path / "roads.gpkg")).write_text("new")
    assert (tmp_path / "roads.gpkg").read_text() == "new"
    assert files(tmp_path) == ["roads.gpkg", "roads.gpkg2", "roads.qml"]


def test_what_belonged_to_a_former_file_and_stays_is_named(tmp_path, monkeypatch):
    (tmp_path / "roads.gpkg-wal").mkdir()  # cannot be unlinked, as one that is open on Windows
    monkeypatch.setattr(file_systems, "PATIENCE_S", 0)
    with pytest.raises(OutputError, match=r"roads\.gpkg is written, but roads\.gpkg-wal, .* cannot be removed") as why:
        with Outputs() as outputs:
            outputs.stage(str(tmp_path / "roads.gpkg")).write_text("new")
    assert "delete it" in why.value.remedy
    assert (tmp_path / "roads.gpkg").read_text() == "new"


def test_where_one_cannot_be_put_in_place_none_is(tmp_path):
    (tmp_path / "first").write_text("former")
    with pytest.raises(OutputError, match="third cannot be replaced"), Outputs() as outputs:
        for name in ("first", "second", "third", "fourth"):
            outputs.stage(str(tmp_path / name)).write_text("new")
        (tmp_path / "third").mkdir()
    assert files(tmp_path) == ["first"]
    assert (tmp_path / "first").read_text() == "former"


def test_an_output_that_was_not_written_is_an_error(tmp_path):
    (tmp_path / "b").write_text("former")
    with pytest.raises(OutputError, match=r"a could not be written \(No such file") as refusal, Outputs() as outputs:
        outputs.stage(str(tmp_path / "b")).write_text("new")
        outputs.stage(str(tmp_path / "a"))
    assert refusal.value.remedy
    assert files(tmp_path) == ["b"] and (tmp_path / "b").read_text() == "former"


@needs_posix
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
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".roadseg-") and left.is_dir()
    with Outputs() as outputs:
        outputs.stage(str(tmp_path / "b.tif")).write_text("done")
        with Outputs() as others:
            others.stage(str(tmp_path / "c.tif")).write_text("also done")
    assert files(tmp_path) == ["b.tif", "c.tif"] and not left.exists()


def test_a_link_that_was_laid_for_a_temporary_file_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("whole")
    for name in (f".a.{os.getpid()}.part.tif", f".a.{os.getpid()}.part.tif.draft", ".a.tif.part"):
        (tmp_path / name).symlink_to("victim")
    names = set()
    for _ in range(2):
        with Outputs() as outputs:
            staged = outputs.stage(str(tmp_path / "a.tif"))
            names.add(staged.name)
            assert staged.parent.parent == tmp_path and staged.parent.stat().st_mode & 0o777 == 0o700
            staged.write_text("done")
    assert len(names) == 2, "a name that comes again can be foreseen"
    assert (tmp_path / "victim").read_text() == "whole"


@pytest.mark.parametrize("form", ["{}", "{}|layername=roads", "{}|layerid=0|subset=lanes > 1"])
def test_an_input_is_not_written_over(tmp_path, form):
    source = tmp_path / "roads.gpkg"
    source.write_text("drawn by hand")
    (tmp_path / "link.gpkg").symlink_to(source)
    for destination in (source, tmp_path / "link.gpkg", tmp_path / "." / "x" / ".." / "roads.gpkg"):
        with pytest.raises(OutputError, match=r"is an input of this job"), Outputs([form.format(source)]) as outputs:
            outputs.stage(str(destination))
    assert source.read_text() == "drawn by hand" and files(tmp_path) == ["link.gpkg", "roads.gpkg"]


@pytest.mark.parametrize("path", [r"D:\maps\a.tif", "D:/maps/a.tif"])
def test_the_letter_of_a_drive_stays_with_its_path(path):
    for source in (path, f'NETCDF:"{path}":Band1', f"GTIFF_DIR:2:{path}", f"GPKG:{path}:image"):
        assert path in files_in(source) and path[2:] not in files_in(source)


def test_an_input_by_another_link_and_what_goes_with_an_output_are_not_written_over(tmp_path):
    (tmp_path / "roads.gpkg").write_text("drawn by hand")
    os.link(tmp_path / "roads.gpkg", tmp_path / "linked.gpkg")
    (tmp_path / "image.tif.ovr").write_text("an image")
    inputs = [str(tmp_path / "roads.gpkg"), str(tmp_path / "image.tif.ovr"), "a\0b", "\ud800"]
    for name in ("linked.gpkg", "image.tif"):
        with pytest.raises(OutputError, match=rf"{name} is an input"), Outputs(inputs) as outputs:
            outputs.stage(str(tmp_path / name)).write_text("new")
    assert files(tmp_path) == ["image.tif.ovr", "linked.gpkg", "roads.gpkg"]


def test_one_file_by_two_names_is_staged_once(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with Outputs() as outputs:
        one, other = (outputs.stage(str(tmp_path / folder / "a.gpkg")) for folder in ("real", "link/../real"))
        assert one == other == outputs.stage(str(tmp_path / "link" / "a.gpkg"))
        one.write_text("done")
    assert files(tmp_path) == ["a.gpkg"]


def test_outputs_that_are_one_file_to_the_file_system_are_refused(tmp_path, monkeypatch):
    opened = Path.open
    monkeypatch.setattr(Path, "open", lambda path, mode="r": opened(path.with_name(path.name.lower()), mode))
    with (
        pytest.raises(OutputError, match=r"A\.TIF is the same file as another output") as refusal,
        Outputs() as outputs,
    ):
        for name in ("a.tif", "b.tif", "A.TIF"):
            outputs.stage(str(tmp_path / name))
    assert refusal.value.remedy and files(tmp_path) == []


def test_a_single_file_is_replaced_when_it_is_complete(tmp_path):
    (tmp_path / "a").write_text("former")
    with pytest.raises(Failure), replaced(tmp_path / "a") as temporary:
        temporary.write_text("half")
        raise Failure
    assert files(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "former"
    with replaced(tmp_path / "a") as temporary:
        temporary.write_text("new")
    assert files(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "new"


def refused(destination):
    with pytest.raises(OutputError) as refusal, Outputs() as outputs:
        outputs.stage(str(destination))
    assert refusal.value.remedy
    return refusal.value.message


@needs_linux
def test_a_folder_a_device_and_what_lies_below_a_file_are_no_destinations(tmp_path):
    assert refused(tmp_path) == f"{tmp_path} is a folder."
    assert refused("/") == "/ is a folder."
    assert refused("/dev/full") == "/dev/full is not a file."
    assert os.path.exists("/dev/full")
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in refused(tmp_path / "file" / "a.tif")
    assert str(tmp_path / "file") in refused(tmp_path / "file" / "folder" / "a.tif")
    assert files(tmp_path) == ["file"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc, to which not even root can write")
def test_a_folder_that_cannot_be_written_to_is_named():
    assert refused("/proc/roads.gpkg").startswith("/proc/roads.gpkg cannot be written (")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("name", ["final!v2", "two\nlines", os.fsdecode(b"caf\xe9")])
def test_no_temporary_path_has_what_a_library_takes_for_an_address(tmp_path, name):
    with Outputs() as outputs:
        staged = outputs.stage(str(tmp_path / name / "a;b!c.gpkg"))
        assert not set(str(staged)) & set("!;\n") and str(staged).isascii()
        staged.write_text("done")
    assert files(tmp_path) == ["a;b!c.gpkg"]


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


def test_other_errors_stay_what_they_are_and_no_message_names_a_temporary_file(tmp_path):
    with pytest.raises(FileNotFoundError), Outputs() as outputs:
        outputs.stage(str(tmp_path / "a.tif"))
        raise FileNotFoundError(errno.ENOENT, "no such file")
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


def test_a_folder_appears_as_a_whole_or_not_at_all(tmp_path):
    final = tmp_path / "new" / "chips"
    with pytest.raises(ValueError, match="broken"), Outputs() as outputs:
        (outputs.stage_folder(str(final)) / "a").write_text("half")
        raise ValueError("broken")
    assert list((tmp_path / "new").iterdir()) == []
    final.mkdir()
    with Outputs() as outputs:
        folder = outputs.stage_folder(str(final))
        (folder / "inner").mkdir()
        (folder / "inner" / "a").write_text("done")
        assert list(final.iterdir()) == []
    assert [str(path.relative_to(final)) for path in sorted(final.rglob("*"))] == ["inner", "inner/a"]
    assert list((tmp_path / "new").iterdir()) == [final]
    with pytest.raises(OutputError, match="is not an empty folder"), Outputs() as outputs:
        outputs.stage_folder(str(final))
