"""The ranks of a fine-tune, as one of them sees them: first they agree, then rank 0 leads and the others follow.

Before they learn, all could begin, and all have the same program, images and settings. Rank 0 alone has a clock, a
history and files. It decides all that depends on time or on the user (learning rate, when to validate, when to stop),
and sends it as numbers before each step.

Scope: the door between a pipeline and this package. Independent of steps and validations themselves.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Cancelled, JobError, LostRankError, ModelFileError, RankError, RoadSegError
from ..jobs import StepOptions
from ..learning.step import MakeStep, Stopwatch
from ..learning.trainer import Trainer
from ..learning.training_loop import Batches, Training
from ..learning.validation import Block
from ..models.engines import NativeEngine
from .data_parallel import DataParallel, PipelineParallel
from .group import Command, Group
from .parallel_record import Meter

# Steps that a rank still takes after it was stopped: rank 0, if it was stopped with it, ends all of them by then.
_STEPS_AFTER_STOP = 2


class Ranks:
    """The ranks of a group, at least two, that train together; with several `stages`, in pipelines of so many ranks.

    Compressed, gradients travel in BF16.
    """

    def __init__(self, group: Group, stages: int = 1, is_compressed: bool = False) -> None:
        self.group, self.leads = group, group.leads
        self._stages, self._is_compressed = stages, is_compressed

    @cached_property
    def share(self) -> DataParallel:
        """The share of this rank; all ranks ask for it together."""
        if self._stages > 1:
            return PipelineParallel(self.group, self._stages, self._is_compressed)
        return DataParallel(self.group, self._is_compressed)

    @contextmanager
    def agreed(self) -> Iterator[None]:
        """End this context on all ranks alike: where one of them raises an error for the user, all do.

        Raises RankError if another rank raised it; the message names the rank.
        """
        failure = None
        try:
            yield
        except RoadSegError as error:
            failure = error
        report = failure and [failure.code, failure.message, failure.remedy, platform.node()]
        for rank, other in enumerate(self.group.gather_documents(report)):
            if other and failure is None:
                code, message, remedy, machine = other
                who = "" if code == Cancelled.code else f"Rank {rank} of {self.group.size} on {machine}: "
                failure = RankError(code, f"{who}{message}", remedy)
        if failure is not None:
            raise failure

    def require_alike(self, facts: Mapping[str, Any]) -> None:
        """Check by hashes that all ranks have the same facts: versions, settings and digests by name, as JSON.

        Raises JobError if rank 0 and another one differ; the message names the facts.
        """
        hashes = {name: hashlib.sha256(json.dumps(fact).encode()).hexdigest() for name, fact in facts.items()}
        first, *others = self.group.gather_documents([platform.node(), hashes])
        for rank, (machine, other) in enumerate(others, 1):
            different = sorted({name for name, _ in first[1].items() ^ other.items()})
            if different:
                raise JobError(
                    f"Rank {rank} of {self.group.size} on {machine} differs from rank 0 on {first[0]} in: "
                    f"{', '.join(different)}.",
                    "Install the same versions on all machines, and give all of them the same job, images and roads.",
                )

    def trainer(
        self, model: nn.Module, engine: NativeEngine, recipe: StepOptions, make_step: MakeStep, **options: Any
    ) -> Trainer:
        """Return a trainer whose steps all ranks take together."""
        share = self.share
        trainer = Trainer(model, engine, recipe, make_step, stopwatch=Stopwatch(lambda: share.waited_s), **options)
        share.attach(trainer.model)
        return trainer

    def resume(self, trainer: Trainer, step: int, state: dict[str, Tensor]) -> int:
        """Return rank 0's step, whose state, (...), any dtype, the other ranks resume from; 0 if they begin."""
        step = self.group.broadcast_document(step)
        if step:
            state = self.group.broadcast_tensors(state)
            if not self.leads:
                trainer.load_state_dict(state)
        return step

    @contextmanager
    def leading(self, training: Training) -> Iterator[Meter]:
        """Lead the other ranks through a training; provide what measures it, to be read afterwards."""
        with leading(self.group):
            yield Meter(training, self.share)

    def follow(self, training: Training, batches: Batches, is_stopped: Callable[[], bool]) -> None:
        """Follow rank 0 through a training; see `follow`."""
        meter = Meter(training, self.share)
        follow(training.trainer, self.group, batches, training.blocks, is_stopped)
        meter.read()


@contextmanager
def leading(group: Group) -> Iterator[None]:
    """Have the other ranks, which `follow`, do what this one does in this context, and end at its end."""
    group.is_followed = True
    try:
        yield
    except BaseException:
        with suppress(RuntimeError, LostRankError):  # of a group that has failed, which is being raised
            group.command(Command.END)
        raise
    else:
        group.command(Command.END)
    finally:
        group.is_followed = False


def follow(
    trainer: Trainer,
    group: Group,
    batches: Batches,
    blocks: Sequence[Block],
    is_stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Follow rank 0's commands until the training has ended; `is_stopped` if this rank is to stop by itself.

    Blocks are all held-out ones, in the order of rank 0. The batches, of this rank's chips, are closed at the end.

    Raises Cancelled if this rank was stopped, but not rank 0.
    """
    steps_left = _STEPS_AFTER_STOP
    with closing(batches):
        while True:
            what, *numbers = group.broadcast(torch.zeros(4, dtype=torch.float64)).tolist()
            if what == Command.STEP:
                steps_left = steps_left - 1 if is_stopped() else _STEPS_AFTER_STOP
                if steps_left < 0:
                    raise Cancelled("It was stopped there. The first machine has the checkpoint.")
                trainer.step(*next(batches), numbers[0])
            elif what == Command.VALIDATE:
                with suppress(ModelFileError):  # rank 0 reports it
                    trainer.validate(blocks[: int(numbers[0])], int(numbers[1]), numbers[2])
            elif what == Command.HAND_IN:
                _ = trainer.state_dict() if numbers[0] else trainer.weights()
            else:
                return
