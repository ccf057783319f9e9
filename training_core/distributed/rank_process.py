"""A rank as a process: it joins its group, does its part of a job, and reports to the process that started it.

It sends events as JSON, one a message, and receives the command to stop. If the starting process dies, so does it.

Scope: pipes, signals, output, cores. Independent of the job.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from .. import events
from ..system import processor
from ..system.placement import Place, settle

HEARTBEAT_S = 1.0
# Longer than any rank waits for another one: reading large images, or a step where memory is short.
TIMEOUT_S = 3600.0
CANCEL = b"cancel"
LOCAL = "127.0.0.1"
# Does a rank's part of a job. Takes the job's text, the sink of its events, whether it is cancelled, and what joins the
# group; sends a result or an error as its last event.
Target = Callable[[str, Callable[[events.Event], None], Callable[[], bool], Any], None]


def log_path(folder: Path, rank: int) -> Path:
    """Return the file with the output and errors that a rank's libraries have written."""
    return folder / f"rank_{rank}.log"


def loopback() -> str:
    """Return the name of the loopback interface: lo on Linux, lo0 on macOS, and some words on Windows."""
    interfaces = psutil.net_if_addrs().items()
    return next((name for name, addresses in interfaces if any(each.address == LOCAL for each in addresses)), "lo")


def run_rank(rank: int, folder: str, pipes: list[Connection], ranks: list[Place], target: Target, text: str) -> None:
    """Do a rank's part of a job in this process; returns when all is done, and ends the process otherwise.

    The folder takes the ranks' store and logs. The pipes of all ranks lead to the starting process. The target sends a
    result or an error as its last event.
    """
    pipe = pipes[rank]
    for other in pipes:
        if other is not pipe:  # else its end would not be noticed
            other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to all processes; the first one stops the others
    _write_output_to(log_path(Path(folder), rank))
    settle(ranks[rank])
    processor.prepare_process(ranks[rank].threads)
    cancelled, lock = threading.Event(), threading.Lock()

    def send(event: events.Event) -> None:
        with lock:
            pipe.send_bytes(events.encode(event).encode("utf-8", "surrogatepass"))

    threading.Thread(target=_listen, args=(pipe, cancelled), daemon=True).start()
    threading.Thread(target=_beat, args=(send,), daemon=True).start()
    target(text, send, cancelled.is_set, lambda: _join(rank, len(ranks), folder))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # skips the libraries' teardown, which takes seconds


def _join(rank: int, size: int, folder: str) -> Any:
    """Return the group of all ranks, once they are there: over the loopback interface, found by a file."""
    import torch
    from torch import distributed

    from .group import join

    os.environ["GLOO_SOCKET_IFNAME"] = loopback()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    store = distributed.FileStore(str(Path(folder) / "store"), size)
    return join(store, rank, size, timeout_s=TIMEOUT_S)


def _write_output_to(path: Path) -> None:
    """Write the output of libraries to a file: that of several processes would be in disorder."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)


def _listen(pipe: Connection, cancelled: threading.Event) -> None:
    """Learn that the job is to stop, or end with the process that started it."""
    try:
        while True:
            if pipe.recv_bytes() == CANCEL:
                cancelled.set()
    except (EOFError, OSError):
        os._exit(1)


def _beat(send: Callable[[events.Event], None]) -> None:
    while True:
        time.sleep(HEARTBEAT_S)
        try:
            send(events.Heartbeat())
        except OSError:
            return
