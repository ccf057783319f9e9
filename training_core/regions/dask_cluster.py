"""Dask's processes on this machine, and connections to a scheduler.

Scope: starting, reaching and naming them. Independent of tasks. Dask is imported when it is needed.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import multiprocessing.process
import socket
import tempfile
import traceback
from contextlib import ExitStack
from typing import Any, Optional

from ..errors import JobError, WorkerError
from ..system.placement import Place
from .fleet import has_module

CONNECT_S = 15.0
_LOOPBACK = "127.0.0.1"
# How Dask names the processes that it starts.
_NAME_OF_PROCESSES = "Dask Worker"


def start_processes(own_places: list[Place], most_kills: int, stack: ExitStack) -> Any:
    """Start workers, and return their cluster, which only this machine reaches.

    Parameters
    ----------
    own_places : list of Place
        A process each, on cores of its own.
    most_kills : int
        Deaths of workers that a task may have had part in before it has failed.
    stack : ExitStack
        Removes the processes' temporary folder.

    Raises
    ------
    WorkerError
        They do not start.
    """
    import dask
    from distributed import LocalCluster, Security

    _silence()
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="roadseg_", ignore_cleanup_errors=True))
    threads = str(own_places[0].threads)
    variables = {name: threads for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    settings = {
        "distributed.scheduler.allowed-failures": most_kills - 1,
        "distributed.nanny.pre-spawn-environ": variables,
    }
    with dask.config.set(settings):
        for attempt in range(most_kills):
            try:
                return LocalCluster(
                    n_workers=len(own_places), threads_per_worker=1, host=_LOOPBACK, local_directory=scratch,
                    memory_limit=0, dashboard_address=f"{_LOOPBACK}:0", silence_logs=logging.CRITICAL,
                    security=Security.temporary() if has_module("cryptography") else Security(require_encryption=False),
                )  # fmt: skip
            except Exception as error:  # one was killed as it began
                for process in own_processes():
                    process.kill()
                if attempt == most_kills - 1:
                    raise WorkerError(
                        f"The processes of this machine do not start ({in_words(error)}).",
                        "Use one (workers), or make room in its memory.",
                    ) from error
    raise AssertionError


def own_processes() -> list[multiprocessing.process.BaseProcess]:
    """Return the worker processes that this process has started."""
    return [each for each in multiprocessing.active_children() if each.name.startswith(_NAME_OF_PROCESSES)]


def connect(target: Any, name: str) -> Any:
    """Return a client of a scheduler, or of a cluster of this machine.

    Parameters
    ----------
    target : str or distributed.LocalCluster
        The scheduler's address, or the cluster.
    name : str
        What it is called in messages.

    Raises
    ------
    JobError
        It cannot be reached, or does not accept the certificates.
    """
    from distributed import Client

    _silence()
    try:
        if isinstance(target, str):  # at once, where Dask tries until its time is over
            host, _, port = target.partition("://")[2].rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        # Dask's own configuration says which certificates to use.
        return Client(target, timeout=CONNECT_S, set_as_default=False)
    except Exception as error:
        # The client that came to nothing closes itself when it is collected. If that happens while the next one starts,
        # both wait for each other.
        traceback.clear_frames(error.__traceback__)
        gc.collect()
        raise JobError(
            f"The Dask scheduler at {name} (scheduler) cannot be reached: {in_words(error)}.",
            "Start it, or correct its address; for tls://, name the certificates in Dask's configuration "
            "(distributed.comm.tls).",
        ) from error


def _silence() -> None:
    """Keep Dask's log from the terminal: what matters is reported."""
    import distributed  # sets up its loggers

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == distributed.__name__:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def in_words(error: BaseException) -> str:
    """Return why something failed, with the first cause, in one line."""
    texts = []
    cause: Optional[BaseException] = error
    while cause is not None and len(texts) < 4:
        text = " ".join(str(cause).split())
        if text and text not in texts:
            texts.append(text)
        cause = cause.__cause__ or cause.__context__
    return "; ".join(texts)[:500] or type(error).__name__
