"""URLs of the documentation, in the repository that metadata.txt names.

Scope: addresses. Independent of QGIS.
"""

from __future__ import annotations

import configparser
import functools

from .paths import ROOT

_PAGES = "blob/main/docs/algorithms"


def page_url(algorithm: str) -> str:
    """Return the URL of an algorithm's page."""
    return f"{_repository()}/{_PAGES}/{algorithm}.md"


@functools.cache
def _repository() -> str:
    metadata = configparser.ConfigParser(interpolation=None)
    metadata.read(ROOT / "metadata.txt", encoding="utf-8")
    return metadata["general"]["repository"].rstrip("/")
