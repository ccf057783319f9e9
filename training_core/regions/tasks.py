"""Tasks of a region: what a worker is asked to do, and what came of it.

Scope: what travels between the job and its workers. Independent of what the work is, and of who does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class Task:
    """A piece of work for one worker.

    Parameters
    ----------
    key : str
        Says what is done, by content: a task of the same key has the same result, and its file is named after it.
    work : str
        Name of the kind of work.
    document : dict
        What to do, of JSON types.
    megapixels : float
        Size of the work, from which its time is estimated.
    scene : str
        Name of the scene that it belongs to; empty for work on the region.
    """

    key: str
    work: str
    document: dict[str, Any]
    megapixels: float = 0.0
    scene: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Parameters
    ----------
    result : dict, optional
        Of JSON types; None where the task has failed.
    code, reason, remedy : str
        Of the failure: code of the error (see `errors`), what is wrong and what to do; empty for a result.
    worker : str
        Who has done it, for the person who looks at the pace of each.
    elapsed_s : float
        Wall time of the work itself.
    """

    task: Task
    result: Optional[dict[str, Any]]
    code: str = ""
    reason: str = ""
    remedy: str = ""
    worker: str = ""
    elapsed_s: float = 0.0
