"""Ground resolution of a model, read from the header of its safetensors file without torch.

Scope: the header. Independent of weights. A model file is untrusted input: lengths are checked before reading, and an
implausible value counts as missing.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any, Optional, Union

from ...training_core.jobs.json_fields import parse

LENGTH_BYTES = 8
# The header of a model of some hundred tensors takes some 50 kB.
MAX_HEADER_BYTES = 10_000_000
# Wider than anything that a training gives; the worker refuses what lies outside.
FINEST_M, COARSEST_M = 1e-4, 1e6


def read_resolution_m(path: Union[str, Path]) -> Optional[float]:
    """Return the ground size, in meters, of the pixels a model was trained on; None if not stated."""
    try:
        header: Any = parse(_read_header(Path(path)).decode("utf-8"))
        resolution_m = parse(header["__metadata__"]["roadseg"])["roadseg:resolution_m"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_plausible = type(resolution_m) in (int, float) and FINEST_M <= resolution_m <= COARSEST_M
    return float(resolution_m) if is_plausible else None


def _read_header(path: Path) -> bytes:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # reading a pipe might never end
        raise ValueError("This is no file.")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if length > min(MAX_HEADER_BYTES, status.st_size - LENGTH_BYTES):
            raise ValueError("The header is longer than the file, or than any header would be.")
        return file.read(length)
