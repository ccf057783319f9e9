"""Executors: who does the tasks of a region. The tasks, their outcomes, and the simplest executor, this process alone.

An executor yields an outcome for each task as tasks end. A task that fails has an outcome with its reason and raises
no exception, so the other tasks are still done.

A worker is checked before it gets work: the same versions, the same files, the same folder as the leading process. This
lists what it has (`Leader`), and leaves a token in the folder. A worker compares the list with its own, and leaves an
answer next to the token. So a difference is named before any work, and a folder of the same path on another disk is
found out.

Scope: tasks in, outcomes out. Independent of the work in the tasks, which `task_handlers` does.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Optional, Protocol

from .. import events
from ..error_events import explain
from ..errors import Cancelled, ModelFileError, OutputError, RuntimeEnvironmentError
from ..events import Reporter
from ..system.machine import versions
from ..system.placement import AUTO, count_processes
from .store import Store

SET_UP = "Run Set up runtime with Many machines (FLEET), or install what resources/runtime/fleet.txt lists."


@dataclass(frozen=True)
class Task:
    """A piece of work for one worker.

    Tasks with the same key, which is made from the content, have the same result. Its file is named after the key. A
    handler takes the kind of work and the document of JSON types. The time is estimated from the megapixels. The scene
    is empty for work on the region.
    """

    key: str
    work: str
    document: dict[str, Any]
    megapixels: float = 0.0
    scene: str = ""


@dataclass(frozen=True)
class Outcome:
    """The end of a task: a result of JSON types, or None and the failure's code (see `errors`), reason and remedy.

    The worker's name is empty where it is unknown. `elapsed_s` is the wall time of the work itself.
    """

    task: Task
    result: Optional[dict[str, Any]]
    code: str = ""
    reason: str = ""
    remedy: str = ""
    worker: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True)
class Handlers:
    """The functions that workers call. Both are functions of a module, which workers import.

    `perform` takes the kind of work and a task's document, returns its result, of JSON types, and raises if it fails.
    `prepare` is called once in each worker with `document`, of JSON types, to load the model and to try the engine. It
    raises a RoadSegError where these cannot be used.
    """

    perform: Callable[[str, dict[str, Any]], dict[str, Any]]
    prepare: Callable[[dict[str, Any]], object]
    document: dict[str, Any] = field(default_factory=dict)


class Executor(Protocol):
    """Workers that do tasks, with a name for people and the address of a page that shows the work, or none."""

    name: str
    dashboard: str

    @property
    def workers(self) -> int:
        """Number of tasks that are done at once."""
        ...

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """Do tasks, taken as they are needed, and yield their outcomes in the order in which they end.

        The reporter stops the work of a cancelled job, and receives warnings and the logs of workers.
        """
        ...

    def close(self) -> None:
        """End all workers that the executor has started."""
        ...


class LocalExecutor:
    """The executor that does one task after the other in this process.

    Raises
    ------
    RoadSegError
        See `Handlers.prepare`.
    """

    name = "this process"
    workers = 1
    dashboard = ""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        handlers.prepare(handlers.document)

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """See `Executor.run`."""
        for task in tasks:
            reporter.check_cancelled()
            yield attempt(self._handlers.perform, task, self.name, reporter)

    def close(self) -> None:
        """See `Executor.close`."""


def open_executor(
    handlers: Handlers, needs: Needs, reporter: Reporter, scheduler: str = "", workers: int = 0, threads: int = 0
) -> Executor:
    """Return the executor that a job asks for; close it at the end.

    Without the address of a Dask scheduler it works on this machine. 0 workers stand for one process for each NUMA
    node, 0 threads, of all processes together, for the number of cores.

    Raises
    ------
    JobError
        There are fewer cores than workers.
    RuntimeEnvironmentError
        A scheduler is given, but Dask is not installed.
    RoadSegError
        See `DaskExecutor` and `LocalExecutor`.
    """
    has_dask = has_module("distributed")
    if scheduler and not has_dask:
        raise RuntimeEnvironmentError(
            f"The scheduler {scheduler} cannot be used: the runtime has no Dask (requirement set fleet).", SET_UP
        )
    count = 0 if scheduler else count_processes(str(workers) if workers else AUTO, threads, max(workers, 1 << 16))
    if count > 1 and not has_dask:
        reporter.warning(
            f"One process does the work instead of {count}: the runtime has no Dask (requirement set fleet). {SET_UP}"
        )
    if not has_dask or count == 1:
        return LocalExecutor(handlers)
    from .dask_executor import DaskExecutor

    return DaskExecutor(handlers, needs, reporter, scheduler, count, threads)


def attempt(
    perform: Callable[[str, dict[str, Any]], dict[str, Any]], task: Task, worker: str, reporter: Reporter
) -> Outcome:
    """Do a task in this process; the reporter receives the traceback of an unexpected error."""
    began_s = time.perf_counter()
    try:
        result = perform(task.work, task.document)
    except Cancelled:
        raise
    except Exception as error:  # no error of a task may end the work on the others
        return failed(task, explain(error, reporter), worker, time.perf_counter() - began_s)
    return Outcome(task, result, worker=worker, elapsed_s=time.perf_counter() - began_s)


def failed(task: Task, error: events.Error, worker: str = "", elapsed_s: float = 0.0) -> Outcome:
    """Return the outcome of a task that has failed."""
    return Outcome(task, None, error.code, error.message, error.remedy, worker, elapsed_s)


def has_module(name: str) -> bool:
    """Return whether a module can be imported; a mere folder of its name does not count."""
    spec = find_spec(name)
    return spec is not None and spec.origin is not None


# Results, or the messages between processes, depend on the versions of these.
PACKAGES = (
    "torch", "numpy", "rasterio", "intel-extension-for-pytorch", "openvino", "segmentation-models-pytorch",
    "distributed",
)  # fmt: skip
# On a network disk, another machine may not see a new file for this long.
SEEN_WITHIN_S = 10.0
_LEADER_FILE = "leader"


@dataclass(frozen=True)
class Needs:
    """What a job needs on every worker: its folder, to which all workers write, and files that exist.

    `files`, such as the model, must be the same everywhere. `paths` of files and folders, such as scenes, must exist;
    addresses that only GDAL understands are not checked.
    """

    folder: str
    files: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class Leader:
    """The leading process' side of the checks; its token lies in the folder until `close`.

    Raises
    ------
    ModelFileError
        A file that must be the same everywhere cannot be read here.
    OutputError
        The folder cannot be written to.
    """

    def __init__(self, needs: Needs) -> None:
        files = {os.path.abspath(path): _digest(path) for path in needs.files}
        with ExitStack() as stack:
            try:
                self._folder = stack.enter_context(Store(needs.folder).private_folder())
                (self._folder / _LEADER_FILE).write_text(self._folder.name, "ascii")
            except OSError as error:
                raise OutputError(
                    f"{needs.folder} cannot be written to ({error.strerror}).", "Choose another folder, or make room."
                ) from error
            self._stack = stack.pop_all()
        self.document: dict[str, Any] = {
            "versions": checked_versions(),
            "files": files,
            "paths": sorted({os.path.abspath(path) for path in needs.paths if os.path.exists(path)}),
            "folder": os.path.abspath(needs.folder),
            "token": os.path.abspath(self._folder),
        }

    def has_answer(self, answer: str, patience_s: float = SEEN_WITHIN_S) -> bool:
        """Return whether this process sees a worker's answer, by the answer's name, within some seconds."""
        until_s = time.monotonic() + patience_s
        while True:
            with suppress(OSError):
                if (self._folder / answer).read_text("ascii") == self._folder.name:
                    return True
            if time.monotonic() >= until_s:
                return False
            time.sleep(0.1)

    def close(self) -> None:
        """Remove the token and the answers."""
        self._stack.close()


def checked_versions() -> dict[str, str]:
    """Return the versions in this process that must be the same in all: RoadSeg, Python, and those of PACKAGES."""
    installed = versions(PACKAGES)
    return {"RoadSeg": installed.pop("roadseg"), "Python": ".".join(platform.python_version_tuple()[:2]), **installed}


def complaints(document: dict[str, Any], answer: str) -> list[str]:
    """Return sentences about what this process lacks as a worker; nothing if it fits.

    The document is `Leader.document`. The answer is the name of a file to leave next to the token.
    """
    return [
        *_other_versions(document["versions"]),
        *_unreachable(document["folder"], Path(document["token"]), answer),
        *_other_files(document["files"]),
        *_missing(document["paths"]),
    ]


def _other_versions(leaders: dict[str, str]) -> list[str]:
    workers = checked_versions()
    return [
        f"{name} is {workers.get(name) or 'missing'} there, and {leaders.get(name) or 'missing'} here"
        for name in sorted({*leaders, *workers})
        if workers.get(name) != leaders.get(name)
    ]


def _unreachable(folder: str, token: Path, answer: str) -> list[str]:
    until_s = time.monotonic() + SEEN_WITHIN_S
    while True:
        try:
            text = (token / _LEADER_FILE).read_text("ascii")
            break
        except OSError as error:
            if not os.path.isdir(folder):
                return [f"the folder {folder} does not exist there"]
            if time.monotonic() >= until_s:
                return [f"the folder {folder} is not the same one there ({error.strerror})"]
            time.sleep(0.2)
    try:
        (token / answer).write_text(text, "ascii")
    except OSError as error:
        return [f"the folder {folder} cannot be written to there ({error.strerror})"]
    return []


def _other_files(digests: dict[str, str]) -> list[str]:
    sentences = []
    for path, digest in digests.items():
        try:
            if _digest(path) != digest:
                sentences.append(f"{path} is another file there")
        except ModelFileError as error:
            sentences.append(f"{error.message.rstrip('.')} there")
    return sentences


def _missing(paths: list[str]) -> list[str]:
    missing = [path for path in paths if not os.path.exists(path)]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return [f"{missing[0]}{more} cannot be found there"] if missing else []


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror}).", "Give a file that can be read.") from error
    return digest.hexdigest()
