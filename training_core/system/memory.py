"""Available memory: what this process may still take, by the system and by its control groups (cgroups).

Scope: free memory in bytes. Independent of what it is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import psutil


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


def control_group_bytes(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Optional[int]:
    """Return how many bytes this process' control groups leave it; None without a limit.

    Parameters
    ----------
    membership : Path
        Lists the groups this process is in, a line `number:controllers:path` for each hierarchy.
    root : Path
        Where the hierarchies are mounted: version 2 here, version 1 in a folder for each controller.
    """
    try:
        lines = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return None
    left: list[int] = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if not controllers:
            left += _left_in(root, path, _V2)
        elif "memory" in controllers.split(","):
            left += _left_in(root / "memory", path, _V1)
    return min(left, default=None)


def _left_in(mount: Path, path: str, files: _Files) -> Iterator[int]:
    """Yield the bytes that a group and its ancestors leave; a container may see only the outermost, as its own."""
    group = mount / path.strip("/")
    for folder in (group, *group.parents):
        if (folder / files.limit).exists():
            try:
                limit = (folder / files.limit).read_text().strip()
                used = int((folder / files.use).read_text())
                statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                if limit != "max":
                    yield max(0, int(limit) - used + int(statistics.get(files.reclaimable, 0)))
            except (OSError, ValueError):
                pass
        if folder == mount:
            return
