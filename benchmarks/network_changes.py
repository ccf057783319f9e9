"""Change detection between road networks before and after a disaster: accuracy and time.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/network_changes.py`. The towns are wavy grids of
streets, a line for each side of a block. Afterwards a tenth of them is gone, some have moved by 9 m, and there are new
ones across blocks; all are drawn anew with vertices up to a meter or two aside, and the layer is offset by
5 m. The accuracy is the share of the length of a true status (intact, displaced, lost, new) that is classified as such.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from training_core.system import processor

processor.prepare_process()

import geopandas
import numpy as np
import shapely

from training_core.comparison.accessibility import Points, RouteRules, find_routes
from training_core.comparison.alignment import along, field_between
from training_core.comparison.changes import (
    DISPLACED,
    INTACT,
    UNMATCHED,
    ChangeSegments,
    classify_changes,
)
from training_core.comparison.network_pair import move_closer
from training_core.comparison.passable_roads import ComparedRoads, ways_on
from training_core.events import Reporter
from training_core.jobs import CompareNetworks
from training_core.networks.lines import Lines, make_lines
from training_core.networks.road_graph import as_drawn

BLOCK_M, STEP_M, WAVE_M, NOISE_M = 100.0, 12.0, 15.0, 0.7
GONE, MOVED, NEW, MOVED_M = 0.1, 0.03, 0.02, 9.0
SHIFT_M = np.array([4.0, 3.0])
PLACES = 100


@dataclass(frozen=True)
class Event:
    """A town before and after, with the true status of each line of either."""

    before: Lines
    after: Lines
    became: np.ndarray
    came: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes-km", type=float, nargs="+", default=[1, 2, 5, 10])
    arguments = parser.parse_args()
    print(processor.name())
    columns = "correct: intact | displaced | lost | new | largest error of offsets m | offsets s | lines s | routes s"
    print(f"km | roads km | {columns}")
    for size_km in arguments.sizes_km:
        tell(size_km, event(size_km))


def event(size_km: float) -> Event:
    """Return a town before and after."""
    random = np.random.default_rng(0)
    count = round(size_km * 1000 / BLOCK_M) + 1
    corner = np.moveaxis(np.mgrid[:count, :count], 0, -1) * BLOCK_M
    corner = corner + random.uniform(-WAVE_M, WAVE_M, corner.shape)
    begin = np.concatenate([corner[:-1].reshape(-1, 2), corner[:, :-1].reshape(-1, 2)])
    end = np.concatenate([corner[1:].reshape(-1, 2), corner[:, 1:].reshape(-1, 2)])
    middle = (begin + end) / 2 + random.uniform(-5, 5, begin.shape)
    streets = shapely.linestrings(np.stack([begin, middle, end], axis=1))
    became = random.choice([INTACT, UNMATCHED, DISPLACED], len(streets), p=[1 - GONE - MOVED, GONE, MOVED])
    aside = (end - begin)[:, ::-1] * (1, -1)
    by_m = np.where((became == DISPLACED)[:, None], MOVED_M * aside / np.hypot(*aside.T)[:, None], 0)
    begin, middle, end = (points + by_m for points in (begin, middle, end))
    there = became != UNMATCHED
    across = random.random((count - 1, count - 1)) < NEW
    ways = np.stack(
        [corner[:-1, :-1][across], (corner[:-1, :-1] + corner[1:, 1:])[across] / 2, corner[1:, 1:][across]], 1
    )
    drawn = np.concatenate([np.stack([begin, middle, end], axis=1)[there], ways])
    came = np.concatenate([became[there], np.full(len(ways), UNMATCHED)])
    return Event(make_lines(streets), make_lines(redrawn(drawn, random)), became, came)


def redrawn(ways: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return ways as another hand draws them: vertices jittered, but for the ends, and all of it shifted."""
    points, way = shapely.get_coordinates(shapely.segmentize(shapely.linestrings(ways), STEP_M), return_index=True)
    is_end = np.append(True, np.diff(way) > 0) | np.append(np.diff(way) > 0, True)
    noise = random.normal(0, NOISE_M, points.shape) * ~is_end[:, None]
    return shapely.linestrings(points + noise + SHIFT_M, indices=way)


def tell(size_km: float, town: Event) -> None:
    """Compare a town with what is left of it, and print the accuracy and the times."""
    job = CompareNetworks()
    began_s = time.perf_counter()
    before, after = as_drawn(town.before), as_drawn(town.after)
    field = field_between(before, after, 2 * job.reach_m, job.parallel_angle)
    assert field is not None
    off_m = np.hypot(*(along(field, before) - SHIFT_M).T).max()
    before = move_closer(before, after, field, job.tolerance_m, job.parallel_angle) or before
    shifted_s = time.perf_counter()
    segments, segments_after = classify_changes(before, after, job)
    compared_s = time.perf_counter()
    nothing = before.lines.parted(np.zeros(0, object), np.zeros(0, int))
    roads = ComparedRoads(segments, segments_after, nothing)
    nodes = before.graph.nodes[np.random.default_rng(1).choice(len(before.graph.nodes), PLACES)]
    layer = geopandas.GeoDataFrame(geometry=shapely.points(nodes))
    ways = ways_on(roads, None, job, Reporter())
    points = Points(layer, np.arange(PLACES).astype(str), nodes, {"places": ""})
    find_routes(ways, points, RouteRules(job.place_m, job.longer_percent, job.tolerance_m), Reporter())
    routed_s = time.perf_counter()
    rightly = [told_rightly(segments, town.became, kind) for kind in (INTACT, DISPLACED, UNMATCHED)]
    rightly.append(told_rightly(segments_after, town.came, UNMATCHED))
    print(
        f"{size_km:g} | {before.length_m.sum() / 1000:.0f} | "
        + " | ".join(f"{share:.1%}" for share in rightly)
        + f" | {off_m:.2f} | {shifted_s - began_s:.2f} | {compared_s - shifted_s:.2f} | "
        f"{routed_s - compared_s:.2f}",
        flush=True,
    )


def told_rightly(segments: ChangeSegments, became: np.ndarray, kind: int) -> float:
    """Return the share of the length of what became one kind that is told as such."""
    lengths_m = segments.lengths_by_line()[became == kind]
    return lengths_m[:, kind].sum() / lengths_m.sum()


if __name__ == "__main__":
    main()
