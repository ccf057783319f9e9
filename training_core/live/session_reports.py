"""Reports of a session: predictions as rasters, its state, and warnings, none of them more often than a person needs.

Scope: files of predictions, and events. Independent of what the session does next.
"""

from __future__ import annotations

import time
from pathlib import Path

from affine import Affine

from .. import events
from ..errors import OutputError
from ..events import Reporter
from ..geodata.grid import Grid
from .session_files import PredictionFiles
from .view import View

# The state is reported at least this long after the last report, unless the session does something else.
STATE_S = 1.0
# A warning is not repeated within this time.
QUIET_S = 30.0


class SessionReports:
    """Reports to the panel; `published_s` is the `time.perf_counter` of the last prediction."""

    def __init__(self, folder: Path, reporter: Reporter) -> None:
        self._folder, self._reporter = folder, reporter
        self._predictions = PredictionFiles(folder)
        self._state: events.State | None = None
        self._warned_s: dict[str, float] = {}
        self._state_s = self.published_s = 0.0

    def publish(self, view: View, grid: Grid, step: int, show: str) -> None:
        """Write the view as a raster, and report it as the prediction of the model after a step."""
        values, ground = view.values, grid.window(*view.canvas)
        if view.is_coarse:
            # All pixels of a coarse square are equal, so one of each is enough.
            values = values[:: view.factor, :: view.factor]
            scale = Affine.scale(view.factor)
            ground = Grid(ground.crs, ground.transform @ scale, values.shape[1], values.shape[0])
        try:
            path = self._predictions.write(values, ground, show)
        except (OSError, OutputError) as error:
            self.warn(f"The prediction cannot be written to {self._folder} ({error}); the session goes on.")
            return
        self.published_s = time.perf_counter()
        self._reporter.pass_on(
            events.Prediction(
                str(path), list(ground.outline.bounds), step, round(view.fraction, 3),
                round(ground.resolution_m, 4), show, round(self.published_s - view.changed_s, 3),
            )
        )  # fmt: skip

    def report_state(self, state: events.State) -> None:
        """Report a new kind of activity at once, and other changes of the state after a while."""
        now_s = time.perf_counter()
        is_new = self._state is None or state.state != self._state.state
        if state != self._state and (is_new or now_s - self._state_s >= STATE_S):
            self._state, self._state_s = state, now_s
            self._reporter.pass_on(state)

    def warn(self, message: str) -> None:
        """Report a warning, unless the same one came a short while ago."""
        now_s = time.perf_counter()
        if now_s - self._warned_s.get(message, -QUIET_S) >= QUIET_S:
            self._warned_s[message] = now_s
            self._reporter.warning(message)
