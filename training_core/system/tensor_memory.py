"""A ledger of tensors: how many bytes of them are alive after each operation.

Knows PyTorch's operations and storages; knows nothing of what is computed.
"""

from __future__ import annotations

import weakref
from typing import Any, Optional

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# How much the gaps between tensors add to what of them is alive, found by measurement (benchmarks/README.md).
GAPS = 1.25


class Ledger(TorchDispatchMode):
    """Notes, after every operation, how many bytes of tensors made since its beginning are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[int] = []
        self._sizes: dict[int, int] = {}
        self._total = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Optional[dict] = None) -> Any:
        for storage in _storages((args, kwargs)):
            self._note(storage, 0)  # it was there before
        result = function(*args, **(kwargs or {}))
        for storage in _storages(result):
            self._note(storage, storage.nbytes())
        self.alive.append(self._total)
        return result

    def _note(self, storage: torch.UntypedStorage, size: int) -> None:
        if storage._cdata not in self._sizes:
            self._sizes[storage._cdata] = size
            self._total += size
            weakref.finalize(storage, self._strike, storage._cdata)

    def _strike(self, key: int) -> None:
        self._total -= self._sizes.pop(key)


def _storages(tree: Any) -> list[torch.UntypedStorage]:
    return [leaf.untyped_storage() for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
