"""Command line interface (click): one command per job, its options made from the job's fields.

Scope: options, expansion of input files, the terminal. Independent of what a job does.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from . import events, worker
from .errors import ImageryError, JobError, RoadSegError
from .jobs import JOBS, RASTERS, Job, OptionField, describe_range, from_json, from_options
from .system.processor import prepare_process

# A hundred thousand images, named by long paths.
MAX_JOB_BYTES = 64_000_000


class Terminal:
    """Shows events on a terminal: a progress bar, the log above it, a summary of the result."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[left]}"), console=self.console, transient=True,
        )  # fmt: skip
        self.task = self.bar.add_task("", total=1.0, left="")

    def show(self, event: events.Event) -> None:
        """Show one event; ignore that the terminal was closed."""
        with contextlib.suppress(OSError):
            self._show(event)

    def _show(self, event: events.Event) -> None:
        if isinstance(event, events.Progress):
            left = events.time_left(event.eta_s)
            self.bar.update(self.task, completed=event.fraction, description=event.message, left=left)
        elif isinstance(event, events.Log):
            self.console.print(event.message, markup=False, highlight=False)
        elif isinstance(event, events.Warning):
            self.console.print(f"Warning: {event.message}", style="yellow", markup=False)
        elif isinstance(event, events.Error):
            self.console.print(f"{event.message} {event.remedy}".strip(), style="red", markup=False)
        elif isinstance(event, events.State):
            self.bar.update(self.task, completed=None, description=event.message, left="")
        elif isinstance(event, (events.Prediction, events.Correction, events.Kept)):
            self.console.print(events.encode(event), markup=False, highlight=False)
        elif isinstance(event, events.Result):
            self.console.print(_summary(event.result))
            failures = events.describe_failures(event.result)
            if failures:
                self.console.print(f"Warning: {failures}", style="yellow", markup=False)


# Described in words below the table.
_BELOW_TABLE = ("partial", "failures")


def _summary(result: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None)
    for name, value in result.items():
        if name in _BELOW_TABLE:
            continue
        if isinstance(value, list):
            for number, row in enumerate(value, 1):
                table.add_row(f"{name} {number}", escape(_plain(row)))
        else:
            table.add_row(name, escape(_plain(value)))
    return table


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{key} {_plain(item)}" for key, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_SEVERAL = "Takes several values side by side, or is repeated."
# Names of the folders or files that hold the rasters in a folder of training data, by field.
_PARTS = {"rasters": ("images", "chips"), "masks": ("masks", "binarymasks", "labels", "annotations.json")}
_SEVERAL_FILES = (
    'A folder stands for its rasters, a quoted pattern ("tiles/*.tif", "tiles/**/*.tif") for the files it matches.'
)


def _click_option(field: OptionField) -> click.Option:
    option = field.option
    kwargs: dict[str, Any] = {}
    if field.item_type is bool:
        kwargs["is_flag"] = True
    elif option.choices:
        kwargs["type"] = click.Choice(option.choices)
    else:
        kwargs["type"] = field.item_type
    if not field.is_list:
        kwargs["default"] = field.default
        kwargs["show_default"] = field.default != "" and field.item_type is not bool
    limits = describe_range(option)
    notes = [f"A number {limits}." if limits else "", _SEVERAL if field.is_list else ""]
    notes += [_SEVERAL_FILES] if option.kind == RASTERS else []
    metavar = option.kind.upper().replace(" ", "_") or None
    return click.Option(
        [f"--{field.name.replace('_', '-')}", field.name],
        help=" ".join([option.help, *filter(None, notes)]),
        required=option.required and not field.default,
        multiple=field.is_list,
        metavar=f"{metavar}..." if metavar and field.is_list else metavar,
        **kwargs,
    )


def _command(job_type: type[Job]) -> click.Command:
    def callback(with_events: bool, **options: Any) -> None:
        sys.exit(_run(job_type, options, with_events))

    parameters: list[click.Parameter] = [_click_option(field) for field in job_type.option_fields()]
    help_events = "Write the events as JSON lines, and nothing else, to standard output."
    parameters.append(click.Option(["--events", "with_events"], is_flag=True, help=help_events))
    return _JobCommand(
        job_type.name, params=parameters, callback=callback, help=job_type.__doc__, short_help=job_type.title
    )


class _JobCommand(click.Command):
    """A command whose options take several values side by side, and whose usage errors can be events."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """See click.Command.parse_args."""
        with_events = "--events" in arguments
        several = {flag for parameter in self.params if parameter.multiple for flag in parameter.opts}
        try:
            return super().parse_args(context, _with_flags_repeated(arguments, several))
        except click.UsageError as error:
            if not with_events:
                raise
            _refuse(JobError(error.format_message(), f"Its options are in {context.command_path} --help."))


def _with_flags_repeated(arguments: list[str], several: set[str]) -> list[str]:
    """Turn `--rasters a.tif b.tif` into `--rasters a.tif --rasters b.tif`, as click wants it, for the flags given."""
    repeated: list[str] = []
    flag, needs_value = "", False
    for argument in arguments:
        if needs_value:
            needs_value = False
        elif argument.startswith("-"):
            name, has_value, _ = argument.partition("=")
            flag = name if name in several else ""
            needs_value = bool(flag) and not has_value
        elif flag:
            repeated.append(flag)
        repeated.append(argument)
    return repeated


def _refuse(error: RoadSegError) -> NoReturn:
    """Write an error event for a client, and exit."""
    worker.EventWriter(worker.claim_stdout(), threading.Event())(events.explain(error, events.Reporter()))
    sys.exit(worker.EXIT_FAILED)


def _with_rasters(job: Job) -> Job:
    """Return a job whose folders and patterns of rasters are expanded.

    Raises ImageryError if a folder holds no raster, or a pattern matches no file.
    """
    inputs = {field.name: getattr(job, field.name) for field in job.option_fields() if field.option.kind == RASTERS}
    if all(os.path.isfile(path) for paths in inputs.values() for path in paths):
        return job
    prepare_process(getattr(job, "threads", 0))  # before rasterio is loaded
    from .geodata.sources import expand

    return dataclasses.replace(job, **{name: expand(values, _PARTS.get(name, ())) for name, values in inputs.items()})


def _run(job_type: type[Job], options: dict[str, Any], with_events: bool) -> int:
    """Run the job with these options; return the exit status."""
    cancelled, terminal = threading.Event(), Terminal()
    writer = worker.EventWriter(worker.claim_stdout(), cancelled) if with_events else None
    show, shown = (writer, contextlib.nullcontext()) if writer else (terminal.show, terminal.bar)
    try:
        job = _with_rasters(from_options(job_type, options))
    except RoadSegError as error:
        show(events.explain(error, events.Reporter()))
        return worker.EXIT_FAILED
    worker.listen_to_signals(cancelled)
    status = worker.EXIT_FAILED
    with contextlib.suppress(OSError), shown:  # at its end the terminal may have gone
        status = worker.run(job, show, cancelled, worker.commands_of_terminal(job, cancelled))
    return worker.EXIT_FAILED if writer and writer.is_broken else status


@click.group(context_settings={"max_content_width": 110})
def main() -> None:
    """RoadSeg's training core: fine-tune, segment and vectorize roads."""


for _job_type in JOBS.values():
    main.add_command(_command(_job_type))


@main.command("run", short_help="Run a job file for a client")
@click.argument("job_file", type=click.Path(path_type=Path))
def run_job_file(job_file: Path) -> None:
    """Run the job in JOB_FILE: events on standard output; closing standard input cancels."""
    try:
        job = _with_rasters(from_json(_read_job_file(job_file)))
    except (JobError, ImageryError) as error:
        _refuse(error)
    worker.run_for_client(job)


def _read_job_file(path: Path) -> str:
    """Return the text of a job file.

    Raises JobError if it cannot be read, or is not a regular text file, or far too large for a job.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device might never end
            raise JobError(f"The job file {path} is not a regular file.", "Give another file.")
        if status.st_size > MAX_JOB_BYTES:
            raise JobError(f"{path} is far too large for a RoadSeg job file.", "Give another file.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise JobError(f"The job file {path} cannot be read ({error.strerror}).", "Give another file.") from error
    except UnicodeDecodeError as error:
        raise JobError(f"{path} is not a RoadSeg job file.", "Write it with the command line or from QGIS.") from error


def run_command_line() -> None:
    """Run the command line; if its output cannot be written, print an error and exit with status 1."""
    try:
        main()
    except OSError as error:  # those of jobs are explained in events
        with contextlib.suppress(OSError, AttributeError):  # standard error is full, or closed
            print(f"The output cannot be written: {error.strerror}.", file=sys.stderr, flush=True)
        os._exit(worker.EXIT_FAILED)  # a normal end would try to write again
