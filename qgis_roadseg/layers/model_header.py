"""Ground resolution of a model, read from the header of its safetensors file without torch.

Scope: the header. Independent of weights. A model file is untrusted input: lengths are checked before reading, and an
implausible value counts as missing.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Optional, Union

LENGTH_BYTES = 8
# The header of a model of some hundred tensors takes some 50 kB.
LARGEST_HEADER_BYTES = 10_000_000


def read_resolution_m(path: Union[str, Path]) -> Optional[float]:
    """Return the ground size, in meters, of the pixels a model was trained on; None if not stated."""
    try:
        header = json.loads(_read_header(Path(path)))
        resolution_m = json.loads(header["__metadata__"]["roadseg"])["roadseg:resolution_m"]
        resolution_m = float(resolution_m)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return resolution_m if math.isfinite(resolution_m) and resolution_m > 0 else None


def _read_header(path: Path) -> bytes:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if length > min(LARGEST_HEADER_BYTES, path.stat().st_size - LENGTH_BYTES):
            raise ValueError("The header is longer than the file, or than any header would be.")
        return file.read(length)
