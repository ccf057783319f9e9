"""The events of `road_status.py`: images of known roads, parts of which are covered at places drawn by a seed.

Scope: images, lines and areas, as files in a folder; rasters that are there are kept. Independent of what is measured.

About one in ten meters of road is covered. Around stretches of 40 to 90 m, this is with ground copied from beside it:
as it is, as mud (tinted brown), as water (smooth, blue-brown) or as rubble (noise). A landslide runs down across a
road, 60 to 120 m long and up to 55 m wide, with soft edges: bare soil of the image, repeated in mirrored tiles. Every
second known bridge is cut: its deck and 10 m of road at both ends are covered with what lies beside it, water and
banks. Soft clouds cover some other roads, and their shadows fall on others. The image after is also less sharp, and
has other colors and noise.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import rasterio
import shapely
import shapely.affinity
from rasterio.features import rasterize
from rasterio.windows import from_bounds
from scipy.ndimage import gaussian_filter, uniform_filter

from benchmarks.connecting_rasters import make_scene
from benchmarks.quality import DATA, run_core
from benchmarks.zero_shot import GROUND, georeferenced
from scripts.starter.real_ground import ROAD, read_ground

COPIED, MUD, WATER, RUBBLE, LANDSLIDE, BRIDGE = "copied", "mud", "water", "rubble", "landslide", "bridge"
DRAWN, SKY = (COPIED, MUD, WATER, RUBBLE, LANDSLIDE), ("cloud", "shadow")
KINDS = (*DRAWN, BRIDGE)
EVENTS = 2
BANDS = (1, 2, 3)
LOST_FRACTION, SHORTEST_M, LONGEST_M = 0.1, 40.0, 90.0
CLOUD_FRACTION, CLOUD_M, CLOUD_TO_SHADOW_M = 0.05, 28.0, (45.0, 60.0)
SLIDE_M, SLIDE_WIDTH_M = (60.0, 120.0), (35.0, 55.0)
# Bridges shorter than this are left: with their ends, they are hardly longer than the shortest stretch.
DECK_M, BRIDGE_END_M = 10.0, 10.0
APART_M, MARGIN_M, SOIL_M = 20.0, 60.0, 16.0
# Widths of the soft edge of an event: standard deviations.
EDGE_M = {LANDSLIDE: 4.0}
# Parts of full brightness; one band takes their mean.
COLORS = {MUD: (0.44, 0.35, 0.25), WATER: (0.28, 0.31, 0.32), RUBBLE: (0.5, 0.48, 0.45)}
# Scenes by name, with seed and layout; `river` has six roads over water.
SCENES = {"rural": (42, "rural"), "river": (46, "mixed")}
# Squares that the starter's training holds out, of which a part is taken, from a column and row on, with the column and
# row of a road over water.
SQUARES = {"18778720_15": ((500, 0), (860, 655)), "19678630_15": ((0, 250), (250, 818))}
SQUARE_PX = 900
GROUNDS = ("northwest", "south", "suburb", "car_parks", *SCENES, *SQUARES)


@dataclass(frozen=True)
class Ground:
    """An image and the roads in it, in meters."""

    name: str
    raster: Path
    roads: geopandas.GeoDataFrame


def ground_of(name: str, folder: Path) -> Ground:
    """Return a ground; its image is written to the folder."""
    image = folder / f"{name}.tif"
    if name in SCENES:
        image, truth = make_scene(image, folder / f"{name}_truth.gpkg", *SCENES[name])
        return Ground(name, image, read_roads(truth))
    if name in SQUARES:
        return square(name, image)
    if name in ("northwest", "south"):
        roads = read_roads(DATA / f"banepa_{name}_roads.geojson")
        return Ground(name, cropped(DATA / "banepa_rgb.tif", roads, image), roads)
    stem, suffix = ("vegas_pan", "") if name == "suburb" else ("vegas_img0", "_rgb")
    shutil.copyfile(DATA / f"{stem}{suffix}.tif", image)
    return Ground(name, image, read_roads(DATA / f"{stem}_roads.geojson"))


def square(name: str, image: Path) -> Ground:
    """Return a part of a square of Massachusetts: the roads are the middles of the lines drawn in its mask."""
    truth, mask = (image.with_name(f"{name}_{each}") for each in ("truth.gpkg", "mask.tif"))
    (column, row), place = SQUARES[name]
    if not truth.exists():
        (ground,) = (each for each in read_ground(GROUND, is_held_out=True) if each.name == name)
        part = np.s_[..., row : row + SQUARE_PX, column : column + SQUARE_PX]
        known, is_road = ground.known[part], ground.truth[part][None] == ROAD
        georeferenced(image, ground.image[part], known, ground.pixel_m)
        georeferenced(mask, is_road.astype("uint8"), known, ground.pixel_m)
        run_core("vectorize", {"raster": str(mask), "roads": str(truth)})
    with rasterio.open(image) as dataset:
        over = shapely.Point(dataset.transform @ np.subtract(place, (column, row)))
    roads = read_roads(truth)
    return Ground(name, image, roads.assign(bridge=roads.distance(over) < DECK_M, place=over))


def planted_events(
    folder: Path, names: Collection[str] = GROUNDS
) -> Iterator[tuple[Ground, list[Path], list[geopandas.GeoDataFrame]]]:
    """Yield each ground with its images after, and what is covered in each; in the first one nothing is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        ground, number = ground_of(name, folder), GROUNDS.index(name)
        images = [folder / f"{name}_{event}.tif" for event in ("nothing", *range(EVENTS))]
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
            values = dataset.read(window=window)
            profile = {**tiff(values), "crs": dataset.crs, "transform": dataset.window_transform(window)}
        with rasterio.open(path, "w", **profile) as dataset:
            dataset.write(values)
    return path


def tiff(values: np.ndarray) -> dict[str, object]:
    count, height, width = values.shape
    return {"driver": "GTiff", "count": count, "height": height, "width": width, "dtype": values.dtype}


def events(ground: Ground, seed: int) -> geopandas.GeoDataFrame:
    """Return the areas to cover, with the kind of each event and, for a bridge, the angle of its road."""
    random, lines = np.random.default_rng(seed), ground.roads.geometry
    kinds, areas, angles = cut_bridges(ground, seed)
    bridges, wanted_m = len(areas), LOST_FRACTION * lines.length.sum()
    for row in random.permutation(len(lines)):
        line = lines.iloc[row]
        length_m = min(random.uniform(SHORTEST_M, LONGEST_M), line.length)
        begin_m, kind = random.uniform(0, line.length - length_m), DRAWN[(len(areas) - bridges + seed) % len(DRAWN)]
        if kind == LANDSLIDE:
            area = slide(line, begin_m + length_m / 2, random)
        else:
            radius_m = np.full(100, 8.0) if kind == COPIED else 14 + gaussian_filter(random.normal(size=100), 2) * 16
            places = shapely.line_interpolate_point(line, np.linspace(begin_m, begin_m + length_m, 100))
            area = shapely.union_all(shapely.buffer(places, np.clip(radius_m, 8, 25)))
        if length_m < SHORTEST_M or any(area.distance(other) < APART_M for other in areas):
            continue
        areas, kinds = [*areas, area], [*kinds, kind]
        wanted_m -= float(shapely.length(shapely.intersection(lines.to_numpy(), area)).sum())
        if wanted_m <= 0:
            break
    kinds, areas = with_clouds(kinds, areas, lines, random)
    angles += [np.nan] * (len(areas) - bridges)
    return geopandas.GeoDataFrame({"kind": kinds, "angle": angles}, geometry=areas, crs=ground.roads.crs)


def cut_bridges(ground: Ground, seed: int) -> tuple[list[str], list[shapely.Geometry], list[float]]:
    """Return kinds, areas and angles of every second known bridge, of the even or the odd ones by the seed."""
    roads, decks = ground.roads, []
    if "place" in roads:  # in the middle of a line, of which only a part is a bridge
        for line, place in zip(roads.geometry[roads["bridge"]], roads["place"][roads["bridge"]]):
            middle_m = line.project(place)
            decks.append(shapely.ops.substring(line, middle_m - 15, middle_m + 15))
    elif "bridge" in roads:
        decks = [line for line in roads.geometry[roads["bridge"].astype(bool)] if line.length > DECK_M]
    chosen = decks[seed % 2 :: 2] if len(decks) > 1 else decks
    ends = [np.array(deck.coords)[[0, -1]] for deck in chosen]
    angles = [float(np.arctan2(*(end - begin)[::-1])) for begin, end in ends]
    areas = []
    for (begin, end), deck in zip(ends, chosen):
        further = (end - begin) / np.hypot(*(end - begin)) * BRIDGE_END_M
        whole = shapely.LineString([begin - further, *deck.coords, end + further])
        areas.append(whole.buffer(12.0, cap_style="flat"))
    return [BRIDGE] * len(areas), areas, angles


def slide(line: shapely.LineString, at_m: float, random: np.random.Generator) -> shapely.Geometry:
    """Return the area of a landslide across a line, wider at its foot."""
    begin, middle, end = (np.array(line.interpolate(at_m + by).coords[0]) for by in (-5, 0, 5))
    angle = np.arctan2(*(end - begin)[::-1]) + np.pi / 2 + random.normal(0, 0.35)
    down = np.linspace(-0.5, 0.5, 60) * random.uniform(*SLIDE_M)
    places = middle + down[:, None] * [np.cos(angle), np.sin(angle)]
    noise = 1 + gaussian_filter(random.normal(size=60), 3) * 0.6
    radius_m = random.uniform(*SLIDE_WIDTH_M) / 2 * np.linspace(0.6, 1.0, 60) * np.clip(noise, 0.7, 1.3)
    return shapely.union_all(shapely.buffer(shapely.points(places), radius_m))


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
            areas, kinds = [*areas, cloud, shadow], [*kinds, *SKY]
            wanted_m -= float(shapely.length(shapely.intersection(lines.to_numpy(), cloud)).sum())
    return kinds, areas


def plant(ground: Ground, lost: geopandas.GeoDataFrame, path: Path, seed: int) -> None:
    """Write a ground's image with areas covered."""
    random = np.random.default_rng(seed)
    with rasterio.open(ground.raster) as dataset:
        values, dtype = dataset.read(BANDS[: dataset.count]), dataset.dtypes[0]
        transform, crs, known = dataset.transform, dataset.crs, dataset.dataset_mask() > 0
    corners = geopandas.GeoSeries(shapely.points([transform @ (0, 0), transform @ (100, 100)]), crs=crs)
    pixel_m = np.abs(np.diff(shapely.get_coordinates(corners.to_crs(lost.crs)), axis=0)[0]) / 100

    def burnt(shapes: geopandas.GeoSeries) -> np.ndarray:
        return rasterize(shapes.to_crs(crs), out_shape=values.shape[1:], transform=transform) > 0

    is_road = burnt(ground.roads.buffer(5))
    covered = retaken(values, known, random)
    values, bright = covered.copy(), np.percentile(covered[:, known], 98, axis=1)
    bare = mirrored_soil(values, is_road | ~known, pixel_m.mean())
    for kind in ("shadow", "cloud"):  # as the light falls
        alpha = haze(burnt(lost[lost["kind"] == kind].geometry), pixel_m.mean(), random)
        if kind == "shadow":
            covered *= 1 - 0.55 * alpha
        covered += (kind == "cloud") * alpha * (1.1 * bright[:, None, None] - covered)
    for event in lost[~lost["kind"].isin(SKY)].itertuples():
        mask = burnt(geopandas.GeoSeries([event.geometry], crs=lost.crs))
        beside = bare if event.kind == LANDSLIDE else copied(values, mask, is_road | ~known, pixel_m, event.angle)
        new = textured(beside, event.kind, bright, pixel_m.mean(), random)
        edge_px = EDGE_M.get(event.kind, 1.0) / pixel_m.mean()
        covered += gaussian_filter(mask.astype(np.float64), edge_px) * (new - covered)
    covered = np.clip(np.rint(covered), 0, np.iinfo(dtype).max).astype(dtype)
    with rasterio.open(path, "w", **tiff(covered), crs=crs, transform=transform) as dataset:
        dataset.write(covered)
        if not known.all():
            dataset.write_mask(known)


def haze(mask: np.ndarray, pixel_m: float, random: np.random.Generator) -> np.ndarray:
    """Return the opacity of soft and uneven clouds over a mask, 0 to 1."""
    noise = gaussian_filter(random.normal(size=mask.shape), 8 / pixel_m)
    return np.clip((1.5 + 0.5 * noise / noise.std()) * gaussian_filter(mask.astype(float), 6 / pixel_m), 0, 0.95)


def retaken(values: np.ndarray, known: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return an image as on another day: less sharp, two pixels aside, with other colors and noise."""
    other = gaussian_filter(np.roll(values.astype(np.float64), 2, axis=2), (0, 0.6, 0.6))
    bright = np.percentile(other[:, known], 98, axis=1)[:, None, None]
    colors = random.uniform(0.8, 1.1, size=(len(values), 1, 1))
    other = bright * colors * (other / bright) ** random.uniform(0.8, 1.2)
    return other + 0.01 * bright * random.normal(size=values.shape)


def copied(values: np.ndarray, mask: np.ndarray, is_bad: np.ndarray, pixel_m: np.ndarray, angle: float) -> np.ndarray:
    """Return an image in which a mask shows ground beside it, as free of roads as there is near by.

    With the angle of a road, that is ground straight across it.
    """
    rows, columns = np.nonzero(mask)
    best, fewest = (0, 0), np.inf
    across = np.arange(0, 2 * np.pi, np.pi / 8) if np.isnan(angle) else np.array([1, -1]) * np.pi / 2 - angle
    for away_m in (14, 20, 28, 38, 50):
        for direction in across:
            step = np.rint(away_m * np.array([np.sin(direction), np.cos(direction)]) / pixel_m[::-1]).astype(int)
            there = rows + step[0], columns + step[1]
            is_inside = min(there[0].min(), there[1].min()) >= 0
            if is_inside and (there[0].max() < mask.shape[0]) and (there[1].max() < mask.shape[1]):
                bad = (is_bad | mask)[there].mean() + away_m / 1000
                best, fewest = (tuple(step), bad) if bad < fewest else (best, fewest)
    return np.roll(values, (-best[0], -best[1]), axis=(1, 2))


def mirrored_soil(values: np.ndarray, is_bad: np.ndarray, pixel_m: float) -> np.ndarray:
    """Return bare soil as large as an image: its reddest (or brightest) and most even square in mirrored tiles."""
    side = round(SOIL_M / pixel_m)
    gray = values.mean(axis=0)
    uneven = np.sqrt(np.maximum(uniform_filter(gray**2, side) - uniform_filter(gray, side) ** 2, 0))
    score = uniform_filter(values[0] - values[2] if len(values) >= 3 else gray, side) - uneven
    score[uniform_filter(is_bad.astype(np.float64), side) > 1e-6] = -np.inf
    half, (height, width) = side // 2, gray.shape
    row, column = np.unravel_index(
        score[half : half + height - side, half : half + width - side].argmax(), (height - side, width - side)
    )
    soil = values[:, row : row + side, column : column + side]
    return np.pad(soil, ((0, 0), (0, height - side), (0, width - side)), mode="symmetric")


def textured(
    ground: np.ndarray, kind: str, bright: np.ndarray, pixel_m: float, random: np.random.Generator
) -> np.ndarray:
    """Return ground as an event of a kind leaves it."""
    if kind not in COLORS:
        return ground
    tint = np.array(COLORS[kind]) if len(bright) >= 3 else np.full(3, np.mean(COLORS[kind]))
    color = (bright * tint[: len(bright)])[:, None, None]
    noise = gaussian_filter(random.normal(size=ground.shape[1:]), 0.5 / pixel_m)
    noise *= bright.mean() / noise.std()
    if kind == WATER:
        return 0.9 * color + 0.1 * gaussian_filter(ground, (0, 2 / pixel_m, 2 / pixel_m)) + 0.01 * noise
    return 0.5 * color + 0.5 * ground + (0.04 if kind == MUD else 0.16) * noise
