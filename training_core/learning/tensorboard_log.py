"""TensorBoard logs: the metrics of a job as event files, in a folder of its own for each run.

Scope: event files, by way of tensorboardX, and the metrics of a reporter. Independent of training. TensorBoard is not
needed to write them.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from ..errors import OutputError, without_passwords
from ..events import Event, Metric, Reporter
from ..system import shutdown

# Metrics by which TensorBoard compares runs.
COMPARED = ("validation_f1", "validation_iou")
FLUSH_EVERY_S = 5.0


@contextmanager
def logged(reporter: Reporter, folder: str, model: str, options: Mapping[str, Any]) -> Iterator[Reporter]:
    """Provide a reporter whose metrics also go to a TensorBoard log; without a folder, the given one.

    If the log cannot be written, as on a full disk, the reporter warns and the job continues without it.

    Parameters
    ----------
    folder : str
        Holds a folder for each run; empty for no log.
    model : str
        Path of the model file, after which the run is named.
    options : mapping of str to anything
        The job's fields, logged as hyperparameters.

    Raises
    ------
    OutputError
        The folder cannot be made or written to.
    """
    if not folder:
        yield reporter
        return
    with TensorBoardLog(folder, Path(model).stem, options) as log:

        def hear(event: Event) -> None:
            if isinstance(event, Metric) and log.is_open:
                try:
                    log.add(event.name, event.value, event.step)
                except OSError as error:
                    log.close()
                    reporter.warning(f"The TensorBoard log {log.run} ends here, it cannot be written ({_why(error)}).")

        yield reporter.with_listener(hear)


class TensorBoardLog:
    """A run's log. A context manager: a run without any metric leaves no files.

    Values are on the disk some seconds after they were added, so that TensorBoard shows a run in progress.

    Parameters
    ----------
    folder : str
        Holds a folder for each run.
    name : str
        Name of the run's folder, before the time.
    options : mapping of str to anything
        Logged as hyperparameters.
    compared : sequence of str
        Names of the metrics by which TensorBoard compares runs.

    Raises
    ------
    OutputError
        The folder cannot be made or written to.
    """

    def __init__(self, folder: str, name: str, options: Mapping[str, Any], compared: Sequence[str] = COMPARED) -> None:
        from tensorboardX import RecordWriter  # takes seconds, which jobs without a log need not wait
        from tensorboardX.proto.event_pb2 import Event as Record

        self._record, self._count, self._flush_s = Record, 0, 0.0
        try:
            self.run = _new_folder(Path(folder).absolute(), f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
            self._path = self.run / f"events.out.tfevents.{time.time():.0f}.roadseg"
            self._file: Optional[RecordWriter] = RecordWriter(str(self._path))
            self._write(file_version="brain.Event:2")
            for summary in _describe(options, compared):
                self._write(summary=summary)
            self._flush()
        except (OSError, ValueError) as error:  # a name with a null character
            raise OutputError(
                f"The TensorBoard folder {folder} cannot be written to ({_why(error)}).", "Choose another folder."
            ) from error

    def __enter__(self) -> "TensorBoardLog":
        shutdown.add_cleanup(self._end)
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        shutdown.remove_cleanup(self._end)
        self._end()

    def _end(self) -> None:
        """Close the log, and remove it if it is empty."""
        self.close()
        if not self._count:
            with contextlib.suppress(OSError):
                self._path.unlink()
                self.run.rmdir()

    @property
    def is_open(self) -> bool:
        """Whether values can be added."""
        return self._file is not None

    def add(self, name: str, value: float, step: int) -> None:
        """Add a value to a series.

        Parameters
        ----------
        step : int
            Number of the training step.

        Raises
        ------
        OSError
            It cannot be written.
        """
        from tensorboardX.summary import scalar

        self._write(summary=scalar(name, value), step=step)
        self._count += 1

    def close(self) -> None:
        """Close the log; an error in writing the rest is ignored."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _write(self, **content: Any) -> None:
        self._file.write(self._record(wall_time=time.time(), **content).SerializeToString())
        if time.monotonic() >= self._flush_s:
            self._flush()

    def _flush(self) -> None:
        self._file.flush()  # down to the disk, which would slow down a quick training if done every time
        self._flush_s = time.monotonic() + FLUSH_EVERY_S


def _new_folder(folder: Path, name: str) -> Path:
    """Make a folder of this name, with a number appended if another run began in the same second."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            number += 1


def _describe(options: Mapping[str, Any], compared: Sequence[str]) -> list[Any]:
    """Return the records of a run's options: as hyperparameters and as a table."""
    from tensorboardX.summary import hparams, text

    plain = {name: _plain(value) for name, value in options.items()}
    rows = [f"| {name} | `{value}` |" for name, value in plain.items()]
    return [
        *hparams(plain, dict.fromkeys(compared, 0.0)),
        text("job", "\n".join(["| option | value |", "|-|-|", *rows])),
    ]


def _plain(value: Any) -> Any:
    """Return a number as it is, and all else as text without passwords and characters that UTF-8 cannot hold."""
    if isinstance(value, (bool, int, float)):
        return value
    words = value if isinstance(value, str) else json.dumps(value)
    return without_passwords(words).encode("utf-8", "replace").decode("utf-8")


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
