"""Faults of a region's job: kills at random moments, and the bytes of all results beside those of an undisturbed run.

Run with the runtime's Python, with the requirement set fleet: `$(make -s runtime-python) benchmarks/region_faults.py`.
Each run has two worker processes of this machine, of which one or more are killed (SIGKILL) at random moments; some
runs lose the leading process itself. A second run then does what is missing. It is printed how many kills there were,
how many tasks the second run had to do, whether all bytes are those of an undisturbed run, and whether a process is
left. Arguments after -- are those of the job mapregion, without its folder and roads:

    benchmarks/region_faults.py --runs 20 -- --rasters scenes --model roads.safetensors --workers 2

Without them, the tasks write files of known bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
BLOCKS, BLOCK_S = 60, 0.1
RESULTS = ("work", "masks")
# What is not whole, and what was chosen by timing.
NO_RESULTS = {"partial", "settings"}
TOY = "--toy"


@dataclass(frozen=True)
class Run:
    """What came of a disturbed run.

    Parameters
    ----------
    kills : int
        Of workers.
    left : int
        Processes that outlived it.
    """

    kills: int
    is_leader_killed: bool
    seconds: float
    left: int


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause-s", type=float, default=3.0, help="longest pause between two kills")
    parser.add_argument(TOY, help=argparse.SUPPRESS)
    parser.add_argument("job", nargs="*")
    arguments = parser.parse_args()
    if arguments.toy:
        do_toy_work(Path(arguments.toy))
        return
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began_s = time.monotonic()
        subprocess.run(command(arguments.job, folder / "plain"), check=True, stdout=subprocess.DEVNULL)
        print(f"undisturbed: {time.monotonic() - began_s:.1f} s, {len(digests(folder / 'plain'))} files", flush=True)
        expected, wrong = digests(folder / "plain"), 0
        for number in range(arguments.runs):
            region = folder / f"run{number}"
            run = disturbed(command(arguments.job, region), draw, arguments.pause_s, number % 4 == 3)
            before = digests(region)
            subprocess.run(command(arguments.job, region), check=False, stdout=subprocess.DEVNULL)
            is_same = digests(region) == expected
            wrong += not is_same or run.left > 0
            killed = f"{run.kills} workers{' and the leader' * run.is_leader_killed} killed in {run.seconds:.1f} s"
            missing = len(expected) - len(before)
            verdict = "the same bytes" if is_same else "OTHER BYTES"
            print(f"run {number}: {killed}; {missing} files left to a second run; {run.left} processes left; {verdict}")
    print(f"{arguments.runs - wrong} of {arguments.runs} as they should be")
    sys.exit(wrong > 0)


def command(job: list[str], folder: Path) -> list[str]:
    if not job:
        return [sys.executable, __file__, TOY, str(folder)]
    outputs = ["--folder", str(folder), "--roads", str(folder / "roads.gpkg")]
    return [sys.executable, "-m", "training_core", "mapregion", *job, *outputs]


def disturbed(words: list[str], draw: random.Random, pause_s: float, is_leader_killed: bool) -> Run:
    """Run a job while processes of it are killed."""
    began_s, kills = time.monotonic(), 0
    leader = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    known: set[psutil.Process] = set()
    last_s = draw.uniform(1, 1 + pause_s)
    while leader.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            leader.wait(draw.uniform(0.3, pause_s))
        workers = workers_of(leader.pid)
        known |= set(workers)
        if is_leader_killed and time.monotonic() - began_s > last_s:
            leader.send_signal(signal.SIGKILL)
        elif workers:
            with suppress(psutil.Error):
                draw.choice(workers).kill()
                kills += 1
    leader.wait()
    was_killed = leader.returncode == -signal.SIGKILL
    _, alive = psutil.wait_procs(list(known), timeout=15)
    return Run(kills, was_killed, time.monotonic() - began_s, len(alive))


def workers_of(leader: int) -> list[psutil.Process]:
    found = []
    with suppress(psutil.Error):
        for process in psutil.Process(leader).children(recursive=True):
            with suppress(psutil.Error):
                if any("spawn_main" in word for word in process.cmdline()):
                    found.append(process)
    return found


def digests(folder: Path) -> dict[str, str]:
    """Return the hash of each result by its path."""
    files = [path for name in RESULTS for path in (folder / name).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if not NO_RESULTS & set(path.relative_to(folder).parts)
    }


def do_toy_work(folder: Path) -> None:
    """Write the blocks by two workers; those that are there already are kept."""
    from training_core.events import Reporter
    from training_core.regions.executors import Handlers, Task, open_executor
    from training_core.regions.store import Store
    from training_core.regions.worker_checks import Needs

    store = Store(folder)
    store.remove_leftovers()
    tasks = [Task(f"block{seed:05}", "block", {"folder": str(folder), "seed": seed}) for seed in range(BLOCKS)]
    tasks = [task for task in tasks if not store.has("toy", task.key, ".bin")]
    with closing(open_executor(Handlers(write_block), Needs(str(folder)), Reporter(), workers=2)) as executor:
        failures = [outcome.reason for outcome in executor.run(tasks, Reporter()) if outcome.code]
    sys.exit(len(failures) > 0)


def write_block(work: str, document: dict) -> dict:
    """Write bytes that follow from a number, half of them, then after some time the rest."""
    from training_core.regions.store import Store

    seed = document["seed"]
    data = hashlib.sha256(str(seed).encode()).digest() * 5000

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(data[:80_000])
            file.flush()
            os.fsync(file.fileno())
            time.sleep(BLOCK_S)
            file.write(data[80_000:])

    Store(document["folder"]).write("toy", f"block{seed:05}", ".bin", write)
    return {"seed": seed}


if __name__ == "__main__":
    main()
