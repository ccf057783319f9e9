"""What only some systems have: tests that need it are skipped elsewhere, by name of what is missing."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

needs_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX: signals, a shell")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: /dev/full, /proc, affinities")
# The end without a word; on Windows any signal is that.
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def make_pipe(path: Path) -> None:
    """Make a pipe that has a name."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs POSIX: pipes with names")
    os.mkfifo(path)
