"""Where the documentation lies: in the repository that the plugin's metadata name. Knows addresses only."""

from __future__ import annotations

import configparser
import functools

from .paths import ROOT

PAGES = "docs/algorithms"
_BRANCH = "main"


def page_path(algorithm: str) -> str:
    """Return where an algorithm's page lies in the repository."""
    return f"{PAGES}/{algorithm}.md"


def page_url(algorithm: str) -> str:
    """Return the address of an algorithm's page."""
    return f"{_repository()}/blob/{_BRANCH}/{page_path(algorithm)}"


@functools.cache
def _repository() -> str:
    metadata = configparser.ConfigParser(interpolation=None)
    metadata.read(ROOT / "metadata.txt", encoding="utf-8")
    return metadata["general"]["repository"].rstrip("/")
