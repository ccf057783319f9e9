"""Fixtures that all worker processes of a test run share: the first one to want it makes it, the others wait."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from training_core.jobs.file_systems import is_locked_now


def make_once(tmp_path_factory: Any, name: str, make: Callable[[Path], Any]) -> Any:
    """Return what `make` made of a folder of that name, in this process or another one; do not write there."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    kept = folder.with_name(f"{name}.pickle")
    with open(folder.with_name(f"{name}.lock"), "a") as lock:
        while not is_locked_now(lock.fileno()):
            time.sleep(0.1)
        if not kept.exists():
            folder.mkdir(exist_ok=True)
            kept.write_bytes(pickle.dumps(make(folder)))
    return pickle.loads(kept.read_bytes())
