"""Fork server: a process that has loaded all that jobs need, and forks a child for each job file.

A job by the command line spends seconds in imports; a child of this one begins at once. It does what `python -m
training_core run JOB_FILE` does, in an empty working directory, within limits of address space and processor time.
Linux only. Run as a program, it serves; `ForkServer` is its client.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_POLL_S = 0.005
# What jobs import where they need it. OpenVINO begins a thread as it is loaded, and so a child loads it itself.
_LOADED_LATE = ("matplotlib.figure", "onnx", "segmentation_models_pytorch", "sklearn", "timm")


@dataclass(frozen=True)
class Order:
    folder: str  # empty; `events`, `log` and the working directory `cwd` are made in it
    job_file: str
    cpu_s: float = 20.0  # what exceeds this or the next is killed
    wall_s: float = 60.0
    memory_bytes: int = 4 << 30  # address space beyond that of the loaded libraries
    limits: dict[str, int] = field(default_factory=dict)  # by the names of `resource.RLIMIT_*`, such as FSIZE
    variables: dict[str, str] = field(default_factory=dict)  # of the environment
    # Seconds after the start, and what is sent then: names of signals, or CLOSE for closing standard input.
    signals: list[tuple[float, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Ended:
    """How a job ended: its exit status, negative for a signal, its seconds, and whether it took too long."""

    status: int
    seconds: float
    too_long: bool


class ForkServer:
    """The server's client; a context manager."""

    def __enter__(self) -> "ForkServer":
        as_users_have_it = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [sys.executable, __file__], cwd=ROOT, env=as_users_have_it, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(10)

    def run(self, order: Order) -> Ended:
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))


def serve() -> None:
    """Load everything, then run each order that comes in on standard input."""
    sys.path.insert(0, str(ROOT))
    from training_core.system.processor import prepare_process

    prepare_process(threads=1)
    gc.disable()  # a collection in a child would copy the server's memory; `execute` freezes all modules first
    from training_core.jobs import JOBS

    for name in JOBS:
        importlib.import_module(f"training_core.pipelines.{name}")
    for name in _LOADED_LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    from training_core.learning import checkpoint

    checkpoint.INTERVAL_S = 0.6  # so that trainings of seconds write some
    # A child has none of the other threads, and waits forever for what they hold.
    assert len(os.listdir("/proc/self/task")) == 1, "a loaded library has threads"
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        answers.write(json.dumps(asdict(_run(Order(**json.loads(line))))) + "\n")
        answers.flush()


def _run(order: Order) -> Ended:
    Path(order.folder, "cwd").mkdir()
    stdin, hold = os.pipe()
    sys.stdout.flush()
    began_s = time.monotonic()
    child = os.fork()
    if not child:
        os.close(hold)
        _become_worker(order, stdin)
    os.close(stdin)
    to_send = sorted(map(tuple, order.signals))
    too_long = False
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        seconds = time.monotonic() - began_s
        while to_send and to_send[0][0] <= seconds:
            hold = _send(to_send.pop(0)[1], child, hold)
        if seconds > order.wall_s and not too_long:
            too_long = True
            os.kill(child, signal.SIGKILL)
        time.sleep(_POLL_S)
    if hold >= 0:
        os.close(hold)
    status = os.waitstatus_to_exitcode(ended[1])
    too_long |= status == -signal.SIGXCPU
    return Ended(status, time.monotonic() - began_s, too_long)


def _send(what: str, child: int, hold: int) -> int:
    """Send a signal, or close the child's standard input; return the descriptor that holds it, or -1."""
    if what == "CLOSE":
        os.close(hold)
        return -1
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.Signals[what])
    return hold


def _become_worker(order: Order, stdin: int) -> Any:
    from training_core import cli

    try:
        for target, name in ((1, "events"), (2, "log")):
            file = os.open(Path(order.folder, name), os.O_WRONLY | os.O_CREAT)
            os.dup2(file, target)
            os.close(file)
        os.dup2(stdin, 0)
        os.close(stdin)
        os.chdir(Path(order.folder, "cwd"))
        os.environ.update(order.variables)
        tempfile.tempdir = None  # so that Python looks for it again
        used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limits = {"AS": used_bytes + order.memory_bytes, "CPU": round(order.cpu_s), "CORE": 0, **order.limits}
        if "FSIZE" in limits:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails as on a full disk
        for name, limit in limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
        cli.main(["run", order.job_file])
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(70)  # no job may end by leaving an exception to the interpreter


if __name__ == "__main__":
    serve()
