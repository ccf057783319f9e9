"""Packages that only some jobs need: whether they are installed.

Scope: modules and their places. Independent of jobs and of how packages are installed.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from ..errors import MissingPackagesError


def require(modules: Iterable[str]) -> None:
    """Raise MissingPackagesError if one of the modules, keys of `errors.PACKAGE_SETS`, is not installed."""
    for module in modules:
        spec = find_spec(module)
        if spec is None or spec.origin is None:  # a mere folder of its name does not count
            raise MissingPackagesError(module)
