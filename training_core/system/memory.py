"""Memory: how much is available, and whether freed memory stays in the process or goes back to the system.

Scope: the limits of the system and of this process' control groups (cgroups); glibc's mallopt and malloc_trim, without
which nothing happens. Independent of what the memory is for. Imports neither torch nor numpy, since some settings of
the allocator count only before those are loaded.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

# Lists the groups of this process, a line `number:controllers:path` for each hierarchy.
MEMBERSHIP = Path("/proc/self/cgroup")
# The mount point of the hierarchies: version 2 here, version 1 in a folder for each controller.
MOUNTS = Path("/sys/fs/cgroup")
# Size from which `give_large_blocks_back` gives a block back.
LARGE_BLOCK_BYTES = 1 << 22
# Parameters of mallopt, from malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -3, -4, -8


_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
_GLIBC = _LIBRARY if hasattr(_LIBRARY, "mallopt") and hasattr(_LIBRARY, "malloc_trim") else None
# Files of the memory controller in version 2 and 1: the limit, what is used, and in memory.stat, the part of that which
# is given back when something needs room.
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_bytes() -> int:
    """Return how many bytes this process may still allocate without swapping or being killed (OOM)."""
    import psutil  # not before the process is prepared, which shall not fail without it

    limits = [psutil.virtual_memory().available, control_group_bytes()]
    return min(limit for limit in limits if limit is not None)


def kills_for_memory(statistics: Path = Path("/proc/vmstat")) -> Optional[int]:
    """Return how many processes the system has killed for lack of memory (OOM) since it started; None if unknown."""
    try:
        return int(dict(line.split() for line in statistics.read_text().splitlines())["oom_kill"])
    except (OSError, ValueError, KeyError):
        return None


def control_group_bytes(membership: Path = MEMBERSHIP, root: Path = MOUNTS) -> Optional[int]:
    """Return how many bytes this process' control groups leave it; None without a limit."""
    left = [_left_in(folder, *files) for folder in group_folders("memory", membership, root) for files in _FILES]
    return min((size for size in left if size is not None), default=None)


def group_folders(controller: str, membership: Path, root: Path) -> Iterator[Path]:
    """Yield the folders, of either version, of this process' groups and of those around them.

    A folder may be missing: a container may see only the outermost.
    """
    try:
        lines = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except (OSError, ValueError):
        return
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers and controller not in controllers.split(","):
            continue
        mount = root / controller if controllers else root
        group = mount / path.strip("/")
        for folder in (group, *group.parents):
            yield folder
            if folder == mount:
                break


def _left_in(folder: Path, limit: str, use: str, reclaimable: str) -> Optional[int]:
    """Return the bytes that a group leaves; None if it has no limit, or none of these files."""
    try:
        limit_bytes = int((folder / limit).read_text())  # version 2 says `max` where there is none
        used_bytes = int((folder / use).read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, limit_bytes - used_bytes + int(statistics.get(reclaimable, 0)))
    except (OSError, ValueError):
        return None


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
