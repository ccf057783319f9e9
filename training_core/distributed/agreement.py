"""Agreement of ranks before they learn: all could begin, and all have the same program, images and settings.

Scope: errors and documents of the ranks. Independent of their meaning.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import Cancelled, JobError, RoadSegError
from .group import Group


class OtherRankError(RoadSegError):
    """The error of another rank."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.code = code


@contextmanager
def agreed(group: Group) -> Iterator[None]:
    """End this context on all ranks alike: where one of them raises an error for the user, all do.

    Raises
    ------
    OtherRankError
        Another rank raised it; the message names the rank.
    """
    failure = None
    try:
        yield
    except RoadSegError as error:
        failure = error
    if group.size > 1:
        report = failure and [failure.code, failure.message, failure.remedy, platform.node()]
        for rank, other in enumerate(group.gather_documents(report)):
            if other and failure is None:
                code, message, remedy, machine = other
                who = "" if code == Cancelled.code else f"Rank {rank} of {group.size} on {machine}: "
                failure = OtherRankError(code, f"{who}{message}", remedy)
    if failure is not None:
        raise failure


def require_alike(group: Group, facts: Mapping[str, Any]) -> None:
    """Check by hashes that all ranks have the same facts: versions, settings and digests by name, as JSON.

    Raises
    ------
    JobError
        Rank 0 and another one differ; the message names the facts.
    """
    hashes = {name: hashlib.sha256(json.dumps(fact).encode()).hexdigest() for name, fact in facts.items()}
    document = {"machine": platform.node(), "hashes": hashes}
    first, *others = group.gather_documents(document)
    for rank, other in enumerate(others, 1):
        names = first["hashes"].keys() | other["hashes"].keys()
        different = sorted(name for name in names if first["hashes"].get(name) != other["hashes"].get(name))
        if different:
            raise JobError(
                f"Rank {rank} of {group.size} on {other['machine']} differs from rank 0 on {first['machine']} in: "
                f"{', '.join(different)}.",
                "Install the same versions on all machines, and give all of them the same job, images and roads.",
            )
