"""The job trace: a session that answers with the likeliest road between two places, while the pointer moves.

It also answers with the lines of a view at a threshold, while a slider moves.

Scope: the raster, its commands and the answers. Independent of how paths and lines are found.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Annotated, Any, Optional, Union

import numpy as np
import shapely
from rasterio.io import DatasetReader
from rasterio.windows import Window as PixelWindow
from shapely.geometry.base import BaseGeometry

from .. import events
from ..errors import Cancelled, ImageryError
from ..events import Reporter
from ..extraction.traced_windows import TracedWindows
from ..extraction.tracing import as_drawn
from ..extraction.view_lines import lines_in_view
from ..geodata.grid import MAX_COORDINATE, Window, grid_of
from ..geodata.rasters import open_mask, result_name
from ..geodata.road_raster import read_probability, values_of
from ..geodata.shapes import shape_of, valid
from ..jobs import NetworkOptions, Trace
from ..jobs.json_fields import Range
from ..jobs.mapping import MAX_AREAS, Threshold, ThresholdArea
from ..system.commands import parse_line, read_command

# Paths are sought in cells of about this size, half of the narrowest road; finer pixels are averaged.
_CELL_M = 1.0
# The process sleeps this long before it checks for signals.
_IDLE_S = 1.0
_Coordinate = Annotated[float, Range(-MAX_COORDINATE, MAX_COORDINATE)]


@dataclass(frozen=True)
class _Place:
    """A place in the CRS of the raster."""

    sequence: Annotated[int, Range(0, 2**53)]
    x: _Coordinate
    y: _Coordinate


class Begin(_Place):
    """A path begins at a place."""


class To(_Place):
    """The path leads to a place. It is not answered if the next command, which waits, leads to another one."""


@dataclass(frozen=True)
class Lines:
    """The lines of a view (left, bottom, right, top) are wanted. Not answered if another one of these waits."""

    sequence: Annotated[int, Range(0, 2**53)]
    extent: tuple[_Coordinate, _Coordinate, _Coordinate, _Coordinate]
    threshold: Threshold
    areas: Annotated[tuple[ThresholdArea, ...], Range(0, MAX_AREAS)] = ()

    def __post_init__(self) -> None:
        self.shapes()  # so that a command with something else is skipped

    def shapes(self) -> list[tuple[BaseGeometry, float]]:
        """Return the areas as valid polygons with their thresholds; raises ValueError if one is none."""
        shapes = [shape_of(area.geometry, ("Polygon", "MultiPolygon"), "an area") for area in self.areas]
        return list(zip(valid(np.array(shapes, dtype=object)), (area.threshold for area in self.areas)))


@dataclass(frozen=True)
class Stop:
    """End the session."""


Command = Union[Begin, To, Lines, Stop]
_COMMANDS: dict[str, type] = {"begin": Begin, "to": To, "lines": Lines, "stop": Stop}


def run(job: Trace, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.Trace`."""
    with open_mask(job.raster) as dataset:
        _require_probability(dataset)
        session, commands, count = _Session(dataset), _Commands(reporter), 0
        while not isinstance(command := commands.take(), Stop):
            if isinstance(command, Begin):
                session.begin(command)
            elif isinstance(command, Lines):
                _answer_lines(dataset, command, commands, reporter)
            elif (traced := session.lead(command, commands)) is not None:
                reporter.pass_on(traced)
                count += 1
    return {"traced": count}


def _answer_lines(dataset: DatasetReader, command: Lines, commands: _Commands, reporter: Reporter) -> None:
    """Report the lines of a view, unless others are wanted before they are found."""
    outdated = Reporter(is_cancelled=lambda: commands.is_outdated(Lines))
    try:
        lines = lines_in_view(dataset, command.extent, command.threshold, command.shapes(), NetworkOptions(), outdated)
    except Cancelled:
        return
    wkt = None if lines is None else shapely.to_wkt(shapely.MultiLineString(list(lines)), rounding_precision=-1)
    reporter.pass_on(events.Lines(command.sequence, wkt))


def _require_probability(dataset: DatasetReader) -> None:
    """Raise ImageryError if a raster is no road probability."""
    # With a reporter of its own: at the end of input, which cancels, commands that wait are still to be answered.
    if dataset.count > 1 or values_of(dataset, dataset.name, Reporter()) is not None:
        what = result_name(dataset) or ("a raster of several bands" if dataset.count > 1 else "a mask or an image")
        raise ImageryError(
            f"{dataset.name} is {what}, not a road probability.",
            "Choose the road probability that Segment roads or Extract roads writes.",
        )


class _Commands:
    """The commands in order, as they come; malformed ones are skipped with a warning."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._waiting: deque[Command] = deque()

    def take(self) -> Command:
        """Wait for the next command; Stop at the end."""
        lines = self._reporter.lines
        while not self._waiting:
            if not self._listen(_IDLE_S) and (lines is None or lines.is_over or self._reporter.is_cancelled):
                return Stop()
        return self._waiting.popleft()

    def is_outdated(self, kind: type) -> bool:
        """Whether the next command wants another answer of the same kind by now."""
        while self._listen(0):
            pass
        return bool(self._waiting) and isinstance(self._waiting[0], kind)

    def _listen(self, timeout_s: float) -> bool:
        line = self._reporter.lines.get(timeout_s) if self._reporter.lines else None
        if line is not None:
            command = read_command(line, lambda each: parse_line(each, _COMMANDS), self._reporter)
            self._waiting.extend([command] if command else [])
        return line is not None


class _Session:
    """Paths through an open probability raster."""

    def __init__(self, dataset: DatasetReader) -> None:
        self._dataset, grid = dataset, grid_of(dataset)
        self._reduced_by = min(max(1, round(_CELL_M / grid.resolution_m)), dataset.width, dataset.height)
        cells = grid.transform @ type(grid.transform).scale(self._reduced_by)
        self._to_map, self._from_map = cells, ~cells
        self._shape = dataset.height // self._reduced_by, dataset.width // self._reduced_by
        self._cell_m = grid.pixel_m[1] * self._reduced_by, grid.pixel_m[0] * self._reduced_by
        self._start: Optional[tuple[float, float]] = None
        self._windows: Optional[TracedWindows] = None

    def begin(self, command: Begin) -> None:
        """Find the paths from a place; beyond the raster there are none."""
        self._start, cell = (command.x, command.y), self._cell(command.x, command.y)
        self._windows = TracedWindows(self._read, self._shape, cell, self._cell_m) if cell else None

    def lead(self, command: To, commands: _Commands) -> Optional[events.Traced]:
        """Return the path to a place, a straight line beyond the raster; None if another place is wanted by now."""
        cell, end = self._cell(command.x, command.y), (command.x, command.y)
        if self._start is None or commands.is_outdated(To):
            return None
        if self._windows is None or cell is None:
            return events.Traced(command.sequence, shapely.LineString([self._start, end]).wkt)
        while not self._windows.reach(cell):
            if commands.is_outdated(To):
                return None
        cells, probability, width = self._windows.path_to(cell)
        rows, columns = as_drawn(cells).T + 0.5
        x, y = self._to_map @ (columns, rows)
        # The ends are where the person has clicked, and not in the middles of cells.
        points = np.vstack([self._start, np.column_stack([x, y])[1:-1], end])
        line = shapely.to_wkt(shapely.LineString(points), rounding_precision=-1)
        known, road = probability[np.isfinite(probability)], width[width > 0]
        cell_m = float(np.sqrt(np.prod(self._cell_m)))
        return events.Traced(
            command.sequence,
            line,
            round(float(known.mean()), 3) if len(known) else None,
            round(float(np.median(road)) * cell_m, 1) if len(road) else None,
        )

    def _cell(self, x: float, y: float) -> Optional[tuple[int, int]]:
        """Return row and column of a place; None beyond the raster."""
        column, row = (float(each) // 1 for each in self._from_map @ (x, y))
        inside = 0 <= row <= self._shape[0] and 0 <= column <= self._shape[1]
        # Rows and columns that fill no cell belong to the last one.
        return (min(int(row), self._shape[0] - 1), min(int(column), self._shape[1] - 1)) if inside else None

    def _read(self, window: Window) -> np.ndarray:
        """Return the probability in a window of cells, NaN without data: (height, width) float32."""
        pixels = PixelWindow(*(self._reduced_by * each for each in window))
        probability, known = read_probability(self._dataset, pixels, self._reduced_by)
        return np.where(known, probability, np.float32(np.nan))
