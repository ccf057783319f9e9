"""One worker of a session: started, sent commands, heard and ended by the event loop, which it never blocks.

Scope: the QGIS side of the contract of jobs that take commands. Independent of layers and widgets.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Optional, Union

from qgis.PyQt.QtCore import QObject, QTimer, pyqtSignal

from ...training_core import events
from ...training_core.errors import RoadSegError
from ...training_core.jobs import Job
from ..paths import ROOT
from ..runtime.client import FINISH_S, NOTICE_S, SILENCE_S, TEMPORARY, WORKER
from ..runtime.locks import in_use
from ..runtime.process import LAST_LINES, ChildProcess
from ..runtime.run_log import RunLog
from ..runtime.supervision import RunningClock, outcome, silence_error, silence_notice
from ..translation import tr

TICK_MS = 500
# A longer gap between two ticks means that this process was suspended; after the second limit the user is told.
MAX_TICK_S, SLEEP_S = 2.0, 60.0
# A worker is at its end soon after its last event.
GRACE_S = 15.0
# As QGIS closes, the window is gone and nobody waits: a step is ended and the checkpoint written in less.
CLOSING_S = 20.0

_JOB_FILE, _TEMPORARY_FOLDER = "job.json", "temporary"


class SessionClient(QObject):
    """A worker that does a job that takes commands, until it is stopped or dies.

    Its environment variables are QGIS', with `variables` added or in their place. Raises RuntimeEnvironmentError if the
    worker cannot be started. Raises OSError if the folder cannot be written.

    Signals
    -------
    received(object)
        An event of the worker's, but for the last one.
    noted(str)
        A message about the worker itself; empty once it no longer holds.
    ended(object)
        It has ended: its result, or a RoadSegError.
    """

    received = pyqtSignal(object)
    noted = pyqtSignal(str)
    ended = pyqtSignal(object)

    def __init__(
        self,
        python: Union[str, Path],
        job: Job,
        folder: Path,
        variables: Mapping[str, str],
        silence_s: float = SILENCE_S,
        notice_s: float = NOTICE_S,
    ) -> None:
        super().__init__()
        self.folder, self._silence_s, self._notice_s = folder, silence_s, notice_s
        self._temporary = folder / _TEMPORARY_FOLDER
        self._temporary.mkdir(exist_ok=True)
        (folder / _JOB_FILE).write_text(job.to_json(), encoding="utf-8")
        self._last: Union[events.Result, events.Error, RoadSegError, None] = None
        self._last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self._sequence = 0
        self._has_noted = self._is_over = False
        self._stopped_s: Optional[float] = None
        self._clock, self._heard_s = RunningClock(MAX_TICK_S), 0.0
        own = {**variables, **dict.fromkeys(TEMPORARY, str(self._temporary))}
        with ExitStack() as stack:
            stack.enter_context(in_use(Path(python)))
            self._log = stack.enter_context(RunLog(f"{job.name} {job.to_json()}"))
            self._process = ChildProcess(python, [*WORKER, str(folder / _JOB_FILE)], ROOT, own)
            self._held = stack.pop_all()
        self.process_id = self._process.id
        self._process.call_on_output(self._hear)
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    @property
    def seconds(self) -> float:
        """Seconds since the start, but for those in which this process stood still."""
        return self._clock.now_s

    @property
    def is_running(self) -> bool:
        """Whether the worker takes commands: it has neither ended nor been asked to."""
        return self._process.is_running and self._stopped_s is None

    def send(self, command: str, **values: Any) -> None:
        """Send a command."""
        self._process.write_line(json.dumps({"command": command, **values}))

    def send_numbered(self, command: str, **values: Any) -> int:
        """Send a command that is answered by its number, and return the number."""
        self._sequence += 1
        self.send(command, sequence=self._sequence, **values)
        return self._sequence

    def flush(self) -> None:
        """Send what waits to be sent; here nothing does."""

    def stop(self) -> None:
        """Ask the worker to write what it keeps and exit, and go on without waiting for it."""
        if self._stopped_s is None:
            self._stopped_s = self._clock.now_s
            self._process.resume()  # one that is suspended could not react
            self.flush()
            self.send("stop")

    def kill(self) -> None:
        """Kill the worker, which does not stop, without waiting for its end."""
        self._process.begin_kill()

    def close(self) -> None:
        """Stop the worker and wait for its end, killing it if it takes long: QGIS closes, or the plugin is unloaded."""
        self.blockSignals(True)
        self.stop()
        self._timer.stop()
        self._process.close_input()
        waited = RunningClock(MAX_TICK_S)
        while self._process.is_running and waited.now_s < CLOSING_S:
            self._process.poll()
            waited.advance()
        self._process.kill()
        self._clean_up()

    def _tick(self) -> None:
        passed_s = self._clock.advance()
        if passed_s > SLEEP_S:
            text = tr("This computer was suspended for {minutes} min. The session continues.")
            self.noted.emit(text.format(minutes=round(passed_s / 60)))
        silent_s = self._clock.now_s - self._heard_s
        patience_s = GRACE_S if self._last is not None else FINISH_S
        if self._stopped_s is not None and self._clock.now_s - self._stopped_s > patience_s:
            self._process.begin_kill()
        elif silent_s > self._silence_s:
            self._last = self._last or silence_error(self._process, self._silence_s)
            self._process.begin_kill()
        elif silent_s > self._notice_s and not self._has_noted and self._last is None:
            self._has_noted = True
            self.noted.emit(silence_notice(self._process, self._notice_s))
        self._hear()

    def _hear(self) -> None:
        """Read the worker's output, and notice its end."""
        was_running = self._process.is_running
        lines = self._process.take()
        for line in lines.err:
            self._last_lines.append(line)
            self._log.write(line)
        for line in lines.out:
            self._decode(line)
        if not was_running and not self._is_over:
            self._end()

    def _decode(self, line: str) -> None:
        event = events.decode(line)
        if event is None or self._last is not None:  # the last event is followed by none
            return
        self._heard_s = self._clock.now_s
        if self._has_noted:
            self._has_noted = False
            self.noted.emit("")
        if isinstance(event, (events.Result, events.Error)):
            self._last = event
            self._stopped_s = self._clock.now_s  # from here on it has the grace of one that exits
            self._process.close_input()
        else:
            if isinstance(event, (events.Log, events.Warning)):
                self._log.write(event.message)
            self.received.emit(event)

    def _end(self) -> None:
        self._is_over = True
        self._timer.stop()
        ending = self._process.ending
        self._process.begin_kill()  # which reaches children that it may have left
        last, is_stopped = self._last, self._stopped_s is not None
        end = last if isinstance(last, RoadSegError) else outcome(last, ending, self._last_lines, is_stopped)
        self._log.write(f"Error: {end}" if isinstance(end, RoadSegError) else "Done.")
        self._clean_up()
        self.ended.emit(end)

    def _clean_up(self) -> None:
        self._held.close()
        shutil.rmtree(self._temporary, ignore_errors=True)
