"""Cuts of a pipeline: where parts are cut into stages so that the largest stage is least.

Scope: numbers of parts and what stages of them cost. Independent of what a cost is.
"""

from __future__ import annotations

from collections.abc import Callable


def place_cuts(
    cost: Callable[[int, int, int], float], parts: int, stages: int, fewest_first: int = 1
) -> tuple[int, ...]:
    """Cut parts into consecutive stages so that the largest is least, by dynamic programming over all cuts.

    Parameters
    ----------
    cost : callable (stage, first, end) -> float
        Of a stage with the parts from `first` to before `end`.
    fewest_first : int
        Parts that the first stage has at least.

    Returns
    -------
    tuple of int
        The balance: how many parts each stage has.

    Raises
    ------
    ValueError
        There are fewer parts than that takes.
    """
    if fewest_first + stages - 1 > parts:
        raise ValueError(f"{parts} parts do not make {stages} stages, the first of {fewest_first} parts or more.")
    # The least largest stage of those up to a part, and the cuts for it.
    least = {end: (cost(0, 0, end), (end,)) for end in range(fewest_first, parts + 1)}
    for stage in range(1, stages):
        least = {
            end: min(
                (max(largest, cost(stage, first, end)), (*balance, end - first))
                for first, (largest, balance) in least.items()
                if first < end
            )
            for end in range(fewest_first + stage, parts + 1)
        }
    return least[parts][1]
