"""Tensor memory profiling: how many bytes of tensors are alive after each PyTorch operation.

Scope: PyTorch's dispatch and storages. Independent of what is computed.
"""

from __future__ import annotations

import weakref
from typing import Any, Optional

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Factor from living tensors to process memory, for fragmentation; measured (benchmarks/README.md).
GAPS = 1.25


class Ledger(TorchDispatchMode):
    """Records, after every operation, how many bytes of the tensors created within it are alive."""

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
