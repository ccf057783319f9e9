"""Parallel arrays: dataclasses of arrays joined and selected by field, several ranges as one, the first of each group.

Scope: NumPy arrays. Independent of what they mean.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

Columns = TypeVar("Columns", bound=Any)


def concatenated(*parts: Columns) -> Columns:
    """Return instances of a dataclass, all fields of which are arrays, as one instance, in order."""
    names = [field.name for field in fields(parts[0])]
    return type(parts[0])(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def selected(columns: Columns, index: Any) -> Columns:
    """Return an instance of a dataclass, all fields of which are arrays, with some of their entries, in order."""
    return type(columns)(*(getattr(columns, field.name)[index] for field in fields(columns)))


def offsets_of(counts: np.ndarray) -> np.ndarray:
    """Return where parts with counts, (k,) int64, begin one after another, and where the last ends: (k + 1,) int64."""
    return np.concatenate([[0], np.cumsum(counts)])


def ranges(begins: np.ndarray, counts: np.ndarray, steps: np.ndarray | None = None) -> np.ndarray:
    """Return the integers begin, begin + step, ... of several ranges, one after another: (sum of counts,) int64.

    Begins, counts and steps (1 by default) are (k,) int64.
    """
    # Position within its range: the running number less the start of the range.
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(begins, counts) + (within if steps is None else np.repeat(steps, counts) * within)


def first_of_each(group: np.ndarray, *keys: np.ndarray) -> np.ndarray:
    """Return the index of the least of each group by keys, the first of which counts most: (groups,) int64.

    They are in the order of groups. Group and keys are (n,), int64 or float64.
    """
    order = np.lexsort((*keys[::-1], group))
    return order[np.unique(group[order], return_index=True)[1]]
