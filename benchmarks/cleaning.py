"""Time of cleaning a layer of lines, by step, for a town and for one of four times as many lines.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/cleaning.py`. The town is a wavy grid of streets, a
line for each side of a block, of which a tenth end 4 % before their junction. Four times as many lines should take four
times as long.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from training_core.system import processor

processor.prepare_process()

import numpy as np
import shapely

from training_core.events import Event, Progress, Reporter
from training_core.jobs import CleanNetwork
from training_core.networks.lines import Lines, make_lines
from training_core.pipelines.cleannetwork import clean_lines

BLOCK_M, VERTICES = 100.0, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streets", type=int, default=112, help="streets each way in the smaller town")
    arguments = parser.parse_args()
    print(processor.name())
    seconds = [measured(town(streets)) for streets in (arguments.streets, 2 * arguments.streets)]
    print(f"four times as many lines take {seconds[1] / seconds[0]:.1f} times as long")


def town(streets: int) -> Lines:
    """Return the lines of a town with so many streets each way."""
    random = np.random.default_rng(0)
    corner = np.stack(np.meshgrid(np.arange(streets), np.arange(streets), indexing="ij"), axis=-1) * BLOCK_M
    corner += random.uniform(-0.2 * BLOCK_M, 0.2 * BLOCK_M, corner.shape)
    begin = np.concatenate([corner[:-1].reshape(-1, 2), corner[:, :-1].reshape(-1, 2)])
    end = np.concatenate([corner[1:].reshape(-1, 2), corner[:, 1:].reshape(-1, 2)])
    missing = np.where(random.random((2, len(begin))) < 0.1, 0.04, 0)[:, :, None]
    share = missing[0] + np.linspace(0, 1, VERTICES) * (1 - missing.sum(axis=0))
    points = begin[:, None] + share[:, :, None] * (end - begin)[:, None]
    points[:, 1:-1] += random.normal(0, 0.8, points[:, 1:-1].shape)
    return make_lines(shapely.linestrings(points))


def measured(lines: Lines) -> float:
    """Clean lines, print what it took, and return the time in seconds."""
    steps: list[tuple[float, str]] = []

    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            steps.append((time.perf_counter(), event.message))

    graph = clean_lines(lines, CleanNetwork(), Reporter(listen))
    steps.append((time.perf_counter(), ""))
    total = steps[-1][0] - steps[0][0]
    dead_ends = int((graph.degree == 1).sum())
    print(f"{len(lines):,} lines: {total:.1f} s; {len(graph.edges):,} edges with {dead_ends:,} dead ends")
    for (began, step), (ended, _) in zip(steps, steps[1:]):
        print(f"    {step:36} {ended - began:5.1f} s")
    return total


if __name__ == "__main__":
    main()
