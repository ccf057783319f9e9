"""Sums of gradients over ranks, in the order of the batches: the bits of one process that accumulates them in turn.

Gradients are packed into buckets during the backward pass, and each bucket is sent while that pass goes on. Every rank
gets its slice of the bucket from all others and adds these up in FP32 in the order of the ranks. In the end the sums
are gathered. A rank sends 2 (n - 1) / n times the size of the gradients. So does a ring all-reduce, but its order of
addition depends on the number of ranks. DistributedDataParallel also adds up a rank's own batches first. Compressed,
gradients and their sums travel in BF16, half as many bytes, but are still added up in FP32.

Scope: parameters and their gradients. Independent of the model and of how batches are shared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Optional

import torch
from torch import Tensor, distributed, nn

from .group import Group

# A bucket is large enough for most of it to be sent while the backward pass goes on, and for messages of some size.
BUCKET_BYTES, MESSAGE_BYTES = 16_000_000, 1_000_000
# A bucket's sums of the last round are gathered when this number of further buckets has been sent.
LAG = 2


@dataclass
class _Bucket:
    """Parameters whose gradients travel together.

    Each has a view of its part of `sent`, in its shape and order in memory. Gradients `sent` by this rank and
    `received` for its slice are (ranks * slice,), in the dtype of the parameters, or bfloat16. In the end `sent` holds
    the sums of all slices. `total`, (slice,), is the sum of this rank's slice, of nothing yet where `is_empty`. The
    first `contributors` ranks have sent something in this round.
    """

    views: dict[nn.Parameter, Tensor]
    sent: Tensor
    received: Tensor
    total: Tensor
    is_empty: bool = True
    pending: set[nn.Parameter] = field(default_factory=set)
    contributors: int = 0
    work: Optional[distributed.Work] = None

    @property
    def slice_bytes(self) -> int:
        """Bytes of one slice of `sent`, which travel to or from a rank in a round."""
        return len(self.total) * self.sent.element_size()


class GradientExchange:
    """Sums the gradients of a step over the ranks, at least two, of a group; compressed, they travel in BF16.

    A step has rounds. In each of them the first ranks, or all, compute a batch. After `begin_round`, the backward pass
    hands its gradients over; after the last round, `finish` puts the sums into `.grad`.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], group: Group, is_compressed: bool = False) -> None:
        self._group = group
        self._buckets = list(_buckets([each for each in parameters if each.requires_grad], group.size, is_compressed))
        self._contributors, self._is_last, self._sent, self._gathered = 0, False, 0, 0
        for bucket in self._buckets:
            for parameter in bucket.views:
                parameter.register_post_accumulate_grad_hook(partial(self._take, bucket))

    def begin_round(self, contributors: int, is_last: bool) -> None:
        """Begin a round, in which the first `contributors` ranks compute a batch."""
        self.end_round()
        self._contributors, self._is_last, self._sent, self._gathered = contributors, is_last, 0, 0
        for bucket in self._buckets:
            bucket.pending = set(bucket.views) if self._contributes else set()

    def end_round(self) -> None:
        """Send the rest of a round, or everything if this rank computed nothing; other collectives come only then."""
        while self._contributors and self._sent < len(self._buckets):
            bucket = self._buckets[self._sent]
            self._add_up(bucket)
            for parameter in bucket.pending:  # which the loss does not depend on
                bucket.views[parameter].zero_()
            self._send_next()

    def finish(self) -> None:
        """Wait for the sums of all rounds, which are the `.grad` of the parameters from here on."""
        self.end_round()
        while self._gathered < len(self._buckets):
            self._gather_next()
        for bucket in self._buckets:
            self._wait(bucket)
            bucket.is_empty = True
            for parameter, view in bucket.views.items():
                parameter.grad = view.to(parameter.dtype)
        self._contributors = 0

    @property
    def _contributes(self) -> bool:
        return self._group.rank < self._contributors

    def _take(self, bucket: _Bucket, parameter: nn.Parameter) -> None:
        """Take a gradient that the backward pass has just made, and send the buckets that are complete by it.

        They are sent in their order: collectives must meet in the same order on all ranks.
        """
        self._add_up(bucket)  # the gradients of the former round are overwritten
        bucket.views[parameter].copy_(parameter.grad)
        parameter.grad = None
        bucket.pending.discard(parameter)
        while self._sent < len(self._buckets) and not self._buckets[self._sent].pending:
            self._send_next()

    def _send_next(self) -> None:
        group, bucket = self._group, self._buckets[self._sent]
        self._add_up(bucket)
        bucket.contributors, length = self._contributors, len(bucket.total)
        # Every rank gets its slice of this rank's gradients; those who computed nothing send nothing.
        sends = [length * self._contributes] * group.size
        receives = [length * (rank < bucket.contributors) for rank in range(group.size)]
        with group.waiting():
            bucket.work = distributed.all_to_all_single(
                bucket.received[: sum(receives)],
                bucket.sent[: sum(sends)],
                receives,
                sends,
                group=group.process_group,
                async_op=True,
            )
        group.sent_bytes += bucket.slice_bytes * (group.size - 1) * self._contributes
        self._sent += 1
        if self._is_last and self._sent - self._gathered > LAG:
            self._gather_next()

    def _add_up(self, bucket: _Bucket) -> None:
        """Add what a bucket has received to the sum of this rank's slice, in the order of the ranks."""
        if bucket.work is None:
            return
        self._wait(bucket)
        for gradients in bucket.received.view(self._group.size, -1)[: bucket.contributors]:
            if bucket.is_empty:
                bucket.total.copy_(gradients)
            else:
                bucket.total.add_(gradients)
            bucket.is_empty = False

    def _gather_next(self) -> None:
        bucket = self._buckets[self._gathered]
        self._add_up(bucket)
        with self._group.waiting():
            bucket.work = distributed.all_gather_into_tensor(
                bucket.sent, bucket.total.to(bucket.sent.dtype), group=self._group.process_group, async_op=True
            )
        self._group.sent_bytes += bucket.slice_bytes * (self._group.size - 1)
        self._gathered += 1

    def _wait(self, bucket: _Bucket) -> None:
        if bucket.work is not None:
            with self._group.waiting():
                bucket.work.wait()
            bucket.work = None


def bucket_bytes(ranks: int) -> int:
    """Return the least size of a bucket: every message has its latency, and there are twice as many as other ranks."""
    return max(BUCKET_BYTES, MESSAGE_BYTES * ranks)


def _buckets(parameters: list[nn.Parameter], ranks: int, is_compressed: bool) -> Iterator[_Bucket]:
    """Yield buckets of parameters of one type, in the order in which a backward pass makes their gradients."""
    pack: list[nn.Parameter] = []
    for parameter, following in zip_longest(reversed(parameters), reversed(parameters[:-1])):
        pack.append(parameter)
        is_full = sum(each.nbytes for each in pack) >= bucket_bytes(ranks)
        if is_full or following is None or following.dtype != parameter.dtype:
            yield _new_bucket(pack, ranks, torch.bfloat16 if is_compressed else parameter.dtype)
            pack = []


def _new_bucket(parameters: list[nn.Parameter], ranks: int, dtype: torch.dtype) -> _Bucket:
    length = math.ceil(sum(parameter.numel() for parameter in parameters) / ranks)
    # Each parameter is a view of the buffer in its own order in memory, so that copying its gradient is one pass.
    sent, received = parameters[0].new_zeros(2, ranks * length, dtype=dtype).unbind()
    views, offset = {}, 0
    for parameter in parameters:
        strides = torch.empty_like(parameter, device="meta").stride()  # without gaps
        views[parameter] = sent.as_strided(parameter.shape, strides, sent.storage_offset() + offset)
        offset += parameter.numel()
    return _Bucket(views, sent, received, parameters[0].new_zeros(length))
