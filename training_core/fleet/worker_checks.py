"""Checks of workers on other machines: the same versions, the same files, the same folder as the leading process.

The leading process lists what it has (`Leader`), and leaves a token in the folder. A worker compares the list with its
own, and leaves an answer next to the token. So a difference is named before any work, and a folder of the same path on
another disk is found out.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ..errors import ModelFileError, OutputError
from ..regions.store import Store
from ..system.machine import versions

# Results, or the messages between processes, depend on the versions of these.
PACKAGES = (
    "torch", "numpy", "rasterio", "intel-extension-for-pytorch", "openvino", "segmentation-models-pytorch",
    "distributed",
)  # fmt: skip
# Another machine may not see a new file on a network disk for this long.
SEEN_WITHIN_S = 10.0
_LEADER_FILE = "leader"


class Leader:
    """The leading process' side of the checks; its token lies in the folder until `close`.

    All workers write to the folder. The `files`, such as the model, must be the same everywhere. The `paths`, such as
    those of scenes, must exist; addresses that only GDAL understands are not checked. Raises ModelFileError if a file
    that must be the same everywhere cannot be read here. Raises OutputError if the folder cannot be written to.
    """

    def __init__(self, folder: str, files: Sequence[str] = (), paths: Sequence[str] = ()) -> None:
        digests = {os.path.abspath(path): _digest(path) for path in files}
        with ExitStack() as stack:
            try:
                self._folder = stack.enter_context(Store(folder).private_folder())
                (self._folder / _LEADER_FILE).write_text(self._folder.name, "ascii")
            except OSError as error:
                raise OutputError(
                    f"{folder} cannot be written to ({error.strerror}).", "Choose another folder, or make room."
                ) from error
            self._stack = stack.pop_all()
        self.document: dict[str, Any] = {
            "versions": checked_versions(),
            "files": digests,
            "paths": sorted({os.path.abspath(path) for path in paths if os.path.exists(path)}),
            "folder": os.path.abspath(folder),
            "token": os.path.abspath(self._folder),
        }

    def unseen(self, answer: str) -> list[str]:
        """Return a sentence about a worker whose answer, by its name, does not appear here; nothing if it does."""
        text, folder = _read_within(self._folder / answer, SEEN_WITHIN_S), self.document["folder"]
        return [] if text == self._folder.name else [f"files that it writes into {folder} are not visible here"]

    def close(self) -> None:
        """Remove the token and the answers."""
        self._stack.close()


def checked_versions() -> dict[str, str]:
    """Return the versions in this process that must be the same in all: RoadSeg, Python, and those of PACKAGES."""
    installed = versions(PACKAGES)
    return {"RoadSeg": installed.pop("roadseg"), "Python": ".".join(platform.python_version_tuple()[:2]), **installed}


def differences(document: dict[str, Any], answer: str) -> Iterator[str]:
    """Yield sentences about what this process lacks as a worker.

    The document is `Leader.document`. The answer is the name of a file to leave next to the token.
    """
    leaders, workers = document["versions"], checked_versions()
    for name in sorted({*leaders, *workers}):
        if workers.get(name) != leaders.get(name):
            yield f"{name} is {workers.get(name) or 'missing'} there, but {leaders.get(name) or 'missing'} here"
    yield from _unreachable(document["folder"], Path(document["token"]), answer)
    for path, digest in document["files"].items():
        try:
            if _digest(path) != digest:
                yield f"{path} is another file there"
        except ModelFileError as error:
            yield f"{error.message.rstrip('.')} there"
    missing = [path for path in document["paths"] if not os.path.exists(path)]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield f"{missing[0]}{more} cannot be found there"


def _unreachable(folder: str, token: Path, answer: str) -> Iterator[str]:
    """Yield why this process and the leader cannot see each other's files."""
    is_there = os.path.isdir(folder)
    text = _read_within(token / _LEADER_FILE, SEEN_WITHIN_S if is_there else 0)
    if not text:
        yield f"the folder {folder} {'is not the same one' if is_there else 'does not exist'} there"
        return
    try:
        (token / answer).write_text(text, "ascii")
    except OSError as error:
        yield f"the folder {folder} cannot be written to there ({error.strerror})"


def _read_within(path: Path, patience_s: float) -> str:
    """Return the text of a small file, which may take some time to appear; empty if it does not."""
    until_s = time.monotonic() + patience_s
    while True:
        with suppress(OSError):
            if text := path.read_text("ascii"):
                return text
        if time.monotonic() >= until_s:
            return ""
        time.sleep(0.1)


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror}).", "Give a file that can be read.") from error
    return digest.hexdigest()
