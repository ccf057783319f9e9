"""Available memory: the limits of the system and of this process' control groups (cgroups).

Scope: bytes. Independent of their use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import psutil

# Lists the groups of this process, a line `number:controllers:path` for each hierarchy.
MEMBERSHIP = Path("/proc/self/cgroup")
# The mount point of the hierarchies: version 2 here, version 1 in a folder for each controller.
MOUNTS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class _Files:
    """File names of a memory controller."""

    limit: str
    use: str
    reclaimable: str  # of memory.stat: counts as used, but is given back when something needs room


_V2 = _Files("memory.max", "memory.current", "inactive_file")
_V1 = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_bytes() -> int:
    """Return how many bytes this process may still allocate without swapping or being killed (OOM)."""
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
    left = [_left_in(folder, files) for folder in group_folders("memory", membership, root) for files in (_V1, _V2)]
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


def _left_in(folder: Path, files: _Files) -> Optional[int]:
    """Return the bytes that a group leaves; None if it has no limit, or none of these files."""
    try:
        limit = int((folder / files.limit).read_text())  # version 2 says `max` where there is none
        used = int((folder / files.use).read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, limit - used + int(statistics.get(files.reclaimable, 0)))
    except (OSError, ValueError):
        return None
