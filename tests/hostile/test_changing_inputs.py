"""Inputs that are cut off, overwritten or deleted while a job reads them."""

from __future__ import annotations

import os
import random
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.cases import ENDING_JOBS
from tests.hostile.good_inputs import Goods
from tests.hostile.outcome import check_error, check_result, job_document, run
from tests.hostile.references import inputs_of

pytestmark = pytest.mark.slow
SEED = 20260702


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(random.Random(SEED).randbytes(path.stat().st_size))


def delete(path: Path) -> None:
    path.unlink()


CHANGES = {"cut off": cut_off, "overwritten": overwrite, "deleted": delete}


@dataclass(frozen=True)
class Change:
    """A job, one of its inputs, what becomes of it, and at which share of the job's time."""

    name: str
    job: str
    field: str
    change: str
    moment: float


def _changes() -> list[Change]:
    chance = random.Random(SEED)
    found = []
    for job in ENDING_JOBS:
        for field in inputs_of(job):
            for change in CHANGES:
                moment = chance.uniform(0, 1)
                found.append(Change(f"{job}, {field} {change} at {moment:.3f}", job, field, change, moment))
    return found


CASES = {"changing inputs": _changes()}


def test_the_job_gives_a_result_that_reads_or_says_what_is_wrong(case, references, goods: Goods, server, tmp_path):
    for name in ("job", "out"):
        (tmp_path / name).mkdir()
    shutil.copytree(goods.folder, tmp_path / "in")
    options = with_inputs_in(tmp_path / "in", goods, goods.options(case.job, tmp_path / "out"))
    value = options[case.field]
    victim = Path(value[0] if isinstance(value, list) else value)
    seconds = case.moment * references.of(case.job).seconds
    timer = threading.Timer(seconds, CHANGES[case.change], [victim])
    timer.start()
    outcome = run(server, tmp_path / "job", job_document(case.job, options), cpu_s=120, wall_s=480)
    timer.join()
    if outcome.is_done:
        check_result(case.job, options, outcome.last.result)
    else:
        check_error(outcome.last, (), outcome.log)
        assert os.listdir(tmp_path / "out") == []


def with_inputs_in(folder: Path, goods: Goods, options: dict[str, Any]) -> dict[str, Any]:
    """Return options in which inputs lie in another folder."""

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(each) for each in value]
        is_input = isinstance(value, str) and value.startswith(goods.folder)
        return str(folder / Path(value).name) if is_input else value

    return {name: moved(value) for name, value in options.items()}
