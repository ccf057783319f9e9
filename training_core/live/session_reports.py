"""Reports of a session: predictions as rasters, its state, and warnings, none of them more often than a person needs.

Scope: files of predictions (prediction-NNNNNN.tif, never changed, each with a new number), and events. Independent of
what the session does next.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import deque
from pathlib import Path

import numpy as np
import rasterio
from affine import Affine

from .. import events
from ..errors import OutputError
from ..events import Reporter
from ..geodata.geotiff import check_geotiff, named_errors
from ..geodata.grid import Grid
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..labels.label_suggestions import entropy
from ..segmentation.image_grid import covering_window, resampled
from ..system.outputs import replaced
from .commands import UNCERTAINTY
from .image_windows import ImageWindows
from .map_prediction import MAX_PX, MapPrediction

# The state is reported at least this long after the last report, unless the session does something else.
STATE_S = 1.0
# A warning is not repeated within this time.
QUIET_S = 30.0
# A raster stays until there are this number of newer ones, since a map may still be reading it.
NEWER = 3
_TILE_PX = 256
_PREDICTION = re.compile(r"prediction-(\d{6,})\.tif")
# Uncertainty for each byte of probability.
_UNCERTAINTY = np.append(
    np.rint(entropy(np.arange(CERTAIN + 1) / CERTAIN) * CERTAIN), NO_DATA
).astype(np.uint8)  # fmt: skip


class SessionReports:
    """Reports to the panel; `published_s` is the `time.perf_counter` of the last prediction."""

    def __init__(self, folder: Path, reporter: Reporter) -> None:
        self._folder, self._reporter = folder, reporter
        self._state: events.State | None = None
        self._warned_s: dict[str, float] = {}
        self._state_s = self.published_s = 0.0
        # Rasters of an earlier session go, and their numbers go on.
        self._number, self._written = 0, deque[Path]()
        for path in folder.glob("prediction-*.tif"):
            if _PREDICTION.fullmatch(path.name):
                self._number = max(self._number, int(path.stem.partition("-")[2]))
                with contextlib.suppress(OSError):
                    path.unlink()

    def publish(self, view: MapPrediction, windows: ImageWindows, step: int, show: str) -> None:
        """Write the view as a raster, and report it as the prediction of the model after a step.

        It has the pixels of the image, unless it shows too many of them.
        """
        values, ground = view.values, windows.grid.window(*view.window)
        if view.is_coarse:
            # All pixels of a coarse square are equal, so one of each is enough.
            values = values[:: view.factor, :: view.factor]
            scale = Affine.scale(view.factor)
            ground = Grid(ground.crs, ground.transform @ scale, values.shape[1], values.shape[0])
        else:
            shown = windows.own_grid.window(*covering_window(windows.own_grid, ground))
            if shown.width * shown.height <= MAX_PX:
                values, ground = resampled(values, ground, shown), shown
        try:
            path = self.write_prediction(values, ground, show)
        except (OSError, OutputError) as error:
            self.warn(f"The prediction cannot be written to {self._folder} ({error}). The session continues.")
            return
        self.published_s = time.perf_counter()
        self._reporter.pass_on(
            events.Prediction(
                str(path), list(ground.outline.bounds), step, round(view.fraction, 3),
                round(ground.resolution_m, 4), show, round(self.published_s - view.changed_s, 3),
            )
        )  # fmt: skip

    def write_prediction(self, probability: np.ndarray, grid: Grid, show: str) -> Path:
        """Write probability, (height, width), uint8, or its uncertainty as a raster, and remove old rasters.

        Raises OSError, OutputError if the disk is full, or the folder is gone.
        """
        values = _UNCERTAINTY[probability] if show == UNCERTAINTY else probability
        self._number += 1
        path = self._folder / f"prediction-{self._number:06d}.tif"
        with replaced(path) as temporary:
            _write_raster(temporary, values, grid, show)
        self._written.append(path)
        while len(self._written) > NEWER + 1:
            with contextlib.suppress(OSError):  # on Windows, a program that still reads the file keeps it
                self._written.popleft().unlink()
        return path

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


def _write_raster(path: Path, values: np.ndarray, grid: Grid, show: str) -> None:
    profile = {
        "driver": "GTiff", "count": 1, "dtype": "uint8", "nodata": NO_DATA, "crs": grid.crs,
        "transform": grid.transform, "width": grid.width, "height": grid.height,
        "tiled": True, "blockxsize": _TILE_PX, "blockysize": _TILE_PX,
    }  # fmt: skip
    with named_errors(path), rasterio.open(path, "w", **profile) as dataset:
        dataset.scales = (1 / CERTAIN,)
        dataset.set_band_description(1, f"road {show}")
        dataset.write(values, 1)
    check_geotiff(path, int(values.sum(dtype=np.int64)))
