"""Work for a fleet that needs no model: files of known bytes, and everything that can go wrong on the way."""

import errno
import hashlib
import os
import time

from tests.core.support.systems import KILL
from training_core.errors import ImageryError, ModelFileError
from training_core.regions.store import Store
from training_core.regions.tasks import Task

PREPARED = []


def prepare(document):
    if document.get("broken"):
        raise ModelFileError("The engine openvino cannot be used.")
    if document.get("deadly"):
        os.kill(os.getpid(), KILL)
    PREPARED.append(document)
    return {}


def perform(document):
    return globals()[f"_{document['work']}"](**document["given"])


def _echo(value):
    return {"value": value, "prepared": len(PREPARED), "process": os.getpid()}


def _block(folder, seed, seconds=0.0):
    """Write bytes that follow from the seed, half of them, then after some time the rest."""
    store, key = Store(folder), f"block{seed:05}"
    if store.path("toy", key, ".bin").is_file():
        return {"seed": seed, "written": False}

    def write(path):
        data = hashlib.sha256(str(seed).encode()).digest() * 500
        with path.open("wb") as file:
            file.write(data[:8000])
            file.flush()
            time.sleep(seconds)
            file.write(data[8000:])

    store.write("toy", key, ".bin", write)
    return {"seed": seed, "written": True}


def _sleep(seconds):
    time.sleep(seconds)
    return {}


def _die():
    time.sleep(0.1)
    os.kill(os.getpid(), KILL)


def _damaged():
    raise ImageryError("scene_7.tif cannot be read.", "Repair it.")


def _puzzling():
    return {}["nothing"]


def _full():
    raise OSError(errno.ENOSPC, "No space left on device")


def task(work, key="", **document):
    return Task(perform, {"work": work, "given": document}, key or f"{work}-{abs(hash(str(document)))}")


def preparation(**document):
    return Task(prepare, document)


def results_in(folder):
    return {path.name: path.read_bytes() for path in (folder / "work").rglob("*.bin")}


def undisturbed(folder, count):
    """Return the bytes that one process writes, by name."""
    for seed in range(count):
        _block(str(folder), seed)
    return results_in(folder)
