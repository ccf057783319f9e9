"""The state of known roads after planted events: what `roadstatus` finds, beside extraction and `comparenetworks`.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/road_status.py FOLDER`. Needs shared/data beside
the project. About one in ten meters of road is covered, in areas around stretches of 40 to 90 m, with ground copied
from beside it: as it is, as mud (tinted brown), as water (smooth, blue-brown) or as rubble (noise). Lines are displaced
by up to 10 m, in directions that turn over the area. The image after is also less sharp, and has other colors and
noise. Beside these, soft clouds cover some roads, and their shadows fall on others. Both are
given as clouds, but for one way. Rasters in the folder are kept.

- found: events of which half is said to be lost, as the state says, and at 90 % precision by meters
- false m, of nothing: meters said to be lost that are there, with events and without
- per 100 km: stretches over 50 m said to be lost where nothing is planted
- AUC: of the probability of being lost, by meters
- states: fractions of the meters of each kind of place
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import pandas
import rasterio
import shapely
import shapely.affinity
import shapely.ops
from rasterio.features import rasterize
from rasterio.windows import from_bounds
from scipy.ndimage import gaussian_filter
from scipy.stats import rankdata

from benchmarks.connecting_rasters import STARTER, make_scene
from benchmarks.quality import DATA, run_core
from training_core.comparison.alignment import field_in_view
from training_core.comparison.changes import shapes_of
from training_core.comparison.road_state import View, groups_of, look, places_on, stretches_of
from training_core.geodata.grid import grid_of
from training_core.jobs.status import NOT_SEEN
from training_core.networks.displacement import Field
from training_core.networks.lines import LineFields, lines_in
from training_core.networks.road_graph import as_drawn

KINDS, SKY = ("copied", "mud", "water", "rubble"), ("cloud", "shadow")
OFFSETS_M, EVENTS, REACH_M = (0.0, 2.5, 5.0, 10.0), 2, 3.0
WAYS = ("state", "with before", "no clouds given", "comparison")
BANDS = (1, 2, 3)
LOST_FRACTION, SHORTEST_M, LONGEST_M = 0.1, 40.0, 90.0
CLOUD_FRACTION, CLOUD_M, CLOUD_TO_SHADOW_M = 0.05, 28.0, (45.0, 60.0)
APART_M, MARGIN_M, SAMPLE_M, LONG_M = 20.0, 60.0, 2.0, 50.0
# Parts of full brightness; one band takes their mean.
COLORS = {"mud": (0.44, 0.35, 0.25), "water": (0.28, 0.31, 0.32), "rubble": (0.5, 0.48, 0.45)}


@dataclass(frozen=True)
class Ground:
    """An image and the roads in it, in meters."""

    name: str
    raster: Path
    roads: geopandas.GeoDataFrame


def grounds(folder: Path) -> Iterator[Ground]:
    """Yield each ground; images are written to the folder."""
    for part in ("northwest", "south"):
        roads = read_roads(DATA / f"banepa_{part}_roads.geojson")
        yield Ground(part, cropped(DATA / "banepa_rgb.tif", roads, folder / f"{part}.tif"), roads)
    for name, stem in (("suburb", "vegas_pan"), ("car_parks", "vegas_img0")):
        image = DATA / (f"{stem}.tif" if name == "suburb" else f"{stem}_rgb.tif")
        image = Path(shutil.copyfile(image, folder / image.name))
        yield Ground(name, image, read_roads(DATA / f"{stem}_roads.geojson"))
    for seed, layout in ((41, "mixed"), (42, "rural")):
        image, truth = make_scene(folder / f"{layout}.tif", folder / f"{layout}_truth.gpkg", seed, layout)
        yield Ground(layout, image, read_roads(truth))


def planted_events(folder: Path) -> Iterator[tuple[Ground, list[Path], list[geopandas.GeoDataFrame]]]:
    """Yield each ground with its images after, and what is covered in each; in the first one nothing is."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, ground in enumerate(grounds(folder)):
        images = [folder / f"{ground.name}_{event}.tif" for event in ("nothing", *range(EVENTS))]
        areas = [events(ground, 100 * number + event) for event in range(EVENTS)]
        areas.insert(0, areas[0].iloc[:0])
        for seed, (image, covered) in enumerate(zip(images, areas), 1000 + 100 * number):
            if not image.exists():
                plant(ground, covered, image, seed)
        yield ground, images, areas


def read_roads(path: Path) -> geopandas.GeoDataFrame:
    """Return a layer's lines in meters, single and longer than a road is wide."""
    layer = geopandas.read_file(path)
    layer = layer.to_crs(layer.estimate_utm_crs()).explode(ignore_index=True)
    return layer[layer.length > 5].reset_index(drop=True)


def cropped(image: Path, roads: geopandas.GeoDataFrame, path: Path) -> Path:
    """Write the part of an image around roads, and return it."""
    if not path.exists():
        with rasterio.open(image) as dataset:
            around = roads.to_crs(dataset.crs).total_bounds + np.array([-1, -1, 1, 1]) * MARGIN_M
            window = from_bounds(*around, dataset.transform).round_offsets().round_lengths()
            values, profile = dataset.read(window=window), dataset.profile
            profile = {**tiff(values), "crs": dataset.crs, "transform": dataset.window_transform(window)}
        with rasterio.open(path, "w", **profile) as dataset:
            dataset.write(values)
    return path


def tiff(values: np.ndarray) -> dict[str, object]:
    count, height, width = values.shape
    return {"driver": "GTiff", "count": count, "height": height, "width": width, "dtype": values.dtype}


def events(ground: Ground, seed: int) -> geopandas.GeoDataFrame:
    """Return the areas to cover, each around a stretch of a road, with the kind of its event."""
    random, lines = np.random.default_rng(seed), ground.roads.geometry
    wanted_m, areas, kinds = LOST_FRACTION * lines.length.sum(), [], []
    for row in random.permutation(len(lines)):
        line = lines.iloc[row]
        length_m = min(random.uniform(SHORTEST_M, LONGEST_M), line.length)
        begin_m, kind = random.uniform(0, line.length - length_m), KINDS[(len(areas) + seed) % len(KINDS)]
        radius_m = np.full(100, 8.0) if kind == "copied" else 14 + gaussian_filter(random.normal(size=100), 2) * 16
        places = shapely.line_interpolate_point(line, np.linspace(begin_m, begin_m + length_m, 100))
        area = shapely.union_all(shapely.buffer(places, np.clip(radius_m, 8, 25)))
        if length_m < SHORTEST_M or any(area.distance(other) < APART_M for other in areas):
            continue
        areas.append(area)
        kinds.append(kind)
        wanted_m -= float(shapely.length(shapely.intersection(lines.to_numpy(), area)).sum())
        if wanted_m <= 0:
            break
    kinds, areas = with_clouds(kinds, areas, lines, random)
    return geopandas.GeoDataFrame({"kind": kinds}, geometry=areas, crs=ground.roads.crs)


def with_clouds(
    kinds: list[str], areas: list[shapely.Geometry], lines: geopandas.GeoSeries, random: np.random.Generator
) -> tuple[list[str], list[shapely.Geometry]]:
    """Return areas with those of clouds over stretches of roads, and of their shadows, away from all others."""
    wanted_m = CLOUD_FRACTION * lines.length.sum()
    for row in random.permutation(len(lines)):
        line = lines.iloc[row]
        begin_m = random.uniform(0, line.length)
        places = shapely.line_interpolate_point(line, np.linspace(begin_m, begin_m + random.uniform(20, 60), 20))
        cloud = shapely.union_all(shapely.buffer(places, CLOUD_M))
        shadow = shapely.affinity.translate(cloud, *CLOUD_TO_SHADOW_M)
        if wanted_m > 0 and all(each.distance(other) > CLOUD_M for other in areas for each in (cloud, shadow)):
            areas, kinds = [*areas, cloud, shadow], [*kinds, "cloud", "shadow"]
            wanted_m -= float(shapely.length(shapely.intersection(lines.to_numpy(), cloud)).sum())
    return kinds, areas


def plant(ground: Ground, lost: geopandas.GeoDataFrame, path: Path, seed: int) -> None:
    """Write a ground's image with areas covered."""
    random = np.random.default_rng(seed)
    with rasterio.open(ground.raster) as dataset:
        values, dtype = dataset.read(BANDS[: dataset.count]), dataset.dtypes[0]
        transform, crs = dataset.transform, dataset.crs
    corners = geopandas.GeoSeries(shapely.points([transform @ (0, 0), transform @ (100, 100)]), crs=crs)
    pixel_m = np.abs(np.diff(shapely.get_coordinates(corners.to_crs(lost.crs)), axis=0)[0]) / 100

    def burnt(shapes: geopandas.GeoSeries) -> np.ndarray:
        return rasterize(shapes.to_crs(crs), out_shape=values.shape[1:], transform=transform) > 0

    is_road = burnt(ground.roads.buffer(5))
    covered = retaken(values, random)
    values, bright = covered.copy(), np.percentile(covered, 98, axis=(1, 2))
    for kind in ("shadow", "cloud"):  # as the light falls
        alpha = haze(burnt(lost[lost["kind"] == kind].geometry), pixel_m.mean(), random)
        if kind == "shadow":
            covered *= 1 - 0.55 * alpha
        covered += (kind == "cloud") * alpha * (1.1 * bright[:, None, None] - covered)
    is_event = ~lost["kind"].isin(SKY)
    for area, kind in zip(lost.geometry[is_event], lost["kind"][is_event]):
        mask = burnt(geopandas.GeoSeries([area], crs=lost.crs))
        new = textured(copied(values, mask, is_road, pixel_m), kind, bright, pixel_m.mean(), random)
        covered += gaussian_filter(mask.astype(np.float64), 1 / pixel_m.mean()) * (new - covered)
    covered = np.clip(np.rint(covered), 0, np.iinfo(dtype).max).astype(dtype)
    with rasterio.open(path, "w", **tiff(covered), crs=crs, transform=transform) as dataset:
        dataset.write(covered)


def haze(mask: np.ndarray, pixel_m: float, random: np.random.Generator) -> np.ndarray:
    """Return the opacity of soft and uneven clouds over a mask, 0 to 1."""
    noise = gaussian_filter(random.normal(size=mask.shape), 8 / pixel_m)
    return np.clip((1.5 + 0.5 * noise / noise.std()) * gaussian_filter(mask.astype(float), 6 / pixel_m), 0, 0.95)


def retaken(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return an image as on another day: less sharp, two pixels aside, with other colors and noise."""
    other = gaussian_filter(np.roll(values.astype(np.float64), 2, axis=2), (0, 0.6, 0.6))
    bright = np.percentile(other, 98, axis=(1, 2), keepdims=True)
    colors = random.uniform(0.8, 1.1, size=(len(values), 1, 1))
    other = bright * colors * (other / bright) ** random.uniform(0.8, 1.2)
    return other + 0.01 * bright * random.normal(size=values.shape)


def copied(values: np.ndarray, mask: np.ndarray, is_road: np.ndarray, pixel_m: np.ndarray) -> np.ndarray:
    """Return an image in which a mask shows ground beside it, as free of roads as there is near by."""
    rows, columns = np.nonzero(mask)
    best, fewest = (0, 0), np.inf
    for away_m in (14, 20, 28, 38, 50):
        for angle in np.arange(0, 2 * np.pi, np.pi / 8):
            step = np.rint(away_m * np.array([np.sin(angle), np.cos(angle)]) / pixel_m[::-1]).astype(int)
            there = rows + step[0], columns + step[1]
            is_inside = min(there[0].min(), there[1].min()) >= 0
            if is_inside and (there[0].max() < mask.shape[0]) and (there[1].max() < mask.shape[1]):
                bad = (is_road | mask)[there].mean() + away_m / 1000
                best, fewest = (tuple(step), bad) if bad < fewest else (best, fewest)
    return np.roll(values, (-best[0], -best[1]), axis=(1, 2))


def textured(
    ground: np.ndarray, kind: str, bright: np.ndarray, pixel_m: float, random: np.random.Generator
) -> np.ndarray:
    """Return ground as an event of a kind leaves it."""
    if kind == "copied":
        return ground
    tint = np.array(COLORS[kind]) if len(bright) >= 3 else np.full(3, np.mean(COLORS[kind]))
    color = (bright * tint[: len(bright)])[:, None, None]
    noise = gaussian_filter(random.normal(size=ground.shape[1:]), 0.5 / pixel_m)
    noise *= bright.mean() / noise.std()
    if kind == "water":
        return 0.9 * color + 0.1 * gaussian_filter(ground, (0, 2 / pixel_m, 2 / pixel_m)) + 0.01 * noise
    return 0.5 * color + 0.5 * ground + (0.04 if kind == "mud" else 0.16) * noise


def displaced(layer: geopandas.GeoDataFrame, by_m: float) -> geopandas.GeoDataFrame:
    """Return lines moved by meters in directions that turn over some hundreds of meters."""

    def moved(points: np.ndarray) -> np.ndarray:
        angle = 1.0 + points[:, 0] / 180 + np.sin(points[:, 1] / 230)
        return points + by_m * np.column_stack([np.cos(angle), np.sin(angle)])

    return layer.set_geometry(shapely.transform(shapely.segmentize(layer.geometry.to_numpy(), 10.0), moved))


@dataclass(frozen=True)
class Run:
    """Samples along lines: the probability of being lost, whether that is said, and the number of the event, or -1.

    And the state, a word, and the kind of place: that of the event, cloud, shadow or nothing.
    """

    probability: np.ndarray
    is_said: np.ndarray
    event: np.ndarray
    state: np.ndarray
    kind: np.ndarray
    long_false: int

    def found(self, said: np.ndarray) -> int:
        """Count the events of which half is said to be lost."""
        return sum(said[self.event == each].mean() >= 0.5 for each in np.unique(self.event[self.event >= 0]))

    def found_at(self, precision: float) -> int:
        """Count the events found at the lowest threshold with a precision."""
        order = np.argsort(-self.probability, kind="stable")
        precise = np.cumsum(self.event[order] >= 0) / np.arange(1, len(order) + 1)
        good = np.flatnonzero(precise >= precision)
        return self.found(self.probability >= self.probability[order[good[-1]]]) if len(good) else 0

    @property
    def auc(self) -> float:
        """Area under the ROC curve."""
        is_lost = self.event >= 0
        count = int(is_lost.sum())
        ranks = rankdata(self.probability)[is_lost].sum() - count * (count + 1) / 2
        return ranks / max(1, count * (len(is_lost) - count))


def sampled(lines: geopandas.GeoDataFrame, areas: geopandas.GeoDataFrame) -> Run:
    """Return samples of lines with the columns lost (a probability) and said, on the areas of events or none."""
    places = [np.arange(SAMPLE_M / 2, max(line.length, SAMPLE_M), SAMPLE_M) for line in lines.geometry]
    row = np.repeat(np.arange(len(lines)), [len(each) for each in places])
    points = shapely.line_interpolate_point(lines.geometry.to_numpy()[row], np.concatenate(places))
    event, kind = np.full(len(points), -1), np.full(len(points), "nothing", dtype=object)
    for number, area in enumerate(areas.geometry):
        is_in = shapely.contains(area, points)
        kind[is_in] = areas["kind"].iloc[number]
        event[is_in] = -1 if areas["kind"].iloc[number] in SKY else number
    said = lines["said"].to_numpy(dtype=bool)[row]
    false_m = np.bincount(row, SAMPLE_M * (said & (event < 0)), minlength=len(lines))
    state = lines["state"].to_numpy(object)[row]
    return Run(lines["lost"].to_numpy(dtype=float)[row], said, event, state, kind, int((false_m > LONG_M).sum()))


def joined(runs: list[Run]) -> Run:
    """Return several runs as one."""
    event = np.concatenate([np.where(run.event < 0, -1, run.event + 100 * n) for n, run in enumerate(runs)])
    names = ("probability", "is_said", "state", "kind")
    parts = {name: np.concatenate([getattr(run, name) for run in runs]) for name in names}
    return Run(**parts, event=event, long_false=sum(run.long_false for run in runs))


def probability_of(image: Path) -> Path:
    """Return the probability raster of an image, written beside it with its threshold."""
    path = image.with_name(f"{image.stem}_probability.tif")
    told = path.with_suffix(".json")
    if not told.exists():
        asked = {"raster": str(image), "probability": str(path), "model": STARTER, "grid": "model", "threads": "1"}
        told.write_text(json.dumps(run_core("segment", asked)["threshold"]))
    return path


def view_of(image: Path) -> View:
    """Return what the starter sees in an image."""
    path = probability_of(image)
    with rasterio.open(path) as dataset:
        return View(dataset.read(1), grid_of(dataset), json.loads(path.with_suffix(".json").read_text()))


def field_of(view: View, lines: geopandas.GeoDataFrame) -> Field:
    """Return the field from lines to the roads that a view shows."""
    field = field_in_view(view, as_drawn(lines_in(lines.crs, lines, LineFields())), lines.crs)
    assert field is not None
    return field


def by_state(
    lines: geopandas.GeoDataFrame, after: View, before: Optional[View], is_aligned: bool = True,
    clouds: Optional[shapely.Geometry] = None,
) -> geopandas.GeoDataFrame:  # fmt: skip
    """Return the stretches of `roadstatus` with clouds that are given, or what they would be without alignment."""
    roads = as_drawn(lines_in(lines.crs, lines, LineFields()))
    places = places_on(roads)
    look_after, look_before = (
        view and look(view, roads, places, lines.crs, REACH_M, field_of(view, lines) if is_aligned else None)
        for view in (after, before)
    )
    is_hidden = shapely.contains_xy(clouds or shapely.Polygon(), roads.points_at(places))
    look_after = replace(look_after, along=np.where(is_hidden, np.nan, look_after.along))
    classes = lines["road_class"] if "road_class" in lines else pandas.Series("", lines.index)
    width_m = lines["width_m"] if "width_m" in lines else pandas.Series(np.nan, lines.index)
    groups = groups_of(classes.to_numpy(object), width_m.to_numpy(float))
    found = stretches_of(roads, places, [look_after], look_before, groups, None, shapely.Polygon(), 30.0)
    lost, said = np.nan_to_num(found.lost_probability), found.state == NOT_SEEN
    columns = {"lost": lost, "said": said, "state": found.state}
    return geopandas.GeoDataFrame(columns, geometry=shapes_of(roads, found.intervals), crs=lines.crs)


def by_comparison(lines: geopandas.GeoDataFrame, image: Path, name: str) -> geopandas.GeoDataFrame:
    """Return the stretches of `comparenetworks` with the lines before and what is extracted after."""
    roads, known, out = (image.with_name(f"{image.stem}_{each}.gpkg") for each in ("roads", name, f"{name}_changes"))
    if not out.exists():
        path = probability_of(image)
        threshold = path.with_suffix(".json").read_text()
        run_core("vectorize", {"raster": str(path), "threshold": threshold, "roads": str(roads)})
        lines[[lines.geometry.name]].to_file(known)
        run_core("comparenetworks", {"before": str(known), "after": str(roads), "changes": str(out)})
    changes = geopandas.read_file(out).to_crs(lines.crs)
    changes = changes[changes["change"] != "new"].reset_index(drop=True)
    lost = changes["change"] == "lost"
    return changes.assign(lost=lost.astype(float), said=lost, state=changes["change"])


def runs_of(
    ground: Ground, images: list[Path], areas: list[geopandas.GeoDataFrame], by_m: float
) -> dict[str, list[Run]]:
    """Return the runs on each image of a ground by each way, with lines displaced by meters."""
    lines, before, runs = displaced(ground.roads, by_m), view_of(ground.raster), {way: [] for way in WAYS}
    for image, covered in zip(images, areas):
        covered = displaced(covered, by_m)
        after, clouds = view_of(image), covered.geometry[covered["kind"].isin(SKY)].union_all()
        for way, table in (
            ("state", by_state(lines, after, None, clouds=clouds)),
            ("with before", by_state(lines, after, before, clouds=clouds)),
            ("no clouds given", by_state(lines, after, None)),
            ("comparison", by_comparison(lines, image, f"{by_m:g}")),
        ):
            runs[way].append(sampled(table, covered))
    return runs


def main() -> None:
    """Plant, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    pooled: dict[tuple[str, str], list[Run]] = {}
    print("ground      moved  way              meters  events  found  at 90 %  false m  of nothing  per 100 km    AUC")
    for ground, images, areas in planted_events(folder):
        for by_m in OFFSETS_M:
            for way, (nothing, *planted) in runs_of(ground, images, areas, by_m).items():
                show(f"{ground.name:11} {by_m:5.1f}", way, joined(planted), nothing)
                pooled.setdefault((way, "nothing"), []).append(nothing)
                pooled.setdefault((way, "planted"), []).extend(planted)
    for way in WAYS:
        planted = joined(pooled[way, "planted"])
        show("all", way, planted, joined(pooled[way, "nothing"]))
        show_calibration(planted)
        show_states(joined([*pooled[way, "planted"], *pooled[way, "nothing"]]))


def show(name: str, way: str, planted: Run, nothing: Run) -> None:
    """Print a row."""
    count = len(np.unique(planted.event[planted.event >= 0]))
    false_m, nothing_m = (SAMPLE_M * (run.is_said & (run.event < 0)).sum() for run in (planted, nothing))
    per_100_km = nothing.long_false / (len(nothing.event) * SAMPLE_M) * 1e5
    print(
        f"{name:17}  {way:15} {len(planted.event) * SAMPLE_M:7.0f} {count:7d} {planted.found(planted.is_said):6d} "
        f"{planted.found_at(0.9):8d} {false_m:8.0f} {nothing_m:11.0f} {per_100_km:11.1f}  {planted.auc:.3f}",
        flush=True,
    )


def show_states(run: Run) -> None:
    """Print the meters of each kind of place, and the fraction of them in each state."""
    words = np.unique(run.state.astype(str))
    for kind in (*KINDS, *SKY, "nothing"):
        here = run.state[run.kind == kind]
        shares = ", ".join(f"{word} {(here == word).mean():.3f}" for word in words if (here == word).any())
        print(f"    {kind:8} {len(here) * SAMPLE_M:8.0f} m: {shares}")


def show_calibration(run: Run) -> None:
    """Print the calibration: the mean probability of being lost, and the fraction that is lost, by bins."""
    edges = (0.0, 0.05, 0.2, 0.5, 0.7, 0.9, 1.01)
    for low, high in zip(edges, edges[1:]):
        here = (run.probability >= low) & (run.probability < high)
        if here.any():
            said, lost = run.probability[here].mean(), (run.event[here] >= 0).mean()
            print(f"    said {said:.2f}, lost {lost:.2f} of {here.sum() * SAMPLE_M:,.0f} m")


if __name__ == "__main__":
    main()
