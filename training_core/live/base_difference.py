"""What of a learner's state differs from the base model: that alone is written, since the base model has the rest.

Scope: tensors and their names. Independent of files, and of which parts of a model learn: what a step has not changed,
such as a frozen encoder, is the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

# Before the names of weights in a trainer's state: of the model as it learns, and of its average.
_PREFIXES = ("network.", "average.")


def same_as_base(state: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> list[str]:
    """Return the names of those tensors of a state that are the base model's.

    Parameters
    ----------
    state : mapping of str to Tensor of any shape (...), any dtype
        See `Trainer.state_dict`.
    weights : mapping of str to Tensor of any shape (...), float32 or int64
        The base model's.
    """
    return [
        name
        for name, tensor in state.items()
        if (base := _of_base(name, weights)) is not None and tensor.dtype == base.dtype and torch.equal(tensor, base)
    ]


def completed(state: Mapping[str, Tensor], same: Collection[str], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state with the tensors that were left out of it.

    Parameters
    ----------
    state : mapping of str to Tensor of any shape (...), any dtype
        Without those.
    same : collection of str
        Their names, as `same_as_base` returned them.
    weights : mapping of str to Tensor of any shape (...), float32 or int64
        The base model's.

    Returns
    -------
    dict of str to Tensor of any shape (...), any dtype

    Raises
    ------
    ValueError
        One of the names is no such tensor, or the state has it as well.
    """
    found = {name: _of_base(name, weights) for name in same}
    if any(tensor is None for tensor in found.values()) or found.keys() & state.keys():
        raise ValueError("it names tensors that are not the base model's")
    return {**state, **found}


def _of_base(name: str, weights: Mapping[str, Tensor]) -> Tensor | None:
    prefix = next((each for each in _PREFIXES if name.startswith(each)), None)
    return None if prefix is None else weights.get(name[len(prefix) :])
