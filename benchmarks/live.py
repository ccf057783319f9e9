"""Live sessions: a simulated annotator's scores by minutes of a person's time, and how soon a session answers.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/live.py --scenes generated banepa --seeds 0 1 2`.

The annotator looks at the western third of a scene, or at Banepa's northwest, and takes 6 s (`--stroke-s`) for
everything it does, in real time, so that the worker gets just the seconds of a person's pace. It looks at the newest
prediction file, and draws the longest road of the truth that is missed, in whole, or clicks on the longest false one,
whichever is longer. At some minutes it keeps the model, which is scored on the other two thirds, or on Banepa's south:
relaxed F1 of pixels (3 m), and APLS of the extracted roads.

Beside it are *draw, then fine-tune*: the same roads drawn for as many minutes without a model to look at, at random,
and then a fine-tune, during which the person waits; and *by hand*: the scored part itself drawn, the longest road
first, with the drawn lines as the network. At last it prints the latencies: from a stroke to its first step, and from a
model change to the whole view (median and 95th percentile).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import pandas
import rasterio
import shapely
from rasterio.features import rasterize
from scipy import ndimage
from shapely.geometry import box
from shapely.geometry.base import BaseGeometry

from benchmarks.quality import DATA, run_core
from tests.core.support.worker_process import LiveWorker
from training_core import events
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD, reaches
from training_core.jobs import Live
from training_core.segmentation.pixel_metrics import relaxed_matches

# A road is found where the mask is so near, and false where no true one is.
NEAR_M, MIN_M, TOLERANCE_M = 5.0, 15.0, 3.0
WIDTH_FIELD, WIDTH_M = "width_m", 6.0


@dataclass(frozen=True)
class Ground:
    """A scene: its image, its true roads, where is drawn, and where is scored."""

    name: str
    raster: str
    roads: str
    drawn: str
    scored: str

    def truth(self, area: str) -> geopandas.GeoDataFrame:
        """Return the true roads in an area, cut at its border, in the CRS of the image."""
        with rasterio.open(self.raster) as image:
            crs = image.crs
        roads, within = (geopandas.read_file(path).to_crs(crs) for path in (self.roads, area))
        cut = geopandas.clip(roads, within.union_all()).explode(index_parts=False).reset_index(drop=True)
        return cut[cut.geom_type == "LineString"].reset_index(drop=True)


@dataclass
class Course:
    """Scores by minutes of the person's time, and what a session told."""

    way: str
    points: list[tuple[float, float, float]] = field(default_factory=list)
    learned_s: list[float] = field(default_factory=list)
    shown_s: list[float] = field(default_factory=list)
    strokes: int = 0
    clicks: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=["generated", "banepa"], choices=["generated", "banepa"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, nargs="+", default=[0, 1, 2, 4, 8])
    parser.add_argument("--ways", nargs="+", default=["live", "finetune", "hand"])
    parser.add_argument("--stroke-s", type=float, default=6.0, help="what everything takes that the annotator does")
    parser.add_argument("--finetune-minutes", type=float, default=5.0)
    parser.add_argument("--scene-px", type=int, default=3072, help="size of a generated scene; a pixel is half a meter")
    parser.add_argument("--view-m", type=float, nargs=2, default=[1000.0, 800.0], help="largest size of the view")
    arguments = parser.parse_args()
    print("scene      seed  way        person min  relaxed F1   APLS", flush=True)
    courses = []
    for name in arguments.scenes:
        for seed in arguments.seeds:
            with tempfile.TemporaryDirectory() as folder:
                ground = make_ground(name, seed, arguments.scene_px, Path(folder))
                for way in arguments.ways:
                    course = Course(way)
                    for point in WAYS[way](ground, seed, arguments, Path(folder), course):
                        course.points.append(point)
                        minutes, f1, apls = point
                        print(f"{name:10} {seed:4d}  {way:10} {minutes:9.1f} {f1:11.3f} {apls:6.3f}", flush=True)
                    courses.append(course)
    tell_latencies([course for course in courses if course.way == "live"])


def make_ground(name: str, seed: int, scene_px: int, folder: Path) -> Ground:
    """Return a scene; of a generated one the western third is drawn in, and the rest scored."""
    if name == "banepa":
        roads = str(folder / "roads.gpkg")
        parts = [geopandas.read_file(DATA / f"banepa_{part}_roads.geojson") for part in ("northwest", "south")]
        pandas.concat(parts).to_file(roads)
        areas = [str(DATA / f"banepa_{part}_aoi.geojson") for part in ("northwest", "south")]
        return Ground(name, str(DATA / "banepa_rgb.tif"), roads, *areas)
    raster, roads = str(folder / "scene.tif"), str(folder / "scene.gpkg")
    size = {"size_px": str(scene_px), "resolution_m": "0.5"}
    run_core("makescene", {"raster": raster, "roads": roads, **size, "seed": str(100 + seed), "region": "any"})
    with rasterio.open(raster) as image:
        (left, bottom, right, top), crs = image.bounds, image.crs
    border = left + (right - left) / 3
    parts = {"drawn": box(left, bottom, border, top), "scored": box(border, bottom, right, top)}
    files = {part: str(folder / f"{part}_area.gpkg") for part in parts}
    for part, file in files.items():
        geopandas.GeoDataFrame(geometry=[parts[part]], crs=crs).to_file(file)
    return Ground(name, raster, roads, files["drawn"], files["scored"])


class Annotator:
    """A person who draws, at a pace that is set from outside."""

    def __init__(self, ground: Ground, worker: LiveWorker) -> None:
        self._truth, self._worker = ground.truth(ground.drawn), worker
        self._is_drawn = np.zeros(len(self._truth), dtype=bool)
        self._refused: list[BaseGeometry] = []
        self.strokes = self.clicks = 0

    def act(self) -> bool:
        """Do what seems most urgent by the newest prediction; return whether there was anything."""
        shown = self._newest()
        if shown is None:
            return False
        mask, transform, pixel_m = shown
        missed, missed_m = self._longest_missed(mask, transform)
        false, false_m = self._longest_false(mask, transform, pixel_m)
        if max(missed_m, false_m) < MIN_M:
            return False
        if missed_m >= false_m:
            self._draw(missed)
        else:
            self._click(false)
        return True

    def _newest(self) -> Optional[tuple[np.ndarray, Any, float]]:
        """Return the mask of the newest file, its transform, and the size of a pixel in the units of the map."""
        told = self._worker.all_of(events.Prediction)
        if not told:
            return None
        with rasterio.open(told[-1].path) as dataset:
            return reaches(dataset.read(1), 0.5), dataset.transform, dataset.res[0]

    def _longest_missed(self, mask: np.ndarray, transform: Any) -> tuple[int, float]:
        """Return the road of the truth of which most is missed, and its missed length in map units."""
        near = ndimage.binary_dilation(mask, iterations=max(1, round(NEAR_M / abs(transform.a))))
        missed_m = np.zeros(len(self._truth))
        for number in np.flatnonzero(~self._is_drawn):
            line = self._truth.geometry[number]
            along = np.arange(0, line.length, 2.0)
            points = shapely.get_coordinates(shapely.line_interpolate_point(line, along))
            columns, rows = (np.floor(each).astype(int) for each in ~transform @ points.T)
            inside = (columns >= 0) & (columns < mask.shape[1]) & (rows >= 0) & (rows < mask.shape[0])
            missed_m[number] = line.length * np.mean(inside & ~near[rows.clip(0, mask.shape[0] - 1),
                                                                    columns.clip(0, mask.shape[1] - 1)])  # fmt: skip
        longest = int(missed_m.argmax()) if len(missed_m) else 0
        return longest, float(missed_m[longest]) if len(missed_m) else 0.0

    def _longest_false(self, mask: np.ndarray, transform: Any, pixel_m: float) -> tuple[tuple[float, float], float]:
        """Return a place on the largest piece of road where there is none, and its length in map units."""
        true = self._truth.buffer(WIDTH_M / 2 + NEAR_M)
        here = box(*rasterio.transform.array_bounds(*mask.shape, transform)).intersection(
            box(*self._truth.total_bounds)
        )
        known = rasterize([here], mask.shape, transform=transform) > 0
        covered = rasterize([*true, *self._refused], mask.shape, transform=transform) > 0
        pieces, count = ndimage.label(mask & known & ~covered)
        if not count:
            return (0.0, 0.0), 0.0
        sizes = np.bincount(pieces.ravel())[1:]
        largest = int(sizes.argmax()) + 1
        depth = ndimage.distance_transform_edt(pieces == largest)
        row, column = np.unravel_index(int(depth.argmax()), mask.shape)
        return transform @ (column + 0.5, row + 0.5), float(sizes[largest - 1] * pixel_m**2 / WIDTH_M)

    def _draw(self, number: int) -> None:
        road = self._truth.iloc[number]
        self._is_drawn[number] = True
        width_m = float(road.get(WIDTH_FIELD) or 0)
        self._send("roads", f"road {number}", road.geometry.wkt, width_m if width_m > 0 else None)
        self.strokes += 1

    def _click(self, place: tuple[float, float]) -> None:
        self.clicks += 1
        sequence = 1_000_000 + self.clicks
        self._worker.send("correct", sequence=sequence, x=place[0], y=place[1])
        found = self._worker.wait_for(events.Correction, sequence=sequence)
        around = shapely.Point(place).buffer(NEAR_M)
        if found.layer == "no_road":
            self._send("no_road", f"click {self.clicks}", found.geometry)
            around = shapely.from_wkt(found.geometry).buffer(NEAR_M)
        self._refused.append(around)

    def _send(self, layer: str, name: str, wkt: str, width_m: Optional[float] = None) -> None:
        change = {"layer": layer, "id": name, "geometry": wkt, "width_m": width_m}
        self._worker.send("labels", sequence=self.strokes + self.clicks + 1, changes=[change])


def draw_live(
    ground: Ground, seed: int, arguments: argparse.Namespace, folder: Path, course: Course
) -> Iterator[tuple[float, float, float]]:
    """Yield minutes, relaxed F1 and APLS of a session's models."""
    session = folder / f"session {ground.name} {seed}"
    session.mkdir()
    models = []
    with LiveWorker(Live(raster=ground.raster, folder=str(session / "session"), seed=seed), session) as worker:
        worker.send("view", extent=view_of(ground, arguments.view_m))
        while worker.wait_for(events.Prediction).fraction < 1:
            pass
        worker.send("learn")
        annotator, began_s, acts = Annotator(ground, worker), time.monotonic(), 0
        for minutes in sorted(arguments.minutes):
            while acts * arguments.stroke_s < minutes * 60:
                annotator.act()
                acts += 1
                time.sleep(max(0.0, began_s + acts * arguments.stroke_s - time.monotonic()))
            models.append((minutes, str(session / f"model {minutes:g}.safetensors")))
            worker.send("keep", model=models[-1][1])
            kept_s = time.monotonic()
            worker.wait_for(events.Kept, model=models[-1][1])
            began_s += time.monotonic() - kept_s
        worker.send("stop")
        worker.wait_for(events.Result)
        course.learned_s = [event.seconds for event in worker.all_of(events.Learned)]
        course.shown_s = [
            event.seconds for event in worker.all_of(events.Prediction) if event.fraction == 1 and event.step
        ]
        course.strokes, course.clicks = annotator.strokes, annotator.clicks
    for minutes, model in models:
        yield minutes, *score_model(ground, model, folder)


def draw_then_fine_tune(
    ground: Ground, seed: int, arguments: argparse.Namespace, folder: Path, course: Course
) -> Iterator[tuple[float, float, float]]:
    """Yield minutes, relaxed F1 and APLS of models fine-tuned on roads that were drawn for so long, at random."""
    truth = ground.truth(ground.drawn).sample(frac=1, random_state=seed)
    for minutes in sorted(arguments.minutes):
        count = min(len(truth), int(minutes * 60 / arguments.stroke_s))
        if not count:
            continue
        drawn, model = str(folder / "drawn.gpkg"), str(folder / "tuned.safetensors")
        truth[:count].to_file(drawn)
        asked = {"rasters": ground.raster, "roads": drawn, "model": model, "minutes": str(arguments.finetune_minutes)}
        run_core("finetune", {**asked, **widths(truth), "seed": str(seed)})
        yield minutes, *score_model(ground, model, folder)


def draw_by_hand(
    ground: Ground, seed: int, arguments: argparse.Namespace, folder: Path, course: Course
) -> Iterator[tuple[float, float, float]]:
    """Yield minutes, relaxed F1 and APLS of the scored part drawn by hand, the longest road first."""
    truth = ground.truth(ground.scored)
    truth = truth.iloc[np.argsort(-truth.length.to_numpy(), kind="stable")]
    for minutes in sorted(arguments.minutes):
        count = min(len(truth), int(minutes * 60 / arguments.stroke_s))
        if not count:
            yield minutes, 0.0, 0.0
            continue
        drawn = str(folder / "by_hand.gpkg")
        truth[:count].to_file(drawn)
        yield minutes, drawn_f1(ground, truth, count), score_roads(ground, drawn, folder)


def drawn_f1(ground: Ground, truth: geopandas.GeoDataFrame, count: int) -> float:
    """Return the relaxed F1 of the first so many roads of the truth, as pixels."""
    with rasterio.open(ground.raster) as image:
        shape, transform, resolution = image.shape, image.transform, image.res
    area = geopandas.read_file(ground.scored).to_crs(truth.crs).union_all()
    known = rasterize([area], shape, transform=transform) > 0
    roads = truth.buffer(WIDTH_M / 2)
    true = rasterize(list(roads), shape, transform=transform) > 0
    mask = rasterize(list(roads[:count]), shape, transform=transform) > 0
    labels = np.where(known, np.where(true, ROAD, BACKGROUND), IGNORE).astype(np.uint8)
    return relaxed_matches(mask & known, labels, TOLERANCE_M, resolution).counts().f1


def score_model(ground: Ground, model: str, folder: Path) -> tuple[float, float]:
    """Return relaxed F1 and APLS of a model in the scored part."""
    options = {"model": model, "aoi": ground.scored, "engine": "native"}
    truth = ground.truth(ground.scored)
    scores = run_core("evaluate", {"rasters": ground.raster, "roads": ground.roads, **widths(truth), **options})
    roads = str(folder / "extracted.gpkg")
    run_core("extractroads", {"raster": ground.raster, "roads": roads, **options})
    return scores["relaxed"]["f1"], score_roads(ground, roads, folder)


def score_roads(ground: Ground, roads: str, folder: Path) -> float:
    """Return the APLS of a network in the scored part."""
    asked = {"truth": ground.roads, "proposal": roads, "aoi": ground.scored, "scores": str(folder / "scores.json")}
    run_core("scorenetwork", asked)
    return json.loads((folder / "scores.json").read_text(encoding="utf-8"))["apls"]["score"]


def widths(roads: geopandas.GeoDataFrame) -> dict[str, str]:
    """Return the option that names the field with widths, where there is one."""
    return {"width_field": WIDTH_FIELD} if WIDTH_FIELD in roads.columns else {}


def view_of(ground: Ground, size_m: list[float]) -> list[float]:
    """Return the middle of the part that is drawn in, as large as the view may be."""
    with rasterio.open(ground.raster) as image:
        crs = image.crs
    left, bottom, right, top = geopandas.read_file(ground.drawn).to_crs(crs).total_bounds
    across, down = min(right - left, size_m[0]) / 2, min(top - bottom, size_m[1]) / 2
    x, y = (left + right) / 2, (bottom + top) / 2
    return [x - across, y - down, x + across, y + down]


def tell_latencies(courses: list[Course]) -> None:
    """Print how soon strokes were learned from, and how soon the whole view showed a changed model."""
    for what, name in (("a stroke to its first step", "learned_s"), ("a model change to the whole view", "shown_s")):
        seconds = sorted(second for course in courses for second in getattr(course, name))
        if seconds:
            late = seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]
            print(f"From {what}: median {statistics.median(seconds):.2f} s, 95th percentile {late:.2f} s, "
                  f"{len(seconds)} times")  # fmt: skip
    for course in courses:
        print(f"{course.strokes} roads drawn, {course.clicks} clicks")


WAYS = {"live": draw_live, "finetune": draw_then_fine_tune, "hand": draw_by_hand}

if __name__ == "__main__":
    main()
