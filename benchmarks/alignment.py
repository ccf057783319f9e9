"""Alignment: lines displaced by known fields, how far from their roads they are before and after, and what it is for.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/alignment.py FOLDER`. The folder holds the rasters
of `road_status.py`, which are made where they are missing. Lines are displaced in one direction, in directions that
turn over some kilometers, or over some hundreds of meters. What is left are the distances across lines, in the median
and at 95 %. The state of known roads is that of `road_status.py` without and with alignment.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import geopandas
import numpy as np
import pandas
import shapely

from benchmarks.road_events import Ground, planted_events
from benchmarks.road_status import by_state, displaced, field_of, sampled, scores, view_of, with_fields
from training_core.networks.displacement import Field

STEEP = "over hundreds of meters"
CASES = ((STEEP, (0.0, 2.5, 5.0, 10.0, 15.0)), ("over kilometers", (5.0, 10.0, 15.0)), ("one", (5.0, 15.0, 30.0)))


def main() -> None:
    """Displace, align, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print("ground,directions,displaced_m,before_median_m,before_95_m,after_median_m,after_95_m", end="")
    print("".join(f",{what}_{how}" for what in ("auc", "found", "false_m") for how in ("without", "with")) + ",events")
    for ground, images, areas in planted_events(folder):
        view = view_of(ground.raster)
        for directions, offsets_m in CASES:
            for by_m in offsets_m:
                lines = moved(ground.roads, directions, by_m)
                left = [distances_m(field, lines, ground.roads) for field in (None, field_of(view, lines))]
                numbers = [f"{np.percentile(each, share):.2f}" for each in left for share in (50, 95)]
                told = states(ground, images, areas, by_m) if directions == STEEP else [""] * 7
                print(ground.name, directions, f"{by_m:g}", *numbers, *told, sep=",", flush=True)


def moved(layer: geopandas.GeoDataFrame, directions: str, by_m: float) -> geopandas.GeoDataFrame:
    """Return lines displaced by meters."""
    if directions == STEEP:
        return displaced(layer, by_m)

    def shifted(points: np.ndarray) -> np.ndarray:
        angle = np.full(len(points), 2.2)
        if directions != "one":
            angle = 1.0 + points[:, 0] / 500 + np.sin(points[:, 1] / 600)
        return points + by_m * np.column_stack([np.cos(angle), np.sin(angle)])

    return with_vertices(layer, shifted)


def with_vertices(layer: geopandas.GeoDataFrame, change: Callable[[np.ndarray], np.ndarray]) -> geopandas.GeoDataFrame:
    return layer.set_geometry(shapely.transform(shapely.segmentize(layer.geometry.to_numpy(), 10.0), change))


def distances_m(field: Field | None, lines: geopandas.GeoDataFrame, roads: geopandas.GeoDataFrame) -> np.ndarray:
    """Return the distance of each vertex of displaced lines, moved by a field, across the line where it came from."""
    true = with_vertices(roads, lambda points: points).geometry.to_numpy()
    points, line = shapely.get_coordinates(true, return_index=True)
    now = shapely.get_coordinates(lines.geometry.to_numpy())
    aside = (field.shifted(now) if field else now) - points
    # The direction of the segment after each vertex, or before the last one.
    heading = np.diff(points, axis=0, append=points[-1:])
    last = np.flatnonzero(np.diff(line, append=-1))
    heading[last] = heading[last - 1]
    return np.abs(aside[:, 0] * heading[:, 1] - aside[:, 1] * heading[:, 0]) / np.maximum(np.hypot(*heading.T), 1e-9)


def states(ground: Ground, images: list[Path], areas: list[geopandas.GeoDataFrame], by_m: float) -> list[str]:
    """Return AUC, events found and meters falsely lost, each without and with alignment, and the number of events."""
    lines, runs = displaced(with_fields(ground.roads), by_m), []
    for fit in (lambda view, lines: None, field_of):
        samples = []
        for number, (image, covered) in enumerate(zip(images, areas)):
            view, run = view_of(image), {"ground": ground.name, "moved_m": by_m, "image": number}
            table = by_state(lines, (view, fit(view, lines)))
            samples.append(sampled(table, displaced(covered, by_m)).assign(**run))
        runs.append(scores(pandas.concat(samples)))
    told = [f"{run[name]:g}" for name in ("auc", "found", "false_m") for run in runs]
    return [*told, str(runs[0]["events"])]


if __name__ == "__main__":
    main()
