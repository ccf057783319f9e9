"""Minutes until a person accepts a map: a simulated person corrects it until both scores reach 0.95.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/accepted_map.py FOLDER`. Training and predictions
are kept in the folder. The real ground needs shared/data beside the project.

The scores are completeness and correctness by length, within 5 m. The person works by the keystroke-level model of
Card, Moran and Newell, "The keystroke-level model for user performance time with interactive systems",
Communications of the ACM 23 (1980): 0.28 s a key (an average typist), 1.1 s to point, 0.2 s to press and release a
button, 1.35 s to think before each decision. A look takes a fixation of 0.3 s (Rayner, "Eye movements and attention in
reading, scene perception, and visual search", Quarterly Journal of Experimental Psychology 62, 2009) for each circle of
4 degrees, which are 84 m of the ground on a screen with 0.25 mm and 0.5 m a pixel, 0.6 m from the eye. The person errs
in one verdict in 30, and clicks a meter beside the place that was meant.

The ways: *tracing* draws all roads by hand, and *by paths* along the likeliest path between clicks. *editing* goes
through the views of 250 m of the extracted network, deletes and draws with QGIS' own tools. The others add to it:
*threshold*, the best of five by eye in two views, of which a map bears its share of a town of 25 km; *painting*, false
lines by a click, and parts of them by a stroke, with a key that ends each view; *paths*, missing roads along the
likeliest path; *learning*, a fine-tune on the first part of the ground before the second is mapped, whose minutes do
not count, since the person goes on meanwhile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import rasterio
import rasterio.windows
import shapely
from shapely.ops import substring

from benchmarks.connecting_rasters import ELSEWHERE, STARTER, make_scene, segment
from benchmarks.quality import DATA, Scene, halves, make_scenes, run_core
from training_core.events import Reporter
from training_core.extraction.tracing import as_drawn, continue_paths
from training_core.jobs import Vectorize
from training_core.pipelines.vectorize import run as vectorize

GOAL, TOLERANCE_M = 0.95, 5.0
KEY_S, POINT_S, CLICK_S, THINK_S, FIXATION_S = 0.28, 1.1, 0.2, 1.35, 0.3
FIXATION_M, VIEW_M = 84.0, 250.0
ERRORS, AIM_M = 1 / 30, 1.0
# Bends that a person draws, and pieces too short to be corrected.
DRAWN_M, SHORTEST_M = 1.5, 10.0
THRESHOLDS, SEEN_VIEWS = (0.1, 0.2, 0.35, 0.5, 0.65), 2
TOWN_KM = 25.0
# Where a person gives up: the goal cannot be reached with what is corrected.
LONGEST_S = 4 * 3600.0
RIGHT_PATH, PATH_M, MARGIN_M = 0.85, 4.0, 60.0
TRACING, EDITING = ("tracing", "by paths"), "editing"
PARTS = ("threshold", "painting", "paths", "learning")
LAYOUTS = {"town": "organic", "countryside": "rural"}
SEED = 600
Seconds = Callable[[shapely.LineString], float]


@dataclass(frozen=True)
class Part:
    """A part of the ground, in meters: its true roads, and the views in which a person looks at it."""

    truth: geopandas.GeoDataFrame
    views: list[shapely.Polygon]


@dataclass(frozen=True)
class Map:
    """The extracted lines of a part with `road_probability`; `raster` is the evidence."""

    part: Part
    found: geopandas.GeoDataFrame
    raster: str


@dataclass
class Person:
    """A person at work: the seconds that passed, and the lines that are left to correct."""

    chance: np.random.Generator
    true_m: float
    right_m: float = 0.0
    false: list[shapely.LineString] = field(default_factory=list)
    missing: list[shapely.LineString] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_content(self) -> bool:
        """Whether both scores reach the goal."""
        false_m, missing_m = (sum(line.length for line in lines) for lines in (self.false, self.missing))
        complete, correct = 1 - missing_m / self.true_m, self.right_m / max(self.right_m + false_m, 1e-9)
        return min(complete, correct) >= GOAL

    def look(self, length_m: float, width_m: float = FIXATION_M) -> None:
        """Look at a stretch, or an area."""
        self.seconds += FIXATION_S * max(1.0, length_m * width_m / FIXATION_M**2)

    def errs(self) -> bool:
        """Return whether a verdict is wrong."""
        return self.chance.random() < ERRORS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    ways = [(), PARTS, *(tuple(each for each in PARTS if each != left_out) for left_out in PARTS)]
    names = [*TRACING, EDITING, "all parts", *(f"without {part}" for part in PARTS)]
    print("minutes per km of road" + " " * 6 + "".join(f"{name:>19}" for name in names), flush=True)
    for scene in scenes(arguments.folder):
        cells = [minutes(scene, arguments.folder, seed, ways) for seed in arguments.seeds]
        print(f"{scene.name:28}" + "".join(f"{cell:19.2f}" for cell in np.mean(cells, axis=0)), flush=True)


def scenes(folder: Path) -> Iterator[Scene]:
    """Yield grounds, each with a first and a second part."""
    if DATA.exists():
        yield from (scene for scene in make_scenes(folder) if scene.name != "banepa")
    for number, (name, layout) in enumerate(LAYOUTS.items()):
        image, roads = make_scene(folder / f"{name}.tif", folder / f"{name}.gpkg", SEED + number, layout)
        with rasterio.open(image) as dataset:
            areas = halves(name, dataset.bounds, dataset.crs, folder)
        yield Scene(name, str(image), str(roads), *areas, {"width_field": "width_m"})


def minutes(scene: Scene, folder: Path, seed: int, ways: list[tuple[str, ...]]) -> list[float]:
    """Return the minutes per kilometer of road that a person needs for both parts: by tracing, and each way.

    Tracing is by hand, then by paths along what the starter predicts.
    """
    parts = [read_part(scene, area) for area in (scene.trained, scene.scored)]
    length_km = sum(part.truth.length.sum() for part in parts) / 1000
    areas = list(zip(parts, (scene.trained, scene.scored), (False, True)))
    evidence = [probability(scene, area, folder, is_second, False)[0] for _, area, is_second in areas]
    seconds = [sum(trace_all(part, seed) for part in parts)]
    seconds.append(sum(trace_all(part, seed, raster) for part, raster in zip(parts, evidence)))
    for way in ways:
        spent_s = 0.0
        for part, area, is_second in areas:
            raster, threshold = probability(scene, area, folder, is_second, is_second and "learning" in way)
            chance = np.random.default_rng(seed)
            if "threshold" in way:
                threshold, chosen_s = threshold_by_eye(raster, part, threshold, chance)
                spent_s += chosen_s * min(1.0, part.truth.length.sum() / 1000 / TOWN_KM)
            spent_s += correct(Map(part, extract(raster, threshold, part), raster), way, chance)
        seconds.append(spent_s)
    return [each / 60 / length_km for each in seconds]


def read_part(scene: Scene, area: str) -> Part:
    """Return a part of a scene."""
    outline = geopandas.read_file(area)
    outline = outline.to_crs(outline.estimate_utm_crs())
    truth = geopandas.read_file(scene.roads).to_crs(outline.crs).clip(outline).explode(ignore_index=True)
    left, bottom, right, top = outline.total_bounds
    corners = [(x, y) for y in np.arange(bottom, top, VIEW_M) for x in np.arange(left, right, VIEW_M)]
    return Part(truth, [shapely.box(x, y, min(x + VIEW_M, right), min(y + VIEW_M, top)) for x, y in corners])


def probability(scene: Scene, area: str, folder: Path, is_second: bool, is_learned: bool) -> tuple[str, float]:
    """Return the file of what the starter, or the model that learned the first part, predicts, and the threshold."""
    name = f"{scene.name}_{'second' if is_second else 'first'}_{'learned' if is_learned else 'starter'}"
    raster, note, model = folder / f"{name}.tif", folder / f"{name}.txt", folder / f"{scene.name}.safetensors"
    if not note.exists():
        if is_learned and not model.exists():
            asked = {"rasters": scene.raster, "roads": scene.roads, "aoi": scene.trained, "base_model": STARTER}
            run_core("finetune", {**asked, "model": str(model), **scene.options, **ELSEWHERE})
        note.write_text(str(segment(Path(scene.raster), str(model) if is_learned else STARTER, raster, area)))
    return str(raster), float(note.read_text())


def extract(raster: str, threshold: float, part: Part) -> geopandas.GeoDataFrame:
    """Return the lines of a raster at a threshold, in the CRS of the truth."""
    lines = Path(raster).with_name(f"{Path(raster).stem}_{threshold:.3f}.gpkg")
    if not lines.exists():
        vectorize(Vectorize(raster=raster, threshold=threshold, roads=str(lines)), Reporter())
    return geopandas.read_file(lines, layer="roads").to_crs(part.truth.crs)


def threshold_by_eye(raster: str, part: Part, usual: float, chance: np.random.Generator) -> tuple[float, float]:
    """Return the threshold that looks best in some views, and the seconds to find it: one move of the slider each."""
    seen = shapely.union_all([part.views[each] for each in chance.permutation(len(part.views))[:SEEN_VIEWS]])
    best = max((usual, *THRESHOLDS), key=lambda each: f1(extract(raster, each, part), part.truth, seen))
    look_s = FIXATION_S * seen.area / FIXATION_M**2
    return best, len(THRESHOLDS) * (POINT_S + CLICK_S + look_s) + THINK_S


def f1(found: geopandas.GeoDataFrame, truth: geopandas.GeoDataFrame, seen: shapely.Geometry) -> float:
    """Return the F1 of lines within some views, by length."""
    found_m, truth_m = (shapely.intersection(each.union_all(), seen).length for each in (found, truth))
    false, missing = (sum(each.length for each in both) for both in differences(found.clip(seen), truth.clip(seen)))
    right_m = found_m - false
    return 2 * right_m / max(found_m + truth_m - missing + right_m, 1e-9) if found_m else 0.0


def differences(
    found: geopandas.GeoDataFrame, truth: geopandas.GeoDataFrame
) -> tuple[list[shapely.LineString], list[shapely.LineString]]:
    """Return the false and the missing stretches."""
    both = []
    for one, other in ((found, truth), (truth, found)):
        left = shapely.difference(one.geometry.to_numpy(), other.buffer(TOLERANCE_M).union_all())
        both.append([line for line in shapely.get_parts(left) if line.length > 0])
    return both[0], both[1]


def by_hand_s(line: shapely.LineString) -> float:
    """Return the seconds to draw a line: a click for each bend, and one more to end."""
    return THINK_S + len(line.simplify(DRAWN_M).coords) * (POINT_S + CLICK_S) + CLICK_S


def trace_all(part: Part, seed: int, raster: str = "") -> float:
    """Return the seconds to draw roads until enough are there: by hand, or by paths along a raster."""
    chance = np.random.default_rng(seed)
    person = Person(chance, part.truth.length.sum(), missing=list(part.truth.geometry))
    start = Map(part, part.truth, raster)
    draw_s = partial(by_path_s, start=start, chance=chance) if raster else by_hand_s
    work_through(person, part.views, draw_s, lambda line: 0.0, 0.0)
    return person.seconds


def correct(start: Map, way: tuple[str, ...], chance: np.random.Generator) -> float:
    """Return the seconds to correct a map until it reaches the goal."""
    false, missing = differences(start.found, start.part.truth)
    found_m = start.found.length.sum()
    person = Person(chance, start.part.truth.length.sum(), found_m - sum(each.length for each in false), false, missing)
    draw_s = partial(by_path_s, start=start, chance=chance) if "paths" in way else by_hand_s
    delete_s = partial(painting_s if "painting" in way else deletion_s, found=start.found)
    work_through(person, start.part.views, draw_s, delete_s, KEY_S if "painting" in way else 0.0)
    return person.seconds


def work_through(
    person: Person, views: list[shapely.Polygon], draw_s: Seconds, delete_s: Seconds, end_s: float
) -> None:
    """Go through all views, and correct what is there, again and again until the map is accepted.

    Each view takes `end_s` besides.
    """
    for view in cycle(views):
        if person.is_content or person.seconds > LONGEST_S:
            return
        person.look(view.area / VIEW_M, VIEW_M)
        person.seconds += end_s
        for lines, needed_s, is_drawn in ((person.false, delete_s, False), (person.missing, draw_s, True)):
            for line in [each for each in lines if each.length > SHORTEST_M and view.intersects(each.centroid)]:
                person.seconds += needed_s(line)
                if not person.errs():
                    lines.remove(line)
                    person.right_m += is_drawn * line.length
                if person.is_content:
                    return


def deletion_s(line: shapely.LineString, found: geopandas.GeoDataFrame) -> float:
    """Return the seconds to delete a false stretch: whole lines at once, others after they are split at both ends."""
    return THINK_S + (1 if is_whole(line, found) else 3) * (POINT_S + CLICK_S) + KEY_S


def painting_s(line: shapely.LineString, found: geopandas.GeoDataFrame) -> float:
    """Return the seconds to reject a false stretch: whole lines by a click, others by a stroke along them."""
    return THINK_S + (1 if is_whole(line, found) else 2) * POINT_S + CLICK_S


def is_whole(line: shapely.LineString, found: geopandas.GeoDataFrame) -> bool:
    """Return whether a false stretch is a line of the network as a whole."""
    return bool(found.length[found.distance(line.centroid).idxmin()] < line.length + TOLERANCE_M)


def by_path_s(line: shapely.LineString, start: Map, chance: np.random.Generator) -> float:
    """Return the seconds to draw a line by clicks as far apart as the likeliest path between them stays on the road.

    Where it does not, the next bend is clicked, as by hand. The person looks at the path before each click.
    """
    bends = shapely.get_coordinates(line.simplify(DRAWN_M))
    aimed = bends + chance.normal(0, AIM_M / 2**0.5, bends.shape)
    clicks, at = 1, 0
    while at < len(bends) - 1:
        paths = likely_paths(aimed[at:], start)
        right = [is_right(path, line, *bends[[at, at + 1 + number]]) for number, path in enumerate(paths)]
        at += 1 + max(np.flatnonzero(right), default=0)
        clicks += 1
    return THINK_S + clicks * (POINT_S + CLICK_S) + CLICK_S + (clicks - 1) * FIXATION_S


def is_right(path: shapely.LineString, line: shapely.LineString, begin: np.ndarray, end: np.ndarray) -> bool:
    """Return whether a path runs along the part of a line between two of its places."""
    along = substring(line, *(line.project(shapely.Point(place)) for place in (begin, end)))
    near = path.intersection(along.buffer(PATH_M)).length
    return near >= RIGHT_PATH * path.length and along.within(path.buffer(PATH_M * 1.5))


def likely_paths(places: np.ndarray, start: Map) -> list[shapely.LineString]:
    """Return the likeliest paths from the first of some places, (n, 2), to each of the others."""
    with rasterio.open(start.raster) as dataset:
        points = geopandas.GeoSeries(shapely.points(places), crs=start.part.truth.crs)
        around = points.buffer(MARGIN_M).to_crs(dataset.crs)
        window = rasterio.windows.from_bounds(*around.total_bounds, dataset.transform).round()
        band = dataset.read(1, window=window, boundless=True, masked=True, fill_value=dataset.nodata)
        known = band.filled(0).astype(np.float32) * dataset.scales[0]
        transform, crs = dataset.window_transform(window), dataset.crs
    columns, rows = ~transform @ tuple(shapely.get_coordinates(points.to_crs(crs).to_numpy()).T)
    cells = np.clip(np.floor(np.column_stack([rows, columns])), 0, np.array(known.shape) - 1).astype(int)
    start_cost = np.full(known.shape, np.inf)
    start_cost[tuple(cells[0])] = 0.0
    tree = continue_paths(np.where(np.ma.getmaskarray(band), np.nan, known), start_cost, (1.0, 1.0))
    lines = []
    for cell in cells[1:]:
        path = as_drawn(tree.cells_to(*cell))
        x, y = transform @ (path[:, 1] + 0.5, path[:, 0] + 0.5)
        # A path within a pixel is a point, drawn twice.
        lines.append(shapely.linestrings(np.column_stack([x, y])[[0, *range(len(x))]]))
    return list(geopandas.GeoSeries(lines, crs=crs).to_crs(start.part.truth.crs))


if __name__ == "__main__":
    main()
