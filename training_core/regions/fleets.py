"""Which fleet a job gets: this process, processes of this machine, or the workers of a Dask scheduler.

Scope: the choice. Independent of what the work is.
"""

from __future__ import annotations

from ..errors import RuntimeEnvironmentError
from ..events import Reporter
from ..system.placement import AUTO, count_processes
from .fitness import Needs
from .fleet import Crew, Fleet, LocalFleet, has_module

SET_UP = "Run Set up runtime with Many machines (FLEET), or install what resources/runtime/fleet.txt lists."


def open_fleet(
    crew: Crew, needs: Needs, reporter: Reporter, scheduler: str = "", workers: int = 0, threads: int = 0
) -> Fleet:
    """Return the fleet that a job asks for; close it at the end.

    Parameters
    ----------
    reporter : Reporter
        Is warned where there is less than was asked for.
    scheduler : str
        Address of a Dask scheduler; empty for this machine.
    workers : int
        Processes of this machine; 0 for one a NUMA node.
    threads : int
        Of all of them together; 0 for as many as there are cores.

    Raises
    ------
    JobError
        There are fewer cores than workers.
    RuntimeEnvironmentError
        A scheduler is given, but Dask is not there.
    RoadSegError
        See `DaskFleet` and `LocalFleet`.
    """
    has_dask = has_module("distributed")
    if scheduler and not has_dask:
        raise RuntimeEnvironmentError(
            f"The work cannot be shared by {scheduler}: the runtime has no Dask (requirement set fleet).", SET_UP
        )
    count = 0 if scheduler else count_processes(str(workers) if workers else AUTO, threads, max(workers, 1 << 16))
    if count > 1 and not has_dask:
        reporter.warning(
            f"One process does the work instead of {count}: the runtime has no Dask (requirement set fleet). {SET_UP}"
        )
    if not has_dask or count == 1:
        return LocalFleet(crew)
    from .dask_fleet import DaskFleet

    return DaskFleet(crew, needs, reporter, scheduler, count, threads)
