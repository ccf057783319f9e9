"""Environment variables by which torchrun, or SLURM with PyTorch's names, gives a process its rank.

Scope: the variables; standard library only, since PyTorch is loaded when threads are known.
"""

from __future__ import annotations

import os

from ..errors import JobError

NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def are_set() -> bool:
    """Whether this process is one of several ranks.

    Raises
    ------
    JobError
        The number of ranks is not a number.
    """
    return all(os.environ.get(name) for name in NEEDED) and number("WORLD_SIZE", 1) > 1


def number(name: str, default: int) -> int:
    """Return the number in a variable.

    Raises
    ------
    JobError
        It is not a whole number.
    """
    text = os.environ.get(name, "")
    if text and not (text.isascii() and text.isdecimal()):
        raise JobError(f"The variable {name} is {text!r}.", "Start the job with torchrun, or unset it.")
    return int(text) if text else default


def restarts() -> int:
    """Return how often torchrun has restarted the ranks.

    Raises
    ------
    JobError
        The variable is not a number.
    """
    return number("TORCHELASTIC_RESTART_COUNT", 0)
