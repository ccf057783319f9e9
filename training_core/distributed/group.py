"""The group of ranks that train together, and their collective communication by torch.distributed and gloo.

Documents travel as JSON and tensors as they are: torch's own collectives of objects would unpickle what arrives.

Scope: sums, gathering, broadcasts in the order of the ranks. Independent of how processes start and of models.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from enum import IntEnum
from pathlib import Path
from typing import Any, Optional

import psutil
import torch
from torch import Tensor
from torch import distributed as dist

from ..errors import LostRankError

# Longer than any rank waits for another one: reading large images, or a step where memory is short.
TIMEOUT_S = 3600.0
LOCAL = "127.0.0.1"


class Command(IntEnum):
    """The next action of all ranks."""

    STEP = 0
    VALIDATE = 1
    END = 2
    HAND_IN = 3


class Group:
    """The ranks that train together, as one of them sees it; with a single rank every collective is the identity.

    Rank 0 leads. By default all ranks are on this machine. `waited_s` counts all time in collectives: waiting for
    others, and for the network. `threads` communicate for this rank, while it computes or waits. While it
    `is_followed`, the other ranks do what it commands.
    """

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        local_size: Optional[int] = None,
        process_group: Optional[dist.ProcessGroup] = None,
    ) -> None:
        self.rank, self.size, self.process_group = rank, size, process_group
        self.local_size = size if local_size is None else local_size
        self.sent_bytes, self.waited_s, self.is_followed = 0, 0.0, False
        self.threads: frozenset[int] = frozenset()

    @property
    def leads(self) -> bool:
        """Whether this is rank 0, which decides, reports and writes."""
        return self.rank == 0

    @property
    def handled_s(self) -> float:
        """CPU time that the threads of communication have taken so far; 0 if the system does not measure it."""
        return sum(busy_s for thread, busy_s in _busy_s_by_thread().items() if thread in self.threads)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time in this context, in which nothing but a collective happens, as waited.

        Raises LostRankError if the collective failed, as it does on all ranks when one of them ends.
        """
        began_s = time.perf_counter()
        try:
            yield
        except RuntimeError as error:  # all that gloo raises
            raise LostRankError(
                f"Rank {self.rank} of {self.size} has lost the connection to another rank ({error})."
            ) from error
        self.waited_s += time.perf_counter() - began_s

    def gather(self, tensor: Tensor) -> Tensor:
        """Return a tensor (...) of the same shape on all ranks from each of them, (ranks, ...), same dtype."""
        if self.size == 1:
            return tensor[None]
        gathered = tensor.new_empty(self.size * tensor.numel())  # gloo concatenates along the first axis
        with self.waiting():
            dist.all_gather_into_tensor(gathered, tensor.contiguous().view(-1), group=self.process_group)
        self.sent_bytes += tensor.nbytes * (self.size - 1)
        return gathered.view(self.size, *tensor.shape)

    def sum(self, tensor: Tensor) -> Tensor:
        """Return the sum over all ranks of a small tensor (...), same dtype, added in the order of the ranks.

        Every rank gets the same bits, unlike from an all-reduce over rings of different order.
        """
        first, *others = self.gather(tensor)
        for other in others:
            first = first + other
        return first

    def broadcast(self, tensor: Tensor) -> Tensor:
        """Return rank 0's tensor (...), any dtype, which overwrites that of all others in place."""
        if self.size > 1:
            with self.waiting():
                dist.broadcast(tensor, group_src=0, group=self.process_group)
            self.sent_bytes += tensor.nbytes * self.leads
        return tensor

    def broadcast_document(self, document: Any = None) -> Any:
        """Return rank 0's document, of what JSON can hold; that of the others does not matter."""
        text = torch.frombuffer(bytearray(json.dumps(document), "utf-8"), dtype=torch.uint8)
        length = self.broadcast(torch.tensor(len(text)))
        text = text if self.leads else torch.empty(int(length), dtype=torch.uint8)
        return json.loads(bytes(self.broadcast(text).numpy()))

    def gather_documents(self, document: Any) -> list[Any]:
        """Return the documents of all ranks, of what JSON can hold, in the order of the ranks."""
        # Texts differ in length, and gloo gathers tensors of one shape.
        text = torch.frombuffer(bytearray(json.dumps(document), "utf-8"), dtype=torch.uint8)
        lengths = self.gather(torch.tensor(len(text)))
        padded = torch.zeros(int(lengths.max()), dtype=torch.uint8)
        padded[: len(text)] = text
        return [json.loads(bytes(row[:length].numpy())) for row, length in zip(self.gather(padded), lengths)]

    def broadcast_tensors(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return rank 0's tensors (...) of any dtype by name; those of the others do not matter."""
        if self.size == 1:
            return tensors
        kinds = self.broadcast_document(_kinds(tensors) if self.leads else None)
        return {
            name: self.broadcast(tensors[name].contiguous() if self.leads else _empty(*kind))
            for name, kind in kinds.items()
        }

    def collect_tensors(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return on rank 0 the tensors (...) of all ranks, any dtype, by name; on the others nothing."""
        kinds = self.gather_documents(_kinds(tensors))
        if not self.leads:
            for tensor in tensors.values():
                with self.waiting():
                    dist.send(tensor.contiguous(), group=self.process_group, group_dst=0)
                self.sent_bytes += tensor.nbytes
            return {}
        joint = dict(tensors)
        for rank, kinds_of_rank in enumerate(kinds[1:], 1):
            for name, kind in kinds_of_rank.items():
                joint[name] = _empty(*kind)
                with self.waiting():
                    dist.recv(joint[name], group=self.process_group, group_src=rank)
        return joint

    def command(self, what: Command, *numbers: float) -> None:
        """Send a command with up to three numbers to the other ranks, if they follow this one."""
        if self.is_followed:
            self.broadcast(torch.tensor([what, *numbers, *(3 - len(numbers)) * (0,)], dtype=torch.float64))

    def divided(self, divisions: Sequence[Sequence[int]]) -> Group:
        """Divide the ranks into groups, the same on all ranks, which call this together; return this rank's group."""
        groups = [
            Group(ranks.index(self.rank) if self.rank in ranks else -1, len(ranks), process_group=dist.new_group(ranks))
            for ranks in divisions
        ]
        return next(group for group in groups if group.rank >= 0)


def join(
    store: dist.Store, rank: int, size: int, local_size: Optional[int] = None, timeout_s: float = TIMEOUT_S
) -> Group:
    """Return the group of processes that meet at a store; no rank waits for another one as long as `timeout_s`."""
    others, timeout = _busy_s_by_thread().keys(), timedelta(seconds=timeout_s)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timeout)
    group = Group(rank, size, local_size)
    group.threads = frozenset(_busy_s_by_thread().keys() - others)
    return group


def join_here(folder: str, rank: int, size: int, timeout_s: float = TIMEOUT_S) -> Group:
    """Return the group of processes of this machine that meet in a folder, over the loopback interface."""
    os.environ["GLOO_SOCKET_IFNAME"] = loopback()
    return join(dist.FileStore(str(Path(folder, "store")), size), rank, size, timeout_s=timeout_s)


def loopback() -> str:
    """Return the name of the loopback interface: lo on Linux, lo0 on macOS, and some words on Windows."""
    interfaces = psutil.net_if_addrs().items()
    return next((name for name, addresses in interfaces if any(each.address == LOCAL for each in addresses)), "lo")


def _busy_s_by_thread() -> dict[int, float]:
    """Return the CPU time of each thread of this process so far, also of those that libraries have started."""
    try:
        return {thread.id: thread.user_time + thread.system_time for thread in psutil.Process().threads()}
    except psutil.Error:  # macOS tells it to administrators alone
        return {}


def _kinds(tensors: dict[str, Tensor]) -> dict[str, list[Any]]:
    """Return the arguments of `_empty` for some tensors, as a document."""
    return {name: [str(tensor.dtype).removeprefix("torch."), *tensor.shape] for name, tensor in tensors.items()}


def _empty(dtype: str, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=getattr(torch, dtype))


ALONE = Group()
