"""Faults of training by several processes: what the job says, how soon, what is left, and what a resumed one yields.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/faults.py`. A generated scene is trained on, and:

- a rank started by the job is killed, stopped (it hangs) or runs out of memory
- of two ranks that torchrun has started in two network namespaces (as root), one is killed or stopped, its torchrun is
  stopped by Ctrl+C, or the link between them goes down

Each time it is printed after how many seconds the job ended, what it said, whether its checkpoint is there, whether a
process of its process group is left, and whether the model of the resumed job is that of an uninterrupted one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from benchmarks.namespaces import ADDRESSES, INTERFACES, call, joined_namespaces

ROOT = Path(__file__).resolve().parents[1]
CORE = ("-m", "training_core")
STEPS = 60
RECIPE = (
    "--steps", STEPS, "--accumulation", 2, "--batch-size", 1, "--chip-px", 64, "--precision", "fp32", "--engine",
    "native", "--checkpoint-minutes", 0.01,
)  # fmt: skip
PORT = 29613


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scene = ("--raster", folder / "a.tif", "--roads", folder / "a.gpkg", "--size-px", 512, "--seed", 3)
        core("makescene", *scene)
        core("finetune", *training(folder, "whole"), "--threads", 1)
        expected = digest(folder / "whole.safetensors")
        for fault in (signal.SIGKILL, signal.SIGSTOP, "memory"):
            report(folder, expected, f"started by the job: {name_of(fault)} of rank 1", fail_locally(folder, fault))
        if os.geteuid() == 0:
            for fault in (signal.SIGKILL, signal.SIGSTOP, "Ctrl+C", "link"):
                found = fail_between_machines(folder, fault)
                report(folder, expected, f"torchrun on two machines: {name_of(fault)} of rank 1", found)


def name_of(fault: signal.Signals | str) -> str:
    return fault if isinstance(fault, str) else fault.name


def core(*arguments: object) -> None:
    subprocess.run([sys.executable, *CORE, *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)


def training(folder: Path, model: str) -> list[object]:
    inputs = ["--rasters", folder / "a.tif", "--roads", folder / "a.gpkg"]
    return [*inputs, "--model", folder / f"{model}.safetensors", *RECIPE]


def digest(model: Path) -> str:
    from safetensors.numpy import load_file

    weights = load_file(model)
    return hashlib.sha256(b"".join(weights[name].tobytes() for name in sorted(weights))).hexdigest()


def start(command: Sequence[object]) -> subprocess.Popen:
    """Start a job that writes events, in a process group of its own."""
    return subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def fail_locally(folder: Path, fault: signal.Signals | str) -> tuple[float, list[str], int]:
    """Return the seconds until a job ended whose second rank failed, its last words and how many processes are left."""
    job = start(
        [sys.executable, *CORE, "finetune", *training(folder, "part"), "--processes", 2, "--threads", 2, "--events"]
    )
    wait_for_step(job, 8)
    second = sorted(each.pid for each in ranks_of(job.pid))[1]
    began_s = time.monotonic()
    if fault == "memory":
        limit_bytes = psutil.Process(second).memory_info().vms + (1 << 20)
        resource.prlimit(second, resource.RLIMIT_AS, (limit_bytes, limit_bytes))
    else:
        os.kill(second, fault)
    return *ended(job, began_s), left_of(job.pid)


def fail_between_machines(folder: Path, fault: signal.Signals | str) -> tuple[float, list[str], int]:
    """Return the same of two ranks that torchrun has started in two network namespaces."""
    address = ADDRESSES[0].partition("/")[0]
    with joined_namespaces("") as prefixes:
        jobs = []
        for number, prefix in enumerate(prefixes):
            call(*prefix, "ip", "link", "set", "lo", "up")
            torchrun = ["torch.distributed.run", "--nnodes", 2, "--nproc-per-node", 1, "--node-rank", number]
            torchrun += ["--master-addr", address, "--master-port", PORT]
            own = ["env", f"GLOO_SOCKET_IFNAME={INTERFACES[number]}"]
            job = [sys.executable, "-m", *torchrun, *CORE, "finetune", *training(folder, "part"), "--threads", 1]
            jobs.append(start([*prefix, *own, *job, "--events"]))
        wait_for_step(jobs[0], 8)
        second = next(each for each in psutil.Process(jobs[1].pid).children(True) if "training_core" in each.cmdline())
        began_s = time.monotonic()
        if fault == "link":
            call(*prefixes[1], "ip", "link", "set", INTERFACES[1], "down")
        elif fault == "Ctrl+C":
            os.killpg(jobs[1].pid, signal.SIGINT)
        else:
            os.kill(second.pid, fault)
        seconds, words = ended(jobs[0], began_s)
        more_s, other_words = ended(jobs[1], began_s) if fault == "link" else (seconds, [])
        if fault == signal.SIGSTOP:  # else torchrun waits for half a minute before it kills it
            second.kill()
        for job in jobs:
            job.wait(60)
        return max(seconds, more_s), words + other_words, sum(left_of(job.pid) for job in jobs) + second.is_running()


def wait_for_step(job: subprocess.Popen, step: int) -> None:
    for line in job.stdout:
        event = read(line)
        if event.get("event") == "metric" and event["step"] >= step:
            return
    raise SystemExit("The training has ended before anything could fail.")


def ended(job: subprocess.Popen, began_s: float) -> tuple[float, list[str]]:
    """Return after how many seconds a job said why it failed, and what it said."""
    words = []
    for line in job.stdout:
        event = read(line)
        if event.get("event") == "error":
            words.append(f"{event['message']} {event['remedy']}")
            break
    seconds = time.monotonic() - began_s
    return seconds, words


def read(line: str) -> dict:
    try:
        return json.loads(line[line.index("{") :])  # after what torchrun puts before it
    except ValueError:
        return {}


def ranks_of(job: int) -> list[psutil.Process]:
    return [each for each in psutil.Process(job).children() if "spawn_main" in " ".join(each.cmdline())]


def left_of(group: int) -> int:
    """Return how many processes of a process group are left."""
    time.sleep(1)
    found = [each for each in psutil.process_iter() if is_in(each, group)]
    return len(found)


def is_in(process: psutil.Process, group: int) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.Error):
        return False


def report(folder: Path, expected: str, what: str, found: tuple[float, list[str], int]) -> None:
    seconds, words, left = found
    has_checkpoint = (folder / "part.safetensors.checkpoint").exists()
    core("finetune", *training(folder, "part"), "--threads", 1, *["--resume"] * has_checkpoint)
    is_same = digest(folder / "part.safetensors") == expected
    print(f"{what}\n    ended after {seconds:.1f} s; checkpoint {'there' if has_checkpoint else 'MISSING'}; "
          f"{left} processes left; resumed: {'the same model' if is_same else 'ANOTHER MODEL'}")  # fmt: skip
    for text in words:
        print(f"    {text}", flush=True)


if __name__ == "__main__":
    main()
