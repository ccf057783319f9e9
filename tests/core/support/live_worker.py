"""A worker process of the job live: its commands as lines of standard input, and its events as they come."""

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
from training_core.jobs import Live

ROOT = Path(__file__).parents[3]


class LiveWorker:
    """A session under way. A context manager, which kills what is left of it."""

    def __init__(self, job: Live, folder: Path) -> None:
        path = folder / "job.json"
        path.write_text(job.to_json(), encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "training_core", "run", str(path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "errors.txt").open("wb"),
        )
        self.told: list[events.Event] = []
        self.came_s: list[float] = []
        self._coming: queue.Queue[events.Event | None] = queue.Queue()
        self._errors = folder / "errors.txt"
        self._sequence = 0
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> LiveWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        for line in self.process.stdout:
            event = events.decode(line.decode("utf-8"))
            self.told.append(event)
            self.came_s.append(time.monotonic())
            self._coming.put(event)
        self._coming.put(None)

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

    def end(self, timeout_s: float = 60) -> int:
        return self.process.wait(timeout_s)

    @property
    def errors(self) -> str:
        return self._errors.read_text(encoding="utf-8", errors="replace")[-3000:]
