"""The pictures of the design's chapter on extraction: one for each step from probability to road network.

Run with the runtime's Python: `$(make -s runtime-python) -m scripts.extraction_pictures FOLDER`. A
generated scene gives the true roads. The probability is made from them, with the errors that a model makes: blur,
noise, false positives, and gaps under trees. The steps are those of `training_core.extraction.road_extraction`, carried
out on the whole scene; the pictures show a part of it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image, ImageColor
from rasterio.features import rasterize
from scipy.ndimage import gaussian_filter

from training_core.events import Reporter
from training_core.extraction.centering import between_pixels, center
from training_core.extraction.clearance import Clearance, cut_ends
from training_core.extraction.compact_masks import BitMask
from training_core.extraction.least_cost_paths import least_cost_paths
from training_core.extraction.road_mask import find_road
from training_core.extraction.skeletons import smooth, thin_bits, thin_out, trace_pixels
from training_core.geodata.road_raster import RoadRaster, array_raster
from training_core.jobs import Vectorize
from training_core.networks.cleaning import drop_short_components, prune_spurs, simplify
from training_core.networks.gaps import join_gaps, snap_ends
from training_core.networks.graph import Graph, join_chains, scaled
from training_core.networks.junctions import merge_crossings, straighten_ends, straighten_junctions
from training_core.networks.link_prediction import join_likely
from training_core.networks.surroundings import Surroundings
from training_core.scenes.scene import Scene, make_scene

SIZE_PX, RESOLUTION_M, SEED, LAYOUT = 512, 0.5, 3, "organic"
PIXEL_M = np.array([RESOLUTION_M, RESOLUTION_M])
PICTURE_PX = 600
# The parts that are shown: first column, first row and side in pixels of the scene.
PART, CLOSE_UP = (60, 60, 200), (120, 140, 80)
COLORS = 64  # of a picture's palette
THRESHOLD = 0.5
LEAF_INDEX = 0.3  # NDVI from which a pixel of a road is a tree above it
SEEN_UNDER_TREES = 0.35  # share of the probability that is left there
# From Okabe and Ito, so that they can be told apart with any color vision.
NEW, OLD, LINE, NODE, ADDED = "#E69F00", "#D55E00", "#0072B2", "#000000", "#56B4E9"
BLACK, GRAY, LIGHT, WHITE = "#000000", "#707070", "#D8D8D8", "#FFFFFF"


def main() -> None:
    """Write the pictures, numbered in the order of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    scene = make_scene(SIZE_PX, SEED, RESOLUTION_M, layout=LAYOUT, bands="rgbn")
    image, probability = np.moveaxis(scene.image[:3], 0, 2), imperfect_probability(scene)
    save(folder / "1_image.png", image)
    raster = array_raster(probability, np.ones_like(probability, dtype=bool), threshold=THRESHOLD)
    draw_network(folder, image, raster, Vectorize(raster="scene.tif", roads="roads.gpkg"))


def imperfect_probability(scene: Scene) -> np.ndarray:
    """Return a probability of road as a model might give it: (height, width), float32."""
    rng = np.random.default_rng(SEED)
    areas = scene.roads.buffer(scene.roads.width_m / 2)
    truth = rasterize(areas, out_shape=scene.image.shape[1:], transform=scene.transform).astype(float)
    red, infrared = scene.image[0].astype(float), scene.image[3].astype(float)
    is_leaf = gaussian_filter((infrared - red) / (infrared + red), 1) > LEAF_INDEX
    visible = gaussian_filter(truth * np.where(is_leaf, SEEN_UNDER_TREES, 1), 1.5)
    coarse, fine = (gaussian_filter(rng.normal(size=truth.shape), sigma) * sigma for sigma in (5, 1.5))
    return np.clip(0.95 * visible + 0.5 * coarse + 0.4 * fine, 0, 1).astype(np.float32)


def draw_mask(folder: Path, raster: RoadRaster, options: Vectorize) -> tuple[BitMask, BitMask]:
    """Write the pictures from probability to clean mask; return that mask, and where there are data."""
    save(folder / "2_probability.png", gray(raster.read(0, SIZE_PX)[0]))
    unclean = replace(options, close_m=0, min_area_m2=0, min_hole_m2=0)
    sure, linked, clean = (
        find_road(raster, PIXEL_M, wanted, Reporter())[0].unpacked()
        for wanted in (replace(unclean, hysteresis=1), unclean, options)
    )
    likely = raster.read(0, SIZE_PX)[0] >= THRESHOLD * options.hysteresis
    save(folder / "3_hysteresis.png", colored((likely, GRAY), (linked, ADDED), (sure, WHITE)))
    save(folder / "4_mask.png", colored((linked, OLD), (clean, ADDED), (linked & clean, WHITE)))
    return find_road(raster, PIXEL_M, options, Reporter())


def draw_network(folder: Path, image: np.ndarray, raster: RoadRaster, options: Vectorize) -> None:
    """Write the pictures from clean mask to road network.

    Parameters
    ----------
    image : ndarray (height, width, 3), uint8
    """
    road, known = draw_mask(folder, raster, options)
    clearance = Clearance(road, known, PIXEL_M)
    ends = BitMask.empty(SIZE_PX, SIZE_PX).with_pixels(cut_ends(road, known, clearance))
    skeleton = thin_bits(road, ends)
    below = colored((road.unpacked(), LIGHT), ground=WHITE)
    save(folder / "5_skeleton.png", colored((road.unpacked(), LIGHT), (skeleton.unpacked(), LINE), ground=WHITE))
    traced = scaled(trace_pixels(skeleton.pixels()), PIXEL_M)
    save(folder / "6_graph.png", below, (traced, LINE), nodes=traced)

    def probability_at(points: np.ndarray) -> np.ndarray:
        return raster.probability_at(points / PIXEL_M)

    surroundings = Surroundings(
        clearance_m=clearance,
        width_m=clearance.width_m,
        is_data_edge=lambda points: ends.at(points / PIXEL_M),
        paths=lambda starts, ends: least_cost_paths(starts, ends, probability_at, raster.threshold),
        half_pixel_m=RESOLUTION_M / 2,
    )
    pruned = prune_spurs(traced, options.spur_m, surroundings)
    save(folder / "7_spurs.png", below, (traced, OLD), (pruned, LINE), nodes=pruned)
    thinned = thin_out(smooth(pruned), np.rint(pruned.points / PIXEL_M).astype(np.int64))
    centered = center(thinned, between_pixels(raster, road, PIXEL_M), surroundings)
    centered = straighten_ends(centered, surroundings)
    pale = gray(1 - raster.read(0, SIZE_PX)[0] / 2)
    save(folder / "8_centered.png", pale, (pruned, OLD), (centered, LINE), part=CLOSE_UP)
    joined = join_gaps(centered, options.gap_m, options.gap_angle, surroundings)
    joined = join_chains(snap_ends(joined, options.snap_m, surroundings))
    joined = join_chains(join_likely(joined, options.likely_gap_m, options.link_probability, surroundings)[0])
    joined = prune_spurs(joined, options.spur_m, surroundings)
    save(folder / "9_gaps.png", below, (joined, NEW), (centered, LINE), nodes=joined)
    merged = merge_crossings(straighten_junctions(joined, surroundings), surroundings)
    save(folder / "10_junctions.png", below, (joined, OLD), (merged, LINE), nodes=merged)
    network = simplify(drop_short_components(merged, options.min_length_m), options.simplify_m)
    save(folder / "11_network.png", image, (network, NEW), nodes=network)


def gray(values: np.ndarray) -> np.ndarray:
    """Return values from 0 to 1, (height, width), as gray pixels: (height, width, 3), uint8."""
    return np.repeat(np.uint8(255 * values)[:, :, None], 3, axis=2)


def colored(*masks: tuple[np.ndarray, str], ground: str = BLACK) -> np.ndarray:
    """Return masks, (height, width), bool, each painted in its color over those before: (height, width, 3), uint8."""
    pixels = np.full((SIZE_PX, SIZE_PX, 3), ImageColor.getrgb(ground), dtype=np.uint8)
    for mask, color in masks:
        pixels[mask] = ImageColor.getrgb(color)
    return pixels


def save(
    path: Path,
    pixels: np.ndarray,
    *lines: tuple[Graph, str],
    nodes: Graph | None = None,
    part: tuple[int, int, int] = PART,
) -> None:
    """Write the part of a picture that is shown.

    Parameters
    ----------
    pixels : ndarray (height, width, 3), uint8
        Of the whole scene.
    *lines : tuple of Graph and str
        Graphs whose edges are drawn, each in its color over those before.
    nodes : Graph, optional
        Whose nodes are drawn as dots.
    part : tuple of int
        First column, first row and side of what is shown, in pixels of the scene.
    """
    left, top, side_px = part
    figure = Figure(figsize=(PICTURE_PX / 100, PICTURE_PX / 100), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(pixels, interpolation="nearest")
    for graph, color in lines:
        graph = scaled(graph, 1 / PIXEL_M)
        axes.add_collection(LineCollection(np.split(graph.points, graph.offsets[1:-1]), linewidths=3.5, colors=color))
    if nodes is not None:
        axes.scatter(*(nodes.nodes / PIXEL_M).T, s=70, color=NODE, zorder=3)
    axes.set(xlim=(left - 0.5, left + side_px - 0.5), ylim=(top + side_px - 0.5, top - 0.5))
    axes.set_axis_off()
    figure.savefig(path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    main()
