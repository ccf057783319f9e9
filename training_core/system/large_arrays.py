"""Arrays larger than memory: memory-mapped temporary files in place of RAM.

Scope: memory, disks and temporary files. Independent of what the arrays hold.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import tempfile
from typing import IO

import numpy as np
from numpy.typing import DTypeLike

from ..errors import ResourceError
from .memory import available_bytes

# An array of more bytes than this, or than this fraction of the free memory, is memory-mapped.
MAX_IN_MEMORY_BYTES = 1 << 30
MAX_FRACTION_OF_MEMORY = 1 / 8
# Approximate number of pixels of a strip.
STRIP_PX = 1 << 24


def allocate(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialized array, (*shape,), of any dtype: in memory, or memory-mapped (np.memmap) if large.

    The file is unlinked where the system allows it, or else removed with the process, however that ends. It lies in the
    folder of `tempfile.gettempdir`, which the variable TMPDIR (on Windows TEMP) decides. Raises ResourceError if the
    disk has no room for it.
    """
    size_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if size_bytes <= min(MAX_IN_MEMORY_BYTES, MAX_FRACTION_OF_MEMORY * available_bytes()):
        return np.empty(shape, dtype)
    folder = tempfile.gettempdir()
    try:
        if shutil.disk_usage(folder).free < size_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with tempfile.TemporaryFile(dir=folder) as file:
            _reserve(file, size_bytes)
            return np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:
        raise ResourceError(
            f"The images need {size_bytes / 1e9:.1f} GB of temporary files, but {folder} cannot take them: "
            f"{error.strerror or error}.",
            "Free some space there, let the variable TMPDIR name a folder on a larger disk, or choose a smaller area "
            "of interest.",
        ) from error


def strips(height: int, width: int, multiple: int = 1) -> list[slice]:
    """Return the rows of an image in strips of about STRIP_PX that begin at multiples of a number of rows."""
    rows = max(1, STRIP_PX // max(1, width) // multiple) * multiple
    return [slice(top, min(top + rows, height)) for top in range(0, height, rows)]


def _reserve(file: IO[bytes], size_bytes: int) -> None:
    """Reserve the disk space now: a mapped file that meets a full disk later kills the process (SIGBUS)."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
    file.truncate(size_bytes)
