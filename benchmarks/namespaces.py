"""Two network namespaces joined by a veth pair, each side limited to a rate: two machines as far as TCP can tell.

Needs root and iproute2 (`ip`, `tc`). What is made is removed at the end, however that comes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

ADDRESSES = ("10.213.17.1/30", "10.213.17.2/30")
INTERFACES = ("roadseg0", "roadseg1")
# Bytes that may pass at once, more than the kernel hands over in one piece, and for how long the others queue up.
BURST, QUEUE = "1mb", "20ms"


@contextmanager
def joined_namespaces(rate: str) -> Iterator[tuple[tuple[str, str, str, str], ...]]:
    """Make two namespaces, and yield for each of them how a command that is to run in it begins.

    Parameters
    ----------
    rate : str
        What each may send, as `tc` takes it (10gbit); empty for no limit.

    Yields
    ------
    tuple of tuple of str
        The interface in them is that of `INTERFACES`.
    """
    names = [f"roadseg-{os.getpid()}-{side}" for side in range(2)]
    try:
        for name in names:
            call("ip", "netns", "add", name)
        ends = [("name", INTERFACES[0], "netns", names[0]), ("name", INTERFACES[1], "netns", names[1])]
        call("ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        for name, interface, address in zip(names, INTERFACES, ADDRESSES):
            call("ip", "-n", name, "addr", "add", address, "dev", interface)
            call("ip", "-n", name, "link", "set", interface, "up")
            if rate:
                limit = ("rate", rate, "burst", BURST, "latency", QUEUE)
                call("tc", "-n", name, "qdisc", "add", "dev", interface, "root", "tbf", *limit)
        yield tuple(("ip", "netns", "exec", name) for name in names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)


def call(*command: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True)
