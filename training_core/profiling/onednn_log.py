"""oneDNN's verbose log: which primitives it runs, with which implementation, and for how long.

Scope: the text of the log, and how it is caught. Independent of what is computed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# oneDNN reads it once, when it writes its first line: primitives then carry the time at which they begin.
TIMESTAMPS = "ONEDNN_VERBOSE_TIMESTAMP"
_MARK = b"onednn_verbose,"
_STANDARD_OUTPUT = 1


@dataclass(frozen=True)
class OnednnPrimitive:
    """One run of a primitive.

    Parameters
    ----------
    kind : str
        convolution, deconvolution, matmul, reorder and so on.
    implementation : str
        Such as `brg_conv_fwd:avx512_core_bf16`.
    direction : str
        forward_training, backward_data and so on; undef where there is none.
    begin_s : float
        Seconds since 1970.
    """

    kind: str
    implementation: str
    direction: str
    begin_s: float
    duration_s: float


def parse_log(text: str) -> list[OnednnPrimitive]:
    """Return the primitives that a log with time stamps names, in order; lines of another form are skipped."""
    found = []
    for line in text.splitlines():
        parts = line.split(",")
        # onednn_verbose,v1,begin_ms,primitive,exec,cpu,kind,implementation,direction,...,duration_ms
        if len(parts) < 11 or parts[0] != "onednn_verbose" or parts[3:5] != ["primitive", "exec"]:
            continue
        try:
            begin_s, duration_s = float(parts[2]) / 1e3, float(parts[-1]) / 1e3
        except ValueError:
            continue
        found.append(OnednnPrimitive(parts[6], parts[7], parts[8], begin_s, duration_s))
    return found


@contextmanager
def logged_primitives() -> Iterator[list[OnednnPrimitive]]:
    """Catch what oneDNN runs within the context.

    oneDNN writes to the standard output's file descriptor, which goes to a temporary file meanwhile; lines of others
    are passed on. Nothing is caught where PyTorch has no oneDNN, or the process no standard output.

    Yields
    ------
    list of OnednnPrimitive
        Filled at the end.
    """
    import torch

    found: list[OnednnPrimitive] = []
    os.environ.setdefault(TIMESTAMPS, "1")
    try:
        original = os.dup(_STANDARD_OUTPUT)
    except OSError:
        original = None
    if original is None or not torch.backends.mkldnn.is_available():
        yield found
        return
    with tempfile.TemporaryFile() as caught:
        _flush()
        os.dup2(caught.fileno(), _STANDARD_OUTPUT)
        try:
            with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
                yield found
        finally:
            _flush()
            os.dup2(original, _STANDARD_OUTPUT)
            os.close(original)
            caught.seek(0)
            lines = caught.read().splitlines(keepends=True)
            rest = b"".join(line for line in lines if not line.startswith(_MARK))
            if rest:
                os.write(_STANDARD_OUTPUT, rest)
            found += parse_log(b"".join(lines).decode("ascii", "replace"))


def _flush() -> None:
    """Flush Python's buffer and C's, which oneDNN writes to."""
    import ctypes

    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None) if os.name == "posix" else None
