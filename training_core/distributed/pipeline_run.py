"""A pipeline under way: the micro-batches of a step pass through the stages of several ranks, by the schedule 1F1B.

Scope: one stage on one rank, and the tensors that it receives and sends. Independent of cuts and of optimizers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Optional

import torch
from torch import Tensor, distributed, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from .group import Group, LostRankError

# Returns a context that surrounds a pass.
Watch = Callable[[], AbstractContextManager]


class Pipeline:
    """The stage of a rank, for micro-batches of one shape: at least as many a step as the pipeline has ranks.

    The inputs and outputs `between` stages are (batch, ...), float32 or bfloat16, without memory; see `handed_over`.
    The losses of a step's micro-batches add up. The two watches return contexts for the passes forward and backward.
    """

    def __init__(
        self,
        stage: nn.Module,
        group: Group,
        between: tuple[Sequence[Tensor], Sequence[Tensor]],
        batches: int,
        loss: Callable[[tuple[Tensor], Tensor], Tensor],
        watches: tuple[Watch, Watch],
    ) -> None:
        self._group, self._is_first, self._is_last = group, group.rank == 0, group.rank == group.size - 1
        arguments = {"input_args": tuple(between[0]), "output_args": tuple(between[1]), "group": group.process_group}
        place = _WatchedStage(stage, group.rank, group.size, torch.device("cpu"), **arguments)
        place.watches = watches
        self._schedule = Schedule1F1B(place, batches, loss_fn=partial(_caused, loss), scale_grads=False)
        sent = [
            *(() if self._is_first else between[0]),
            *(() if self._is_last else between[1]),
        ]  # of the first, gradients
        self._sent_bytes = batches * sum(each.nbytes for each in sent)

    def run(self, images: Tensor, labels: Tensor) -> list[float]:
        """Add the gradients of a step to those of the stage; return the losses of the micro-batches on the last stage.

        Only the first stage needs the images, (chips, bands, height, width), float32, of all micro-batches, and only
        the last one their labels, (chips, height, width), uint8.

        Raises LostRankError if another rank has ended, or cannot be reached.
        """
        losses: list[Tensor] = []
        inputs = (images,) if self._is_first else ()
        target = {"target": labels, "losses": losses} if self._is_last else {}
        try:
            self._schedule.step(*inputs, **target)
        except RuntimeError as error:
            if error.__cause__ is not None:  # a pass has raised it, and torch adds a description of all tensors
                raise error.__cause__ from None
            raise LostRankError(
                f"Stage {self._group.rank} of {self._group.size} has lost another ({error})."
            ) from error
        self._group.sent_bytes += self._sent_bytes
        return [loss.item() for loss in losses]


class _WatchedStage(PipelineStage):
    """torch's stage with contexts around its passes, and, unlike torch's own, memory for inputs only while needed."""

    watches: tuple[Watch, Watch]

    def forward_one_chunk(self, *arguments: Any, **named: Any) -> Any:
        with self.watches[0]():
            return super().forward_one_chunk(*arguments, **named)

    def backward_one_chunk(self, bwd_chunk_id: int, *arguments: Any, **named: Any) -> None:
        with self.watches[1]():
            super().backward_one_chunk(bwd_chunk_id, *arguments, **named)
        _renew(self.args_recv_info[bwd_chunk_id], "meta")
        _renew(self.grad_recv_info[bwd_chunk_id], "meta")

    def get_fwd_recv_ops(self, fwd_chunk_id: int) -> list[distributed.P2POp]:
        _renew(self.args_recv_info[fwd_chunk_id], "cpu")
        return super().get_fwd_recv_ops(fwd_chunk_id)

    def get_bwd_recv_ops(self, bwd_chunk_id: int) -> list[distributed.P2POp]:
        _renew(self.grad_recv_info[bwd_chunk_id], "cpu")
        return super().get_bwd_recv_ops(bwd_chunk_id)


def _caused(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; its errors get a cause, as torch's errors in passes have and those of communication have not."""
    try:
        return function(*arguments)
    except RuntimeError as error:
        raise RuntimeError("The loss failed.") from error


def _renew(received: Sequence[Any], device: str) -> None:
    """Give received tensors new memory, or none (on the device meta); images come from elsewhere."""
    for each in received:
        buffer: Optional[Tensor] = getattr(each, "buffer", None)
        if buffer is not None:
            each.buffer = torch.empty_like(buffer, device=device, requires_grad=buffer.requires_grad)
