"""Protocol of ranks that train together: rank 0 sends commands, which the others follow.

Rank 0 alone has a clock, a history and files. It decides all that depends on time or on the user (learning rate, when
to validate, when to stop), and sends it as numbers before each step.

Scope: commands. Independent of steps and validations themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from enum import IntEnum
from typing import TYPE_CHECKING, cast

import torch

from ..errors import Cancelled, ModelFileError
from ..learning.trainer import Trainer
from ..learning.training_loop import Batches
from ..learning.validation import Block, validate
from .group import Group, LostRankError

if TYPE_CHECKING:
    from .pipeline_trainer import PipelineTrainer  # which loads 190 MB of torch

# Steps that a rank still takes after it was stopped: rank 0, if it was stopped with it, ends all of them by then.
_STEPS_AFTER_STOP = 2


class Command(IntEnum):
    """The next action of all ranks."""

    STEP = 0
    VALIDATE = 1
    END = 2
    HAND_IN = 3


def command(group: Group, what: Command, *numbers: float) -> None:
    """Send a command with up to three numbers to the other ranks, if there are any."""
    if group.size > 1:
        group.broadcast(torch.tensor([what, *numbers, *(3 - len(numbers)) * (0,)], dtype=torch.float64))


@contextmanager
def leading(group: Group) -> Iterator[None]:
    """End the other ranks' work at the end of this context, also after an error."""
    try:
        yield
    except BaseException:
        with suppress(RuntimeError, LostRankError):  # of a group that has failed, which is being raised
            command(group, Command.END)
        raise
    command(group, Command.END)


def follow(
    trainer: Trainer,
    group: Group,
    batches: Batches,
    blocks: Sequence[Block],
    is_stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Follow rank 0's commands until the training has ended; `is_stopped` if this rank is to stop by itself.

    Blocks are all held-out ones, in the order of rank 0. The batches, of this rank's chips, are closed at the end.

    Raises
    ------
    Cancelled
        This rank was stopped, but not rank 0.
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
                count, fewest, limit_s = int(numbers[0]), int(numbers[1]), numbers[2]
                with (
                    trainer.validating(blocks[0].image.bands) as predictor,
                    suppress(ModelFileError),
                ):  # rank 0 reports it
                    # Rank 0 reports an error.
                    validate(predictor, blocks[:count], fewest, limit_s, trainer.strategy)
            elif what == Command.HAND_IN:
                cast("PipelineTrainer", trainer).hand_in(int(numbers[0]))
            else:
                return
