import sys
import tempfile
import time

import pytest
from roadseg.qgis_roadseg.runtime import client
from roadseg.qgis_roadseg.runtime.client import WorkerClient
from roadseg.training_core.errors import Cancelled, ImageryError, RoadSegError, RuntimeEnvironmentError, WorkerError
from roadseg.training_core.jobs import FineTune, Segment

from ..support.acting import Ear, wait_until_gone

JOB = Segment(raster="/Bilder/Straße 字.tif", model="m.safetensors", mask="mask.tif")
KEEPING = FineTune(rasters=("/Bilder/Straße 字.tif",), roads="roads.gpkg", model="m.safetensors", keep_best=True)


def run(folder, ear, job=JOB, **limits):
    return WorkerClient(sys.executable, ear, folder, **limits).run(job)


def test_a_result_comes_back_and_events_are_told(play, ear):
    folder = play("""
send("log", message="Größe 字")
send("progress", fraction=0.5, message="Segmenting")
send("result", result={"engine": "native", "count": 3})
""")
    assert run(folder, ear) == {"engine": "native", "count": 3}
    assert ear.told == ["Größe 字", "Segmenting"]
    assert ear.progress() == 50


def test_any_path_will_do_and_what_a_worker_leaves_of_temporary_files_goes_with_its_run(
    play, ear, tmp_path, monkeypatch
):
    temporary = tmp_path / "temporär 字"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    told = '{"job": job(), "folder": os.getcwd(), "file": sys.argv[-1], "left": tempfile.mkdtemp()}'
    folder = play(f'import tempfile; send("result", result={told}); os.kill(os.getpid(), 9)', folder="Läufer 字")
    result = run(folder, ear)
    assert result["job"]["options"]["raster"] == JOB.raster
    assert result["folder"] == str(folder)
    assert result["file"].startswith(str(temporary)) and result["left"].startswith(str(temporary))
    assert list(temporary.iterdir()) == []


def test_the_worker_sees_nothing_of_qgis(play, ear, monkeypatch):
    for name in ("PYTHONHOME", "PYTHONPATH", "PROJ_LIB", "GDAL_DATA", "LD_LIBRARY_PATH", "QT_PLUGIN_PATH"):
        monkeypatch.setenv(name, "/opt/qgis")
    folder = play("""
import site
send("result", result={"names": sorted(os.environ), "user_site": site.ENABLE_USER_SITE, "folder": sys.path[0]})
""")
    # With PYTHONHOME set to a place that is none, Python would not even start.
    result = run(folder, ear)
    assert not [name for name in result["names"] if name.startswith(("PYTHON", "PROJ", "GDAL", "LD_", "QT_"))]
    assert result["user_site"] is False
    assert result["folder"] == str(folder)
    assert not (folder / "training_core" / "__pycache__").exists()


def test_foreign_lines_are_logged(play, ear):
    folder = play("""
print("a library's print")
print('{"event": "unheard of"}')
print('{"json": "but no event"}')
print("[1, 2]", "null")
os.write(1, b"\\xff\\xfe no text\\n")
print("a word of warning", file=sys.stderr)
send("result", result={})
""")
    assert run(folder, ear) == {}
    for told in ("a library's print", "unheard of", "but no event", "[1, 2] null", "no text", "a word of warning"):
        assert told in ear.text


def test_the_jobs_own_error_keeps_its_kind_known_or_not(play, ear):
    error = 'send("error", code="{}", message="x.tif cannot be read.", remedy="Copy it again."); sys.exit(1)'
    for code, kind in (("imagery", ImageryError), ("unheard-of", RoadSegError)):
        with pytest.raises(kind, match=r"^x.tif cannot be read. Copy it again.$") as caught:
            run(play(error.format(code), folder=code), ear)
        assert (type(caught.value), caught.value.code) == (kind, code)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            'print("halloo", file=sys.stderr); 1 / 0',
            r"^The worker ended without a result \(status 1\): ZeroDivisionError: division by zero. Run it",
        ),
        ("os.kill(os.getpid(), 11)", r"crashed \(signal 11\)"),
        ("os.kill(os.getpid(), 9)", "memory ran out.*Lower the tile size, chip size or batch size"),
        ("pass", r"ended without a result \(status 0\)"),
        ("sys.exit(3)", r"ended without a result \(status 3\)"),  # that of a partial result
    ],
)
def test_an_end_without_a_result_is_told(play, ear, lines, told):
    with pytest.raises(WorkerError, match=told):
        run(play(lines), ear)
    assert "halloo" not in lines or "halloo" in ear.text


def test_a_missing_module_is_an_incomplete_runtime(play, ear):
    with pytest.raises(RuntimeEnvironmentError, match=r"incomplete \(.*no_such_module.*Run Set up runtime"):
        run(play("import no_such_module"), ear)


def test_a_worker_that_hangs_is_told_and_ended_since_foreign_noise_is_no_sign_of_life(play, ear):
    folder = play("""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
send("log", message=f"{os.getpid()} {child.pid}")
while True: print("noise", flush=True); time.sleep(0.05)
""")
    with pytest.raises(WorkerError, match=r"not responded for 0.7 s.*Run it again"):
        run(folder, ear, silence_s=0.7, notice_s=0.3)
    assert all(wait_until_gone(int(number)) for number in ear.told[0].split())
    assert "has not responded for 0.3 s: the machine may be overloaded" in ear.text


def test_a_slow_worker_with_heartbeats_lives(play, ear):
    folder = play("""
for _ in range(15):
    time.sleep(0.1)
    send("heartbeat")
send("result", result={"slow": True})
""")
    assert run(folder, ear, silence_s=0.7) == {"slow": True}


SUSPENDED = """
import signal
send("log", message="started")
subprocess.Popen([sys.executable, "-c", f"import os, time; time.sleep({seconds}); os.kill({os.getpid()}, 18)"])
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_worker_that_is_suspended_is_told_soon_and_goes_on_when_it_is_continued(play, ear):
    folder = play("seconds = 1\n" + SUSPENDED + 'send("result", result={"id": os.getpid()})')
    process_id = run(folder, ear, notice_s=0.4)["id"]
    notice = (
        f"The worker (process {process_id}) is suspended. Continue it with kill -CONT {process_id}, or stop the run."
    )
    assert [notice in told for told in ear.told] == [False, True, False]
    assert ear.told[2] == "The worker responds again."


def test_a_worker_that_stays_suspended_is_ended_and_the_error_says_why(play, ear):
    with pytest.raises(WorkerError, match=r"was suspended from outside for 0.5 s and was killed. Run it again"):
        run(play("seconds = 10\n" + SUSPENDED), ear, silence_s=0.5)


def test_a_suspended_worker_that_is_cancelled_can_still_tidy_up(play):
    ear = Ear(cancel_on="is suspended")
    tidies = 'sys.stdin.read()\nsend("error", code="cancelled", message="Tidied up.", remedy="")'
    with pytest.raises(Cancelled, match="Tidied up"):
        run(play("seconds = 20\n" + SUSPENDED + tidies), ear, notice_s=0.3)


def test_while_qgis_stands_still_a_silent_worker_is_not_counted_as_dead(play, monkeypatch):
    """As on a machine that was suspended: both stand still, and the worker may be the later to wake."""

    class Sleeper(Ear):
        def isCanceled(self):  # noqa: N802
            if self.told == ["started"]:
                self.told.append("slept")
                time.sleep(1.5)
            return False

    monkeypatch.setattr(client, "MAX_POLL_S", 0.2)
    folder = play('send("log", message="started"); time.sleep(1.8); send("result", result={"fine": True})')
    assert run(folder, Sleeper(), silence_s=1.0) == {"fine": True}


def test_cancel_lets_the_worker_end_by_itself(play):
    ear = Ear(cancel_on="started")
    folder = play("""
send("log", message="started")
sys.stdin.read()
send("log", message="tidied up")
send("error", code="cancelled", message="Stopped.", remedy="")
""")
    with pytest.raises(Cancelled, match="Stopped"):
        run(folder, ear)
    assert "tidied up" in ear.text


def test_a_worker_that_ignores_cancel_is_ended_with_its_children(play):
    ear = Ear(cancel_on=" ")
    folder = play("""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
send("log", message=f"{os.getpid()} {child.pid}")
while True:
    send("heartbeat")
    time.sleep(0.05)
""")
    with pytest.raises(Cancelled):
        run(folder, ear, grace_s=0.5)
    assert all(wait_until_gone(int(number)) for number in ear.told[0].split())


FINISHES = """
send("log", message="started")
sys.stdin.read()
for _ in range(15):
    time.sleep(0.1)
    send("heartbeat")
send("progress", fraction=0.99, message="Writing the report")
send("result", result={"stopped": True})
"""


def test_a_stopped_job_that_keeps_its_best_is_given_the_time_to_write_it(play):
    ear = Ear(cancel_on="started")
    assert run(play(FINISHES), ear, KEEPING, grace_s=0.5) == {"stopped": True}
    assert "writing the best model so far" in ear.text and "Writing the report" in ear.text


@pytest.mark.parametrize("limits", [{"finish_s": 0.7}, {"silence_s": 0.7}])
def test_the_time_to_write_the_best_has_an_end(play, limits):
    beat = 'send("heartbeat")' if "finish_s" in limits else "pass"
    folder = play(f"""
send("log", message="started")
while True:
    {beat}
    time.sleep(0.05)
""")
    with pytest.raises(Cancelled):
        run(folder, Ear(cancel_on="started"), KEEPING, **limits)


def test_a_result_that_a_stopped_job_has_is_its_last_word(play):
    folder = play(FINISHES + 'send("heartbeat")\ntime.sleep(600)')
    assert run(folder, Ear(cancel_on="started"), KEEPING, grace_s=0.5) == {"stopped": True}


def test_a_worker_that_does_not_end_after_its_result_is_ended(play, ear):
    folder = play('send("result", result={"fine": True}); time.sleep(600)')
    assert run(folder, ear, grace_s=0.5) == {"fine": True}


def test_a_child_left_behind_is_gone(play, ear):
    folder = play("""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
send("result", result={"child": child.pid})
sys.stdout.flush()
os._exit(0)
""")
    assert wait_until_gone(run(folder, ear)["child"])


def test_closing_its_outputs_does_not_end_a_worker(play, ear, tmp_path):
    folder = play(f"""
send("result", result={{}})
os.close(1); os.close(2)
time.sleep(0.5)
open({str(tmp_path / "done")!r}, "w").close()
""")
    assert run(folder, ear) == {}
    assert (tmp_path / "done").exists()


def test_two_workers_at_once_do_not_hold_each_others_pipes(play, qgis_app):
    """A worker hears that its input closes, though another was started meanwhile."""
    from qgis.core import QgsApplication, QgsTask

    ears = [Ear(cancel_on="started"), Ear()]
    folders = [
        play(
            'send("log", message="started"); sys.stdin.read(); send("error", code="cancelled", message="", remedy="")'
        ),
        play('time.sleep(1.5); send("result", result={})', folder="other"),
    ]
    ends = {}

    def work(task, number):
        try:
            ends[number] = run(folders[number], ears[number])
        except RoadSegError as error:
            ends[number] = error

    tasks = [QgsTask.fromFunction(f"worker {number}", work, number=number) for number in (1, 0)]
    for task in tasks:
        QgsApplication.taskManager().addTask(task)
    end = time.monotonic() + 20
    while len(ends) < 2 and time.monotonic() < end:
        qgis_app.processEvents()
        time.sleep(0.01)
    assert isinstance(ends[0], Cancelled)
    assert ends[1] == {}
