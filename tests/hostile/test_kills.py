"""Jobs that are ended at random moments, in any way: no file is half-written, and the same job goes well afterwards."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hostile.cases import ENDING_JOBS
from tests.hostile.fork_server import ForkServer, Order
from tests.hostile.good_inputs import Goods
from tests.hostile.outcome import claimed, job_document, run
from tests.hostile.references import Reference, assert_same

pytestmark = pytest.mark.slow
SEED = 20260701
CHECKPOINT = "model.safetensors.checkpoint"
_ROUNDS = 40
# A training that takes some seconds; the server writes its checkpoints one after the other.
_LONG = {"steps": 12}


@dataclass(frozen=True)
class Round:
    """A job, and what is done to it at which share of the time that it takes.

    That is signals, or CLOSE for closing standard input; the second, if there is one, follows after half a second.
    """

    name: str
    job: str
    what: tuple[str, ...]
    moment: float


def _rounds(count: int, *what: str) -> list[Round]:
    """Return rounds of all jobs in turn, at random moments; the same ones each time."""
    chance = random.Random(f"{SEED} {what}")
    jobs = [ENDING_JOBS[number % len(ENDING_JOBS)] for number in range(count)]
    moments = [chance.uniform(0, 1.1) for _ in jobs]
    return [Round(f"{job}, {' '.join(what)} at {moment:.3f}", job, what, moment) for job, moment in zip(jobs, moments)]


CASES = {
    "kills": _rounds(_ROUNDS, "SIGKILL"),
    "stops": [
        each
        for what in (("SIGTERM",), ("SIGINT",), ("SIGHUP",), ("CLOSE",), ("SIGSTOP", "SIGCONT"))
        for each in _rounds(len(ENDING_JOBS), *what)
    ],
}


def changes_of(job: str) -> dict:
    return _LONG if job == "finetune" else {}


def test_what_an_ended_job_leaves_is_no_result_and_the_same_job_goes_well(
    case, references, goods: Goods, server, tmp_path
):
    reference = references.of(case.job, **changes_of(case.job))
    out = tmp_path / "out"
    out.mkdir()
    options = goods.options(case.job, out) | changes_of(case.job)
    begin_s = case.moment * reference.seconds
    signals = [(begin_s + 0.5 * number, what) for number, what in enumerate(case.what)]
    (tmp_path / "job.json").write_text(job_document(case.job, options))
    (tmp_path / "ended").mkdir()
    ended = server.run(
        Order(str(tmp_path / "ended"), str(tmp_path / "job.json"), cpu_s=120, wall_s=480, signals=signals)
    )
    events = tmp_path / "ended" / "events"
    lines = events.read_text(encoding="utf-8") if events.exists() else ""  # it ended before it began
    assert not ended.too_long and '"unexpected"' not in lines, lines
    if ended.status:
        check_no_results(case.job, options)
    if ended.status > 0 and lines:
        assert '"cancelled"' in lines, lines
        assert {path.name for path in out.iterdir()} <= {CHECKPOINT}
    run_again(case.job, options, server, tmp_path / "again", reference)


def run_again(job: str, options: dict, server: ForkServer, folder: Path, reference: Reference) -> None:
    """Run a job again, from its checkpoint if there is one, and check that it ends as if nothing had happened."""
    folder.mkdir()
    out = Path(claimed(job, options)[0]).parent
    for whole in filter(Path.is_dir, map(Path, claimed(job, options))):  # it was done before, and is never replaced
        shutil.rmtree(whole)
    resumed = {"resume": True} if (out / CHECKPOINT).exists() else {}
    outcome = run(server, folder, job_document(job, options | resumed), cpu_s=120, wall_s=480)
    assert outcome.is_done, outcome
    assert_same(job, options, outcome.last.result, reference)
    assert {path.name for path in out.iterdir()} == set(reference.outputs), "the folder is not clean"


def check_no_results(job: str, options: dict) -> None:
    """Check that a killed job has put all of its outputs in place, or, as is usual, none."""
    there = [path for path in claimed(job, options) if os.path.exists(path)]
    assert there in ([], claimed(job, options)), there


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_training_that_is_killed_while_it_writes_a_checkpoint_goes_on(
    references, goods: Goods, server, tmp_path, number
):
    """Killed within the first checkpoint there is nothing to resume from; within a later one, there is the former."""
    reference = references.of("finetune", **changes_of("finetune"))
    out = tmp_path / "out"
    for folder in (out, tmp_path / "ended"):
        folder.mkdir()
    options = goods.options("finetune", out) | changes_of("finetune")
    (tmp_path / "job.json").write_text(job_document("finetune", options))
    killed = []
    killer = threading.Thread(target=lambda: killed.extend(kill_while_writing(out, number)))
    killer.start()
    order = Order(str(tmp_path / "ended"), str(tmp_path / "job.json"), cpu_s=120, wall_s=480)
    ended = server.run(order)
    killer.join()
    assert ended.status == -signal.SIGKILL and killed, "it was done before"
    check_no_results("finetune", options)
    assert (out / CHECKPOINT).exists() == (number > 1)
    assert any(path.name.startswith(".roadseg-") for path in out.iterdir()), "it was killed too late"
    run_again("finetune", options, server, tmp_path / "again", reference)


def kill_while_writing(out: Path, number: int) -> list[str]:
    """Kill the process that writes a training's checkpoint, at its first, second or later one; return its folder."""
    seen: list[str] = []
    deadline_s = time.monotonic() + 300
    while time.monotonic() < deadline_s:
        with contextlib.suppress(FileNotFoundError):  # it is there for a moment
            for folder in out.glob(".roadseg-*"):
                is_writing = any(path.stat().st_size for path in folder.iterdir() if path.name.startswith(".tmp"))
                if is_writing and folder.name not in seen:
                    seen.append(folder.name)
                    if len(seen) == number:
                        os.kill(int(folder.name.split("-")[1]), signal.SIGKILL)
                        return seen
    return []


@pytest.mark.parametrize("job", ["cleannetwork", "segment", "exportnetwork"])
def test_two_same_jobs_at_once_both_go_well(references, goods: Goods, server, tmp_path, job):
    reference = references.of(job)
    (tmp_path / "out").mkdir()
    options, outcomes = goods.options(job, tmp_path / "out"), []

    def begin(each: ForkServer, name: str) -> None:
        (tmp_path / name).mkdir()
        outcomes.append(run(each, tmp_path / name, job_document(job, options), cpu_s=120, wall_s=480))

    with ForkServer() as other:
        threads = [threading.Thread(target=begin, args=pair) for pair in ((server, "one"), (other, "two"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [outcome.is_done for outcome in outcomes] == [True, True], outcomes
    assert_same(job, options, outcomes[0].last.result, reference)
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(reference.outputs)
