"""Windows, simulated for tests alone (`pytest -p tests.without_posix`): the modules and functions that are not there.

Libraries and the core still find them: they ask for `sys.platform`, which the type checker sets in `make lint`.
"""

import builtins
import multiprocessing.context
import os
import signal
from pathlib import Path

import pytest

TESTS = str(Path(__file__).parent)
MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
FUNCTIONS = ("fork", "forkpty", "mkfifo", "openpty", "sched_setaffinity")
SIGNALS = ("SIGCONT", "SIGHUP", "SIGSTOP", "SIGXCPU")


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
    """Hide all of it from here on, when the configuration's imports are done."""
    find = builtins.__import__

    def imported(name, globals=None, *rest, **named):
        if name in MODULES and str((globals or {}).get("__file__")).startswith(TESTS):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return find(name, globals, *rest, **named)

    builtins.__import__ = imported
    for name in FUNCTIONS:
        delattr(os, name)
    for name in SIGNALS:
        delattr(signal, name)
    for method in ("fork", "forkserver"):
        del multiprocessing.context._concrete_contexts[method]
