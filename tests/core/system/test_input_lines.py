"""Lines of standard input: whole, in order, bounded, and their end."""

import os
import select
import struct
import threading

import pytest

from training_core.system import input_lines
from training_core.system.input_lines import TOO_LONG, InputLines


@pytest.fixture(params=["blocking", "looking, as on Windows"])
def way(request, monkeypatch):
    """Read in each way; where the reader looks first, a read that would block is an error."""
    if request.param == "blocking":
        return
    fcntl, termios, read = pytest.importorskip("fcntl"), pytest.importorskip("termios"), os.read

    def has_come(descriptor):  # PeekNamedPipe likewise raises BrokenPipeError at the end
        if struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"0000"))[0]:
            return True
        poll = select.poll()
        poll.register(descriptor, 0)
        if poll.poll(0):
            raise BrokenPipeError
        return False

    def read_what_has_come(descriptor, size):
        assert select.select([descriptor], [], [], 0)[0], "this read blocks"
        return read(descriptor, size)

    monkeypatch.setattr(input_lines, "_has_come", has_come)
    monkeypatch.setattr(input_lines, "_LOOK_S", 0.001)
    monkeypatch.setattr(os, "read", read_what_has_come)


def lines_of(*chunks):
    """Return the lines of a pipe into which chunks are written, one after the other."""
    reading, writing = os.pipe()
    lines, ended = InputLines(), threading.Event()
    thread = threading.Thread(target=lines.read, args=(reading, ended.set))
    thread.start()
    for chunk in chunks:
        os.write(writing, chunk)
    os.close(writing)
    found = []
    while (line := lines.get(5)) is not None:
        found.append(line)
    thread.join()
    os.close(reading)
    assert ended.is_set() and lines.is_over and lines.get(None) is None
    return found


def test_lines_come_whole_and_in_order(way):
    assert lines_of(b"one\ntw", b"o\n\n  \nthree") == [b"one", b"two", b"three"]
    assert lines_of() == []


def test_a_line_without_an_end_does_not_fill_the_memory(way, monkeypatch):
    monkeypatch.setattr(input_lines, "MAX_LINE_BYTES", 1000)
    assert lines_of(b"a\n", b"x" * 900, b"x" * 900, b"x" * 50_000, b"\nb\n") == [b"a", TOO_LONG, b"b"]


def test_without_a_line_one_waits_no_longer_than_told_and_a_closed_input_has_none(way):
    lines = InputLines()
    assert lines.get(0) is None and lines.get(0.01) is None and not lines.is_over
    reading, writing = os.pipe()
    os.close(writing)
    os.close(reading)
    lines = InputLines()
    lines.read(reading, lambda: None)
    assert lines.get(1) is None and lines.is_over


@pytest.mark.parametrize("count", [1, 2000])
def test_lines_that_nobody_takes_wait_and_are_not_lost(way, count):
    reading, writing = os.pipe()
    lines = InputLines()
    threading.Thread(target=lines.read, args=(reading, lambda: None), daemon=True).start()

    def write():
        for number in range(count):
            os.write(writing, b"%d\n" % number)
        os.close(writing)

    threading.Thread(target=write, daemon=True).start()
    assert [int(lines.get(5)) for _ in range(count)] == list(range(count))
