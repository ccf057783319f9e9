"""Protocol of ranks that train together: first they agree, then rank 0 sends commands, which the others follow.

Before they learn, all could begin, and all have the same program, images and settings.

Rank 0 alone has a clock, a history and files. It decides all that depends on time or on the user (learning rate, when
to validate, when to stop), and sends it as numbers before each step.

Scope: commands, errors and documents of the ranks. Independent of steps and validations themselves.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from enum import IntEnum
from typing import Any

import torch

from ..errors import Cancelled, JobError, ModelFileError, RoadSegError
from ..learning.trainer import Trainer
from ..learning.training_loop import Batches
from ..learning.validation import Block
from .group import Group, LostRankError, RankError

# Steps that a rank still takes after it was stopped: rank 0, if it was stopped with it, ends all of them by then.
_STEPS_AFTER_STOP = 2


@contextmanager
def agreed(group: Group) -> Iterator[None]:
    """End this context on all ranks alike: where one of them raises an error for the user, all do.

    Raises RankError if another rank raised it; the message names the rank.
    """
    failure = None
    try:
        yield
    except RoadSegError as error:
        failure = error
    if group.size > 1:
        report = failure and [failure.code, failure.message, failure.remedy, platform.node()]
        for rank, other in enumerate(group.gather_documents(report)):
            if other and failure is None:
                code, message, remedy, machine = other
                who = "" if code == Cancelled.code else f"Rank {rank} of {group.size} on {machine}: "
                failure = RankError(code, f"{who}{message}", remedy)
    if failure is not None:
        raise failure


def require_alike(group: Group, facts: Mapping[str, Any]) -> None:
    """Check by hashes that all ranks have the same facts: versions, settings and digests by name, as JSON.

    Raises JobError if rank 0 and another one differ; the message names the facts.
    """
    hashes = {name: hashlib.sha256(json.dumps(fact).encode()).hexdigest() for name, fact in facts.items()}
    document = {"machine": platform.node(), "hashes": hashes}
    first, *others = group.gather_documents(document)
    for rank, other in enumerate(others, 1):
        names = first["hashes"].keys() | other["hashes"].keys()
        different = sorted(name for name in names if first["hashes"].get(name) != other["hashes"].get(name))
        if different:
            raise JobError(
                f"Rank {rank} of {group.size} on {other['machine']} differs from rank 0 on {first['machine']} in: "
                f"{', '.join(different)}.",
                "Install the same versions on all machines, and give all of them the same job, images and roads.",
            )


class Command(IntEnum):
    """The next action of all ranks."""

    STEP = 0
    VALIDATE = 1
    END = 2
    HAND_IN = 3


def command(group: Group, what: Command, *numbers: float) -> None:
    """Send a command with up to three numbers to the other ranks, if they follow this one."""
    if group.is_followed:
        group.broadcast(torch.tensor([what, *numbers, *(3 - len(numbers)) * (0,)], dtype=torch.float64))


@contextmanager
def leading(group: Group) -> Iterator[None]:
    """Have the other ranks, which `follow`, do what this one does in this context, and end at its end."""
    group.is_followed = group.size > 1
    try:
        yield
    except BaseException:
        with suppress(RuntimeError, LostRankError):  # of a group that has failed, which is being raised
            command(group, Command.END)
        raise
    else:
        command(group, Command.END)
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
