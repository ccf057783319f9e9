"""Model files: defaults for dialogs from the models folder, and the ground resolution in a file's header.

Scope: names, times, headers. Independent of weights and torch. A model file is untrusted input: lengths are checked
before reading, and an implausible value counts as missing.
"""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path
from typing import Any, Optional, Union

from ...training_core import jobs
from ...training_core.jobs import OptionField
from ...training_core.jobs.json_fields import parse
from ..paths import free_path

MODEL_SUFFIX, ONNX_SUFFIX = ".safetensors", ".onnx"
_OUTPUT_SUFFIXES = {jobs.MODEL_OUTPUT: MODEL_SUFFIX, jobs.ONNX_OUTPUT: ONNX_SUFFIX}


def suggestion(field: OptionField, folder: str) -> Optional[str]:
    """Return the default path of a model field in a dialog; None for no default."""
    if not folder or not Path(folder).is_dir():
        return None
    if field.option.kind in _OUTPUT_SUFFIXES:
        return str(free_path(Path(folder, f"model{_OUTPUT_SUFFIXES[field.option.kind]}")))
    if field.option.kind == jobs.MODEL and field.option.required:
        newest = newest_model(Path(folder))
        return None if newest is None else str(newest)
    return None


def newest_model(folder: Path) -> Optional[Path]:
    """Return the newest model file in a folder; None without one."""
    written = {}
    for path in folder.glob(f"*{MODEL_SUFFIX}"):
        with contextlib.suppress(OSError):  # it may be deleted since
            written[path] = path.stat().st_mtime
    return max(written, key=written.__getitem__, default=None)


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
        raise ValueError("This is not a file.")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if length > min(MAX_HEADER_BYTES, status.st_size - LENGTH_BYTES):
            raise ValueError("The header is longer than the file, or longer than any valid header.")
        return file.read(length)
