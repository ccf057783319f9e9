"""Child processes: output read line by line, exit status, and killing of the whole process group.

Scope: QProcess, pipes, signals. Independent of programs. Works in a thread without an event loop.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Optional

from qgis.PyQt.QtCore import QProcess, QProcessEnvironment

from ...training_core.errors import Cancelled, RuntimeEnvironmentError

POLL_MS = 100
LAST_LINES = 20
MAX_LINE = 1 << 20
POSIX = os.name == "posix"
SYSTEM_ENCODING = "utf-8" if POSIX else "mbcs"  # Windows' code page, in which pip and the launcher name paths

# Prologue of a Python that is to end with all of its children: it leads a process group, which kill() reaches, and
# kills the group when its parent has gone.
_LEAD = """
import os, runpy, sys, threading, time

def watch(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, 9)

if hasattr(os, "setpgid"):
    os.setpgid(0, 0)
    threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
"""
# Runs a module as `python -m` does, or a program; either with its arguments.
RUN_MODULE = f"{_LEAD}\nrunpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
RUN_PROGRAM = f"{_LEAD}\nsys.exit(os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:]))"
# Prefixes of the variables that QGIS sets for its own Python, libraries and data; in another Python they load the wrong
# ones. Those for the internet stay: proxies, certificates (SSL_*), pip's settings (PIP_*).
_FOREIGN = (
    "PYTHON", "__PYVENV", "VIRTUAL_ENV", "CONDA_",
    "PROJ_", "GDAL_", "OGR_", "GEOTIFF_",
    "LD_", "DYLD_",
    "QT_", "QML", "QGIS", "OSGEO4W", "O4W_", "GISBASE", "GISRC",
)  # fmt: skip


class LineReader:
    """Splits a stream of bytes into lines, however the bytes are chunked; beyond `longest` bytes, a line is cut."""

    def __init__(self, longest: int = MAX_LINE) -> None:
        self._longest = longest
        self._begun = b""

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that these bytes complete, decoded as UTF-8, or else as the system's programs write."""
        first, *others = data.split(b"\n")
        if not others:
            self._begun += first[: self._longest - len(self._begun)]
            return []
        *whole, begun = others
        lines = [self._begun + first, *whole]
        self._begun = begun[: self._longest]
        return [self._text(line) for line in lines]

    def rest(self) -> list[str]:
        """Return the unterminated last line, if any."""
        line, self._begun = self._begun, b""
        return [self._text(line)] if line else []

    def _text(self, line: bytes) -> str:
        line = line[: self._longest]
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = line.decode(SYSTEM_ENCODING, errors="replace")
        return text.rstrip("\r")


class Lines(NamedTuple):
    """Lines of standard output and standard error."""

    out: list[str]
    err: list[str]


@dataclass(frozen=True)
class Ending:
    """How a process ended: its exit status, or the number of the signal that ended it."""

    code: int
    by_signal: bool


class ChildProcess:
    """A process with a cleaned environment; leaving the context ends it and its children.

    A Python that does not lead its own process group by itself runs RUN_MODULE. The environment variables are QGIS',
    with `variables` added or in their place. Raises RuntimeEnvironmentError if the program cannot be started.
    """

    def __init__(
        self,
        program: "str | Path",
        arguments: Sequence[str],
        folder: Optional[Path] = None,
        variables: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._readers = (LineReader(), LineReader())
        self._process = QProcess()
        environment = QProcessEnvironment()
        for name, value in {**cleaned(os.environ), **(variables or {})}.items():
            environment.insert(name, value)
        self._process.setProcessEnvironment(environment)
        if folder is not None:
            self._process.setWorkingDirectory(str(folder))
        self._process.start(str(program), list(arguments))
        if not self._process.waitForStarted(-1):
            raise RuntimeEnvironmentError(
                f"{program} cannot be started ({self._process.errorString()}).",
                "Run Set up runtime, or check the path.",
            )
        self.id = int(self._process.processId())

    def __enter__(self) -> "ChildProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def is_running(self) -> bool:
        """Whether the process was running when it was last polled."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    @property
    def is_suspended(self) -> bool:
        """Whether a signal or a debugger has suspended the process; False where the system has no /proc."""
        try:
            state = Path(f"/proc/{self.id}/stat").read_bytes().rpartition(b") ")[2][:1]
        except OSError:
            return False
        return state in (b"T", b"t")

    @property
    def ending(self) -> Ending:
        """How the process ended; on Windows a crash has a status, never a signal."""
        crashed = self._process.exitStatus() == QProcess.ExitStatus.CrashExit
        return Ending(self._process.exitCode(), crashed and POSIX)

    def poll(self) -> Lines:
        """Wait for output for at most POLL_MS, and return its lines."""
        before = time.monotonic()
        has_output = self._process.waitForReadyRead(POLL_MS)
        if not has_output and self.is_running and time.monotonic() - before < POLL_MS / 2000:
            self._process.waitForFinished(POLL_MS)  # its output is closed, so waitForReadyRead does not wait
        return self.take()

    def take(self) -> Lines:
        """Return the lines of output that have come, without waiting; in an event loop, see `call_on_output`."""
        lines = Lines(
            self._readers[0].feed(bytes(self._process.readAllStandardOutput())),
            self._readers[1].feed(bytes(self._process.readAllStandardError())),
        )
        if self.is_running:
            return lines
        return Lines(lines.out + self._readers[0].rest(), lines.err + self._readers[1].rest())

    def call_on_output(self, act: Callable[[], None]) -> None:
        """Have a function called by the event loop of this thread whenever there is output, and at the end."""
        self._process.readyReadStandardOutput.connect(act)
        self._process.readyReadStandardError.connect(act)
        self._process.finished.connect(lambda *_: act())

    def write_line(self, text: str) -> None:
        """Write a line to the process's standard input, which the event loop does later; nothing once it has ended."""
        if self.is_running:
            self._process.write(f"{text}\n".encode())

    def close_input(self) -> None:
        """Close the process's standard input."""
        self._process.closeWriteChannel()

    def resume(self) -> None:
        """Continue the process and its children if they are suspended; on Windows nothing."""
        if POSIX:
            _signal_group(self.id, signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process with its children; on POSIX the whole process group, orphans included."""
        if POSIX:
            _signal_group(self.id, signal.SIGKILL)
        elif self.is_running:
            QProcess.execute("taskkill", ["/F", "/T", "/PID", str(self.id)])
        if self.is_running:
            self._process.kill()
            self._process.waitForFinished(-1)

    def begin_kill(self) -> None:
        """Kill the process with its children, without waiting for its end."""
        if POSIX:
            _signal_group(self.id, signal.SIGKILL)
        elif self.is_running:
            QProcess.startDetached("taskkill", ["/F", "/T", "/PID", str(self.id)])


def _signal_group(leader: int, number: signal.Signals) -> None:
    # A process group keeps its leader's id as long as it has members, and no new process gets that id. Where the
    # process leads no group, none is found.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def run_to_end(
    program: "str | Path",
    arguments: Sequence[str],
    on_line: Callable[[str], None] = lambda line: None,
    is_cancelled: Callable[[], bool] = lambda: False,
    variables: Optional[Mapping[str, str]] = None,
) -> str:
    """Run a program to its end, with these environment variables added, and return its standard output.

    Raises Cancelled if the user stopped it; it and its children are killed. Raises RuntimeEnvironmentError if it cannot
    be started or has failed; the message ends in its last lines.
    """
    out: list[str] = []
    last_lines: deque[str] = deque(maxlen=LAST_LINES)
    with ChildProcess(program, arguments, variables=variables) as process:
        process.close_input()
        running = True
        while running:
            running = process.is_running  # asked before the poll, so that the last lines are read too
            lines = process.poll()
            out += lines.out
            for line in lines.out + lines.err:
                last_lines.append(line)
                on_line(line)
            if is_cancelled():
                raise Cancelled()
        ending = process.ending
    if ending.code or ending.by_signal:
        how = f"was killed by signal {ending.code}" if ending.by_signal else f"failed with status {ending.code}"
        raise RuntimeEnvironmentError(f"{program} {how}:\n" + "\n".join(last_lines))
    return "\n".join(out)


def cleaned(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables without those that belong to QGIS and its Python."""
    return {name: value for name, value in variables.items() if not name.upper().startswith(_FOREIGN)}
