"""Learning from the known roads in the image after the event, by cross-fitting: what it brings to `roadstatus`.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/road_status_learning.py FOLDER --steps 100`. Plants
the events of `road_status.py`. The area is split in two across its longer axis, with half of the roads in each part. A
model is fine-tuned on the aligned known lines of each part, lost ones among them, and judges the other part. The
coefficients were fitted on the starter, so numbers are added to their constant: what is found, and what is falsely
lost, can then be compared at the same rate of either. Files in the folder are kept; `--kept` leaves out the images for
which models are missing there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import pandas
import rasterio
import shapely
from rasterio.features import rasterize
from shapely.geometry import box

from benchmarks.quality import run_core
from benchmarks.road_events import EVENTS, SKY, planted_events
from benchmarks.road_status import (
    LONG_M,
    SAMPLE_M,
    auc,
    by_state,
    displaced,
    field_of,
    found,
    found_at,
    sampled,
    view_of,
    with_fields,
)
from training_core.comparison import road_state
from training_core.comparison.road_state import View, places_on
from training_core.geodata.pixel_codes import CERTAIN, NO_DATA
from training_core.networks.lines import LineFields, lines_in
from training_core.networks.road_graph import as_drawn
from training_core.networks.surroundings import log_odds

# Labels are background so near to a known line, and ignored elsewhere.
NEAR_M = 30.0
EVENT_NAMES = ("nothing", *map(str, range(EVENTS)))
# To the constant of the logistic regression.
ADDED = (0.0, 0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class Case:
    """Known lines, what is covered of them in an image, and what a model sees in it."""

    ground: str
    event: str
    lines: geopandas.GeoDataFrame
    covered: geopandas.GeoDataFrame
    view: View

    def run(self) -> pandas.DataFrame:
        """Return samples along the lines, with clouds and shadows given."""
        clouds, lines = self.covered.geometry[self.covered["kind"].isin(SKY)], with_fields(self.lines)
        table = by_state(lines, (self.view, field_of(self.view, lines)), None, clouds)
        return sampled(table, self.covered).assign(ground=self.ground, moved_m=0.0, image=self.event)


def halves(lines: geopandas.GeoDataFrame) -> list[shapely.Polygon]:
    """Return two areas with half of the length of lines each, across the longer axis."""
    roads = as_drawn(lines_in(lines.crs, lines, LineFields()))
    points = roads.points_at(places_on(roads))
    low, high = lines.total_bounds[:2] - NEAR_M, lines.total_bounds[2:] + NEAR_M
    axis = int(np.ptp(points, axis=0).argmax())
    begin, end = low.copy(), high.copy()
    begin[axis] = end[axis] = np.median(points[:, axis])
    return [box(*low, *end), box(*begin, *high)]


def learned_view(image: Path, lines: geopandas.GeoDataFrame, name: str, steps: int, is_kept: bool) -> Optional[View]:
    """Return what two models see that learn from the lines, each in the part of the other; the threshold is 0.5.

    None if only what is kept counts, and a model is missing.
    """
    starter = view_of(image)
    moved = lines.set_geometry(field_of(starter, lines).moved(lines.geometry.to_numpy()))
    parts, near = halves(moved), moved.buffer(NEAR_M).union_all()
    merged, grid = np.full_like(starter.probability, NO_DATA), starter.grid
    for part, judged in zip((0, 1), reversed(parts)):
        path = image.with_name(f"{image.stem}_{name}_{steps}_{part}.tif")
        if is_kept and not path.with_suffix(".json").exists():
            return None
        found = learned_probability(image, moved, near & parts[part], path, steps)
        area = geopandas.GeoSeries([judged], crs=lines.crs).to_crs(grid.crs)
        is_here = rasterize(area, merged.shape, transform=grid.transform) > 0
        merged[is_here] = found[is_here]
    return View(merged, grid, 0.5)


def learned_probability(
    image: Path, lines: geopandas.GeoDataFrame, area: shapely.Geometry, path: Path, steps: int
) -> np.ndarray:
    """Return the probability bytes of a model that learns from lines in an area, with a threshold of 0.5."""
    told = path.with_suffix(".json")
    if not told.exists():
        files = {each: str(path.with_name(f"{path.stem}_{each}.gpkg")) for each in ("roads", "aoi")}
        lines.to_file(files["roads"])
        geopandas.GeoDataFrame(geometry=[area], crs=lines.crs).to_file(files["aoi"])
        width = {"width_field": "width_m"} if "width_m" in lines else {}
        model = str(path.with_suffix(".safetensors"))
        run_core("finetune", {"rasters": str(image), "model": model, "steps": str(steps), **files, **width})
        asked = {"raster": str(image), "probability": str(path), "model": model, "grid": "model"}
        told.write_text(json.dumps(run_core("segment", asked)["threshold"]))
    odds = log_odds(np.arange(NO_DATA) / CERTAIN) - log_odds(np.array(json.loads(told.read_text())))
    with rasterio.open(path) as dataset:
        return np.append(np.rint(CERTAIN / (1 + np.exp(-odds))), NO_DATA).astype(np.uint8)[dataset.read(1)]


def cases_of(folder: Path, by_m: float, steps: int, is_kept: bool) -> Iterator[Case]:
    """Yield the cases by what is learned in some steps; 0 for the starter."""
    for ground, images, areas in planted_events(folder):
        lines = displaced(ground.roads, by_m)
        for event, image, covered in zip(EVENT_NAMES, images, areas):
            view = learned_view(image, lines, f"{by_m:g}", steps, is_kept) if steps else view_of(image)
            if view:
                yield Case(ground.name, event, lines, displaced(covered, by_m), view)


def show(steps: int, cases: list[Case]) -> None:
    """Print a row for each case, and for all with events and without, these by what is added to the constant."""
    for added in ADDED:
        coefficients = {**road_state.COEFFICIENTS, "constant": road_state.COEFFICIENTS["constant"] + added}
        pooled: dict[str, list[pandas.DataFrame]] = {}
        with patch.object(road_state, "COEFFICIENTS", coefficients):
            for case in cases:
                run = case.run()
                pooled.setdefault("all,nothing" if case.event == "nothing" else "all,events", []).append(run)
                if not added:
                    show_row(f"{case.ground},{case.event},{steps},0", run)
        for name, runs in pooled.items():
            show_row(f"{name},{steps},{added:g}", pandas.concat(runs, ignore_index=True))


def show_row(name: str, run: pandas.DataFrame) -> None:
    """Print a row."""
    false = run["said"] & (run["event"] < 0)
    stretches_m = SAMPLE_M * false.groupby([run["ground"], run["image"], run["stretch"]]).sum()
    of_events, length_m = found(run, run["said"]), SAMPLE_M * len(run)
    numbers = f"{len(of_events)},{of_events.sum()},{found_at(run, 0.9)},{SAMPLE_M * false.sum():.0f}"
    per_100_km = (stretches_m > LONG_M).sum() / length_m * 1e5
    print(f"{name},{length_m:.0f},{numbers},{per_100_km:.1f},{auc(run):.3f}", flush=True)


def main() -> None:
    """Plant, learn, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--moved", type=float, default=5.0, help="displacement of the lines in meters")
    parser.add_argument("--kept", action="store_true", help="reuse the fine-tuned models in the folder")
    asked = parser.parse_args()
    learned = [*cases_of(asked.folder, asked.moved, asked.steps, asked.kept)]
    known = {(case.ground, case.event) for case in learned}
    starter = [case for case in cases_of(asked.folder, asked.moved, 0, True) if (case.ground, case.event) in known]
    print("ground,event,steps,added,meters,events,found,found_at_90_percent,false_m,false_per_100_km,auc")
    show(0, starter)
    show(asked.steps, learned)


if __name__ == "__main__":
    main()
