"""Lines of standard input, read in a thread and handed over by a queue.

Scope: bytes, lines and their limits. Independent of what the lines say. A line without an end would fill the memory,
and so would lines that nobody takes: both are bounded.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import time
from collections.abc import Callable, Iterator
from typing import Optional

# A line that names some ten thousand drawn roads. A longer one is handed over as TOO_LONG.
MAX_LINE_BYTES = 16 << 20
# When this number of lines waits, the reader waits as well, and the client with it.
MAX_WAITING = 256
TOO_LONG = b""
_CHUNK_BYTES = 1 << 16
_LOOK_S = 0.05

if sys.platform == "win32":
    import msvcrt
    from _winapi import PeekNamedPipe

    def _look(descriptor: int) -> bool:
        return PeekNamedPipe(msvcrt.get_osfhandle(descriptor), 0)[0] != 0

    _has_come: Optional[Callable[[int], bool]] = _look
else:
    _has_come = None


class InputLines:
    """Lines as they come; see `events.LineSource`."""

    def __init__(self) -> None:
        self._lines: queue.Queue[Optional[bytes]] = queue.Queue(MAX_WAITING)
        self.is_over = False

    def get(self, timeout_s: Optional[float]) -> Optional[bytes]:
        """Return the next line without its end; TOO_LONG for a longer one; None if no line comes in time, or ever."""
        if self.is_over:
            return None
        try:
            line = self._lines.get(timeout=timeout_s) if timeout_s != 0 else self._lines.get_nowait()
        except queue.Empty:
            return None
        self.is_over = line is None
        return line

    def read(self, descriptor: int, ended: Callable[[], None]) -> None:
        """Hand over the lines of a file descriptor; call `ended` at its end, when lines may still wait."""
        for line in _lines_of(descriptor):
            self._lines.put(line)
        ended()
        self._lines.put(None)


def chunks_of(descriptor: int) -> Iterator[bytes]:
    """Yield what comes from a file descriptor, until it ends or turns out to be closed.

    On Windows a thread that is blocked in reading a pipe blocks all who ask for the pipe's state, as libraries do of
    standard input while they are loaded: `import numpy` would not return until the client writes. So there the pipe is
    looked at until something has come.
    """
    with contextlib.suppress(OSError):  # it is closed
        while True:
            with contextlib.suppress(OSError):  # it has ended or is not a pipe: reading does not block
                while _has_come is not None and not _has_come(descriptor):
                    time.sleep(_LOOK_S)
            chunk = os.read(descriptor, _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


def _lines_of(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of a file descriptor that are not empty; TOO_LONG for one that is too long."""
    begun, is_too_long = bytearray(), False
    for chunk in chunks_of(descriptor):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            begun += end
            is_too_long = is_too_long or len(begun) > MAX_LINE_BYTES
            if is_too_long or begun.strip():
                yield TOO_LONG if is_too_long else bytes(begun)
            begun, is_too_long = bytearray(), False
        begun += rest
        if len(begun) > MAX_LINE_BYTES:
            begun, is_too_long = bytearray(), True
    if begun.strip():
        yield bytes(begun)
