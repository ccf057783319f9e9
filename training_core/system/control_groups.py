"""Control groups (cgroups): the folders that tell what this process may take, and how many cores that is.

Scope: versions 1 and 2, as Linux mounts them. Independent of how much memory that is, which `memory` reads there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Optional

# Lists the groups that this process is in, a line `number:controllers:path` for each hierarchy.
MEMBERSHIP = Path("/proc/self/cgroup")
# Where the hierarchies are mounted: version 2 here, version 1 in a folder for each controller.
MOUNTS = Path("/sys/fs/cgroup")


def group_folders(controller: str, membership: Path = MEMBERSHIP, root: Path = MOUNTS) -> Iterator[Path]:
    """Yield the folders of this process' groups and of those around them; a container may see only the outermost.

    Parameters
    ----------
    controller : str
        Such as memory or cpu.
    membership, root : Path
        See MEMBERSHIP and MOUNTS.

    Yields
    ------
    Path
        Folders of either version, which need not exist; none where the system has no groups.
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


def quota_cores(membership: Path = MEMBERSHIP, root: Path = MOUNTS) -> Optional[float]:
    """Return how many cores' time this process' control groups leave it; None without a limit.

    Parameters
    ----------
    membership, root : Path
        See MEMBERSHIP and MOUNTS.
    """
    quotas = [_quota(folder) for folder in group_folders("cpu", membership, root)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(folder: Path) -> Optional[float]:
    """Return the cores of one group: microseconds of processor time in a period, by those of the period."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        cores = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # version 2 says `max` where there is no limit
        return None
    return cores if cores > 0 else None  # and version 1 says -1
