"""The workers of a fleet as processes of this machine, each with cores and memory of its own (`system.machine`)."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from ..regions.tasks import Task
from ..system.machine import Place, listen, start_process
from .runner import MAX_KILLS, Answered, Lost, News, Prepared, answer, as_text, prepare


@dataclass
class _Process:
    """A worker: its number, which its successors have as well, and whether it is prepared."""

    place: int
    process: BaseProcess
    pipe: Connection
    is_prepared: bool = False

    def end(self) -> None:
        """Kill it. Its current task need not end: results that are whole are in the store."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class ProcessWorkers:
    """A process at each of some places; see `runner.Workers`. One that dies is replaced.

    The preparation is the first task of each.
    """

    remedy = "Use one process (workers), or free some of its memory."

    def __init__(self, preparation: Task, places: list[Place]) -> None:
        self.name = f"{len(places)} processes of this machine"
        self._preparation = as_text(preparation)
        self._places = places
        # Processes that died before they were prepared: after some of them, none is started any more.
        self._failed_starts = 0
        self._by_address: dict[str, _Process] = {}
        for place in range(len(places)):
            self._start(place)

    @property
    def starting(self) -> list[str]:
        """See `runner.Workers`."""
        return [address for address, worker in self._by_address.items() if not worker.is_prepared]

    def poll(self, timeout_s: float) -> Iterator[tuple[str, News]]:
        """See `runner.Workers`."""
        ready = wait([worker.pipe for worker in self._by_address.values()], timeout_s)
        for address, worker in list(self._by_address.items()):
            if worker.pipe not in ready:
                continue
            try:
                message = json.loads(worker.pipe.recv_bytes())
            except (EOFError, OSError):
                yield address, Lost()
                self._replace(address)
                continue
            if worker.is_prepared:
                yield address, Answered(message["number"], message)
            else:
                worker.is_prepared = True
                yield address, Prepared(message["name"], tuple(message["lacks"]))

    def send(self, worker: str, number: int, text: str) -> None:
        """See `runner.Workers`."""
        with suppress(OSError):  # it died, as `poll` finds out
            self._by_address[worker].pipe.send_bytes(json.dumps([number, text]).encode())

    def cancel(self, numbers: Iterable[int]) -> None:
        """See `runner.Workers`."""

    def close(self) -> None:
        """See `runner.Workers`."""
        for worker in self._by_address.values():
            worker.process.kill()
        for worker in self._by_address.values():
            worker.end()
        self._by_address.clear()

    def _start(self, place: int) -> None:
        at = self._places[place]
        process, pipe = start_process(at, _work, f"worker {place}", at.threads, self._preparation)
        self._by_address[f"process {process.pid}"] = _Process(place, process, pipe)

    def _replace(self, address: str) -> None:
        worker = self._by_address.pop(address)
        worker.end()
        self._failed_starts += not worker.is_prepared
        if self._failed_starts < MAX_KILLS * len(self._places):
            self._start(worker.place)


def _work(pipe: Connection, name: str, threads: int, preparation: str) -> None:
    """Prepare this process, then do tasks as they come; it ends when its pipe does."""
    texts: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    listen(pipe, texts.put)  # tasks come while others are done
    full_name, lacks = prepare(preparation, name, threads)
    pipe.send_bytes(json.dumps({"name": full_name, "lacks": lacks}).encode())
    while True:
        number, text = json.loads(texts.get())
        pipe.send_bytes(json.dumps({"number": number, **answer(text)}).encode())
