"""Ranks that torchrun, SLURM or the like has started, on one machine or several, each with its number in variables.

Nobody watches all of them, so they watch each other: each one counts up in the store of the group every second. A rank
whose count stands still has died, hangs, or its link is down.

Scope: the variables, the store, the watch. Independent of the job.
"""

from __future__ import annotations

import itertools
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, suppress
from datetime import timedelta
from queue import Empty, Queue

from torch import distributed

from ..errors import LostRankError, RoadSegError, WorkerError
from ..system.environment import RESTARTS, number
from .group import LOCAL, Group, join, loopback
from .launch import RESUME

BEAT_S, SILENCE_S = 1.0, 8.0
# How long a rank waits for the others to be started.
MEETING_S = 120.0
# Last message of a rank instead of a count: it has done its part, or the reason why it has failed.
_ENDED, _FAILED = "ended", "failed "


@contextmanager
def joined(fail: Callable[[RoadSegError], None]) -> Iterator[Group]:
    """Provide the group of all ranks, and watch the others.

    `fail` takes the error and ends this process. It is called from the watching thread: this one may wait forever.

    Raises JobError if a variable is not a number. Raises WorkerError if the other ranks cannot be reached.
    """
    rank, size = number("RANK"), number("WORLD_SIZE", 1)
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    if os.environ["MASTER_ADDR"] in ("localhost", LOCAL, "::1"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback())
    try:
        store = _meet(rank, size)
        group = join(store, rank, size, number("LOCAL_WORLD_SIZE", size))
        machines = group.gather_documents(platform.node())
    except (RuntimeError, ValueError) as error:  # among these what torch.distributed calls DistNetworkError
        raise WorkerError(
            f"Rank {rank} of {size} on {platform.node()} cannot meet the others at {address} ({error}).",
            "Check that all ranks were started, that the address is that of the first machine, that no other program "
            "has the port, and that GLOO_SOCKET_IFNAME names the network interface between the machines.",
        ) from error
    last_words: Queue[str] = Queue()
    watch = threading.Thread(target=_watch, args=(group, machines, last_words, fail), daemon=True)
    watch.start()
    try:
        yield group
        last_words.put(_ENDED)
    except LostRankError:
        watch.join(2 * SILENCE_S)  # it names the lost rank, and ends this process
        raise
    except BaseException as error:
        last_words.put(f"{_FAILED}{error}")
        raise
    finally:
        watch.join(2 * SILENCE_S)


def _meet(rank: int, size: int) -> distributed.Store:
    """Return the store of the group, once all ranks have come to it; torchrun holds it, or else rank 0."""
    store = _connect(rank == 0 and not os.environ.get("TORCHELASTIC_USE_AGENT_STORE"), MEETING_S)
    store.set(f"here/{rank}", "yes")
    store.wait([f"here/{each}" for each in range(size)], timedelta(seconds=MEETING_S))
    return store


def _watch(group: Group, machines: list[str], last_words: Queue[str], fail: Callable[[RoadSegError], None]) -> None:
    """Count up for the others, and end this process when one of them no longer does."""
    others = [rank for rank in range(group.size) if rank != group.rank]
    counts, silent_s = dict.fromkeys(others, ""), dict.fromkeys(others, 0.0)
    last_word = ""
    with ThreadPoolExecutor(1) as talker:  # where a link is down, talking to the store may never end
        try:
            store = talker.submit(_connect, False, SILENCE_S).result(SILENCE_S)
            for count in itertools.count():
                with suppress(Empty):
                    last_word = last_words.get(timeout=BEAT_S)
                talk = talker.submit(_exchange, store, group.rank, last_word or str(count), others)
                for rank, found in talk.result(SILENCE_S).items():
                    is_well = found in (_ENDED, "") or found != counts[rank]
                    silent_s[rank] = 0.0 if is_well else silent_s[rank] + BEAT_S
                    counts[rank] = found
                    name = f"Rank {rank} of {group.size} on {machines[rank]}"
                    if not last_word and found.startswith(_FAILED):
                        fail(WorkerError(f"{name} has failed: {found[len(_FAILED) :]}", RESUME))
                    if not last_word and silent_s[rank] >= SILENCE_S:
                        silence = f"has not answered for {SILENCE_S:.0f} s: it was killed, hangs, or its link is down"
                        fail(WorkerError(f"{name} {silence}.", RESUME))
                if last_word:
                    return
        except (RuntimeError, FutureTimeout) as error:  # the store, which torchrun or rank 0 holds
            if not last_word:
                why = str(error) or "its link is down"
                fail(WorkerError(f"The first machine, {machines[0]}, can no longer be reached ({why}).", RESUME))


def _exchange(store: distributed.Store, rank: int, count: str, others: list[int]) -> dict[int, str]:
    """Store the count of this rank, and return those of other ranks; nothing for those that have not begun."""
    store.set(f"beat/{rank}", count)
    keys = {other: f"beat/{other}" for other in others}
    return {other: store.get(key).decode() if store.check([key]) else "" for other, key in keys.items()}


def _connect(is_held: bool, timeout_s: float) -> distributed.Store:
    """Return the store itself where this process holds it, or else a connection to it; each restart has its own."""
    store = distributed.TCPStore(
        os.environ["MASTER_ADDR"], number("MASTER_PORT"), is_master=is_held, timeout=timedelta(seconds=timeout_s),
        wait_for_workers=False, use_libuv=sys.platform != "win32",
    )  # fmt: skip  # PyTorch's wheels for Windows lack that library
    return distributed.PrefixStore(f"roadseg/{number(RESTARTS)}", store)
