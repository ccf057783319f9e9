"""The command line with one job more, which plays a part: run this file as `python -m training_core`.

A real worker process, signals, pipes and outputs, without the seconds that loading torch takes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from training_core import worker  # noqa: E402
from training_core.errors import LabelError  # noqa: E402
from training_core.events import Reporter  # noqa: E402
from training_core.jobs import JOBS, RASTER_OUTPUT, RASTERS, Job, option  # noqa: E402
from training_core.system import work  # noqa: E402
from training_core.system.outputs import Outputs  # noqa: E402

PARTS = (
    "chatter", "work", "deaf", "stubborn", "finish", "half", "fail", "refuse", "full", "memory", "leave", "look",
    "flood",
)  # fmt: skip


@dataclass(frozen=True)
class Act(Job):
    """Play a part."""

    name: ClassVar[str] = "act"
    title: ClassVar[str] = "Act"

    part: str = option("chatter", "Part", choices=PARTS).help("What to play.")
    output: str = option("", "Output", kind=RASTER_OUTPUT).help("Where to write.")
    rasters: tuple[str, ...] = option((), "Images", kind=RASTERS).help("What to look at.")
    bands: tuple[int, ...] = option((), "Bands").help("Which bands to look at.")
    keep_best: bool = option(False, "Keep the best").help("Whether to finish when stopped.")


@dataclass(frozen=True)
class Listen(Act):
    """Repeat every line, until the input ends."""

    name: ClassVar[str] = "listen"
    title: ClassVar[str] = "Listen"
    takes_commands: ClassVar[bool] = True

    part: str = option("hear", "Part").help("What to play.")


def run(job: Act, reporter: Reporter) -> dict[str, Any]:
    return globals()[f"play_{job.part}"](job, reporter)


def play_chatter(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Print in every way that a library may."""
    print("printed")
    os.write(1, b"written at the level of C\n")
    ctypes.CDLL(None).puts(b"put by the C library")
    ctypes.CDLL(None).fflush(None)
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    sys.__stdout__.write('{"event": "log", "message": "forged"}\n')
    reporter.progress(0.5, "Straße नेपाल")
    reporter.log("two\nlines")
    time.sleep(0.2)
    images = [{"name": "a.tif"}, {"name": "b [2].tif", "pixel": {"f1": 0.5}}]
    return {"path": os.fsdecode(b"stra\xdfe.tif"), "iou": 0.25, "validation": {"f1": 0.123456789}, "images": images}


def play_work(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Write and write, until told to stop."""
    with Outputs() as outputs:
        staged = outputs.stage(job.output)
        while True:
            with staged.open("a") as file:
                file.write("half")
            reporter.progress(0.5, "Working")
            time.sleep(0.02)
            reporter.check_cancelled()


def play_deaf(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Have written half of an output, and not look at whether to stop."""
    with Outputs() as outputs:
        outputs.stage(job.output).write_text("half")
        reporter.progress(0.5, "Working")
        time.sleep(60)
        return {}


def play_stubborn(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Take longer than the patience lasts for what must not be cut off, and then not look at whether to stop."""
    with work.critical_section():
        reporter.progress(0.5, "Working")
        time.sleep(1.5)
        Path(job.output).write_text("whole")
    time.sleep(60)
    return {}


def play_finish(job: Act, reporter: Reporter) -> dict[str, Any]:
    """When told to stop, take longer than a job that keeps nothing may, and have a result."""
    reporter.progress(0.5, "Working")
    while not reporter.is_cancelled:
        time.sleep(0.02)
    time.sleep(1.5)
    return {"stopped": True}


def play_hear(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Repeat each line, and tell at the end how many there were."""
    count = 0
    reporter.progress(0.5, "Listening")
    while not reporter.lines.is_over:
        line = reporter.lines.get(10)
        if line is not None:
            reporter.log(line.decode())
            count += 1
    time.sleep(1.0)  # as long as it takes to write what is to be kept
    return {"count": count, "is_cancelled": reporter.is_cancelled}


def play_fail(job: Act, reporter: Reporter) -> dict[str, Any]:
    with Outputs() as outputs:
        outputs.stage(job.output).write_text("half")
        raise ZeroDivisionError("nobody foresaw this")


def play_refuse(job: Act, reporter: Reporter) -> dict[str, Any]:
    raise LabelError("The drawn roads (straße.gpkg) have no features.", "Draw some.")


def play_full(job: Act, reporter: Reporter) -> dict[str, Any]:
    raise OSError(errno.ENOSPC, "No space left on device")


def play_memory(job: Act, reporter: Reporter) -> dict[str, Any]:
    raise MemoryError


def play_half(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Do one part, and fail at seven others."""
    failures = [
        {"scene": f"straße {number}.tif", "reason": f"Reason [{number}].", "remedy": "Copy it again."}
        for number in range(1, 8)
    ]
    return {"scenes": 8, "done": 1, "failed": 7, "partial": True, "failures": failures}


def play_leave(job: Act, reporter: Reporter) -> dict[str, Any]:
    sys.exit(0)


def play_flood(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Tell more than a pipe holds."""
    while True:
        reporter.log("x" * 10_000)


def play_look(job: Act, reporter: Reporter) -> dict[str, Any]:
    """Return what the process has loaded, how it is set up, and which values it was given."""
    return {
        "rasters": list(job.rasters),
        "bands": list(job.bands),
        "loaded": [name for name in ("torch", "numpy") if name in sys.modules],
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "leads_group": sys.platform != "win32" and os.getpgid(0) == os.getpid(),
    }


if __name__ == "__main__":
    for each in (Act, Listen):
        JOBS[each.name] = each
        sys.modules[f"training_core.pipelines.{each.name}"] = sys.modules["__main__"]
    worker.HEARTBEAT_S = 0.05
    worker.PATIENCE_S, worker.GRACE_S = 0.5, 10.0
    from training_core.cli import run_command_line

    run_command_line()
