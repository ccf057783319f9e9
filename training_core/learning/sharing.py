"""How the batches of a step are shared out over ranks: whole batches, or a part of each.

Scope: numbers of chips and of ranks. Independent of what is computed of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..distributed.group import Group
from ..jobs.recipe import SPLIT


@dataclass(frozen=True)
class Part:
    """What a rank computes in a round of a step: a forward and a backward pass.

    Parameters
    ----------
    chips : range
        Numbers of its chips among those of the step; may be empty.
    batch : range
        Numbers of the chips of the batch that they belong to.
    contributors : int
        How many of the first ranks compute something in this round.
    """

    chips: range
    batch: range
    contributors: int


def parts_of_step(chips: int, batch_size: int, group: Group, sharing: str) -> list[Part]:
    """Return what a rank computes of a step, one part a round.

    Parameters
    ----------
    chips : int
        In the step.
    sharing : str
        batches or split.

    Returns
    -------
    list of Part
        As many on every rank.
    """
    batches = [range(first, min(first + batch_size, chips)) for first in range(0, chips, batch_size)]
    if sharing == SPLIT:
        return [Part(_slice(batch, group), batch, min(group.size, len(batch))) for batch in batches]
    rounds = (batches[first : first + group.size] for first in range(0, len(batches), group.size))
    nothing = range(0)
    return [
        Part(*(2 * (shared[group.rank],) if group.rank < len(shared) else (nothing, nothing)), len(shared))
        for shared in rounds
    ]


def own_chips(parts: Sequence[Part]) -> list[int]:
    """Return the numbers of the chips that a rank computes in a step, in their order."""
    return [number for part in parts for number in part.chips]


def _slice(batch: range, group: Group) -> range:
    """Return this rank's slice of a batch: slices differ by one chip at most, larger ones first."""
    least, more = divmod(len(batch), group.size)
    first = group.rank * least + min(group.rank, more)
    return batch[first : first + least + (group.rank < more)]
