"""glibc's memory allocator: whether freed memory stays in the process or goes back to the system.

Scope: mallopt and malloc_trim; with another C library, nothing happens. Independent of what the memory is for.
Imports neither torch nor numpy, since some settings count only before those are loaded.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Optional

LARGE_BLOCK_BYTES = 1 << 22
# Parameters of mallopt, from malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -3, -4, -8


def keep_freed_memory() -> None:
    """From here on, keep freed memory in the process: no page faults when it is used again."""
    if _GLIBC is not None:
        _GLIBC.mallopt(_M_MMAP_MAX, 0)
        _GLIBC.mallopt(_M_TRIM_THRESHOLD, -1)
        _GLIBC.mallopt(_M_TOP_PAD, 1 << 28)
        _GLIBC.mallopt(_M_ARENA_MAX, 1)


def give_large_blocks_back() -> None:
    """From here on, return every large block to the system as soon as it is freed.

    `keep_freed_memory` saves page faults but leaves gaps that no other block fits (fragmentation): with recomputed
    activations of large chips, as much again as the blocks themselves.
    """
    if _GLIBC is not None:
        _GLIBC.mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
        _GLIBC.mallopt(_M_MMAP_MAX, 1 << 16)


def give_free_blocks_back() -> None:
    """Return all memory that is free in the process at this moment to the system, once."""
    if _GLIBC is not None:
        _GLIBC.malloc_trim(0)


def _find_glibc() -> Optional[ctypes.CDLL]:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


_GLIBC = _find_glibc()
