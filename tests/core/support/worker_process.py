"""Worker processes: their standard input to write to and to close, and their events as they come."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from training_core import events
from training_core.jobs import Job, Live

ROOT = Path(__file__).parents[3]


def job_file(folder: Path, job: Job) -> Path:
    path = folder / "job.json"
    path.write_text(job.to_json(), encoding="utf-8")
    return path


class WorkerProcess:
    """A worker under way."""

    def __init__(self, *arguments: object, script: tuple[str, ...] = ("-m", "training_core"), **options: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *script, *map(str, arguments)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip
        self.lines: list[str] = []
        self.told: list[events.Event | None] = []
        self.came_s: list[float] = []
        self._errors: list[bytes] = []
        self._coming: queue.Queue[events.Event | None] = queue.Queue()
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_out, self._read_err)]
        for reader in self._readers:
            reader.start()

    def _read_out(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.decode("utf-8"))
            self.told.append(events.decode(self.lines[-1]))
            self.came_s.append(time.monotonic())
            self._coming.put(self.told[-1])
        self._coming.put(None)

    def _read_err(self) -> None:
        self._errors.extend(self.process.stderr)

    def wait_for(self, kind: type, timeout_s: float = 120, **values: Any) -> Any:
        """Return the next event of a kind with such values."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                event = self._coming.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {kind.kind} {values} in {timeout_s} s: {self.told[-5:]}") from None
            assert event is not None, f"the worker ended before it told {kind.kind}: {self.told[-5:]} {self.errors}"
            assert kind is events.Error or not isinstance(event, events.Error), event
            if isinstance(event, kind) and all(getattr(event, name) == value for name, value in values.items()):
                return event

    def all_of(self, kind: type) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]

    def close_input(self) -> None:
        self.process.stdin.close()

    def end(self, timeout_s: float = 60) -> tuple[int, list[events.Event]]:
        """Wait for the end; return the exit status and the events."""
        try:
            status = self.process.wait(timeout_s)
        finally:
            self.process.kill()
            for reader in self._readers:
                reader.join()
            if not self.process.stdin.closed:
                self.process.stdin.close()
        assert None not in self.told, self.lines
        assert not any(isinstance(event, (events.Result, events.Error)) for event in self.told[:-1])
        return status, self.told

    @property
    def errors(self) -> str:
        return b"".join(self._errors).decode("utf-8", "replace")


class LiveWorker(WorkerProcess):
    """A live session under way. A context manager, which kills what is left of it."""

    def __init__(self, job: Live, folder: Path) -> None:
        super().__init__("run", job_file(folder, job))
        self._sequence = 0

    def __enter__(self) -> LiveWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def send(self, command: str, **members: Any) -> None:
        self.write(json.dumps({"command": command, **members}))

    def write(self, line: str | bytes) -> None:
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        self.process.stdin.flush()

    def draw(self, **shapes: Any) -> int:
        """Send drawn features by their ids, as (layer, shape) or None to erase (layer, None); return the sequence."""
        self._sequence += 1
        changes = [
            {"layer": layer, "id": name, "geometry": None if shape is None else shape.wkt}
            for name, (layer, shape) in shapes.items()
        ]
        self.send("labels", sequence=self._sequence, changes=changes)
        return self._sequence
