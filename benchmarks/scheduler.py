"""What the scheduler costs: empty tasks through an executor, by how many are submitted ahead of each worker.

Run with the runtime's Python, with the requirement set fleet: `$(make -s runtime-python) benchmarks/scheduler.py`. The
tasks have documents of the shape that a block of a scene has, and do nothing: what is measured is the way there and
back. In this process, and with a scheduler and workers of this machine, it is printed how many are done a second, and
how long one takes beside its work. With --direct they are also given to Dask itself all at once, which is its limit
without RoadSeg's bookkeeping.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from training_core.events import Reporter, Warning
from training_core.regions import dask_executor
from training_core.regions.dask_executor import DaskExecutor
from training_core.regions.executors import Executor, Handlers, LocalExecutor, Task
from training_core.regions.store import content_key
from training_core.regions.worker_checks import Needs
from training_core.system import processor


def perform(work: str, document: dict) -> dict:
    """Do nothing, and say as much as a block does."""
    return {"block": document["block"], "road_px": 1234, "nodata_px": 0, "certainty": 0.9312, "bytes": 1048576}


def echo(text: str) -> str:
    """Return what came."""
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ahead", type=int, nargs="*", default=[dask_executor.AHEAD], help="per worker")
    parser.add_argument("--direct", action="store_true", help="also all tasks at once, by Dask alone")
    arguments = parser.parse_args()
    print(f"{processor.name()}; {arguments.tasks:,} tasks of {len(json.dumps(next(tasks(1)).document))} bytes")
    report("this process", LocalExecutor(Handlers(perform)), arguments.tasks)
    for ahead in arguments.ahead:
        dask_executor.AHEAD = ahead
        with tempfile.TemporaryDirectory() as folder:
            needs, reporter = Needs(folder), Reporter(_show)
            with closing(DaskExecutor(Handlers(perform), needs, reporter, workers=arguments.workers)) as executor:
                report(f"{arguments.workers} workers, {ahead} tasks ahead of each", executor, arguments.tasks)
                if arguments.direct:
                    report_direct(executor, arguments.tasks)


def tasks(count: int) -> Iterator[Task]:
    """Yield tasks as a region's blocks have them: the scene, those beneath it, the window and the settings."""
    for number in range(count):
        scene = f"/data/scenes/district_{number // 16:05}.tif"
        document = {
            "scene": scene,
            "beneath": [f"/data/scenes/district_{number // 16 + step:05}.tif" for step in (1, 40, 41)],
            "block": [number % 4 * 4096, number % 16 // 4 * 4096, 4096, 4096],
            "grid": {"crs": "EPSG:32637", "transform": [0.5, 0.0, 402304.0, 0.0, -0.5, 6184960.0]},
            "bands": [1, 2, 3],
            "model": "/data/region/roads.safetensors",
            "folder": "/data/region",
            "settings": {"tile_px": 1024, "halo_px": 96, "engine": "native", "precision": "bf16", "threshold": 0.5},
        }
        yield Task(content_key(document), "predict", document, 16.8, scene)


def report(name: str, executor: Executor, count: int) -> None:
    began_s = time.perf_counter()
    failures = sum(bool(outcome.code) for outcome in executor.run(tasks(count), Reporter(_show)))
    _print(name, time.perf_counter() - began_s, count, failures)


def report_direct(executor: DaskExecutor, count: int) -> None:
    texts = [json.dumps(task.document) for task in tasks(count)]
    began_s = time.perf_counter()
    futures = executor._pool.client.map(echo, texts, pure=False)
    executor._pool.client.gather(futures)
    _print("Dask alone, all at once", time.perf_counter() - began_s, count, 0)


def _print(name: str, seconds: float, count: int, failures: int) -> None:
    rate, each_ms = count / seconds, seconds / count * 1000
    print(f"{name}: {rate:,.0f} tasks/s, {each_ms:.3f} ms a task, {failures} failures", flush=True)


def _show(event: object) -> None:
    if isinstance(event, Warning):
        print(event.message, file=sys.stderr)


if __name__ == "__main__":
    main()
