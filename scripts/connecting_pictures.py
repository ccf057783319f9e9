"""The guide's pictures of how extracted roads connect: carriageways, a ring road, joined gaps, likely breaks.

Run with the runtime's Python: `$(make -s runtime-python) -m scripts.connecting_pictures FOLDER`. The
scenes are generated, and the probability has the errors that a model makes; see extraction_pictures.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import geopandas
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from scripts.extraction_pictures import (
    COLORS,
    LINE,
    NEW,
    OLD,
    PICTURE_PX,
    RESOLUTION_M,
    SEED,
    THRESHOLD,
    imperfect_probability,
)
from training_core.events import Reporter
from training_core.extraction.road_extraction import extract_network
from training_core.geodata.grid import Grid
from training_core.geodata.road_raster import array_raster
from training_core.jobs import Vectorize
from training_core.networks.network_tables import Network
from training_core.scenes.scene import SCENE_CRS, make_scene

SIZE_PX, PART_PX, FIRST = 1024, 330, 10
JOINED = "#009E73"


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    image, network = found("highway", SEED)
    save(folder / "carriageways.png", image, (0, 0, SIZE_PX), network, draw_carriageways)
    image, network = found("radial", SEED)
    save(folder / "ring.png", image, (340, 355, PART_PX), network, draw_roads)
    image, network = found("organic", SEED)
    joined = network.links[network.links["outcome"] == "joined"]
    middle = joined.geometry.iloc[int(joined.length.argmax())].centroid
    left, top = (int(np.clip(at - PART_PX / 2, 0, SIZE_PX - PART_PX)) for at in (middle.x, middle.y))
    save(folder / "gaps.png", image, (left, top, PART_PX), network, draw_links)
    save(folder / "breaks.png", image, (0, 0, SIZE_PX), network, draw_breaks)


def found(layout: str, seed: int) -> tuple[np.ndarray, Network]:
    """Return the image of a scene, (height, width, 3), uint8, and the roads found in it, in columns and rows."""
    scene = make_scene(SIZE_PX, seed, RESOLUTION_M, layout=layout, bands="rgbn")
    probability = imperfect_probability(scene)
    raster = array_raster(probability, np.ones_like(probability, dtype=bool), threshold=THRESHOLD)
    grid = Grid(SCENE_CRS, scene.transform, SIZE_PX, SIZE_PX)
    network = extract_network(raster, grid, Vectorize(driving_side="right"), Reporter())
    to_pixels = ~scene.transform
    affine = [to_pixels.a, to_pixels.b, to_pixels.d, to_pixels.e, to_pixels.xoff - 0.5, to_pixels.yoff - 0.5]

    def in_pixels(layer: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
        return layer.set_geometry(layer.geometry.affine_transform(affine)).set_crs(None, allow_override=True)

    layers = (network.roads, network.nodes, network.links, network.breaks)
    return np.moveaxis(scene.image[:3], 0, 2), Network(*map(in_pixels, layers))


def draw_roads(axes: Axes, network: Network, color: str = NEW) -> None:
    """Draw the roads and their junctions."""
    network.roads.plot(ax=axes, color=color, linewidth=3)
    network.nodes[network.nodes["degree"] > 2].plot(ax=axes, color="black", markersize=40, zorder=3)


def draw_carriageways(axes: Axes, network: Network) -> None:
    """Draw the roads, and those of dual carriageways with arrows."""
    draw_roads(axes, network)
    dual = network.roads[network.roads["dual_carriageway"] == "yes"]
    dual.plot(ax=axes, color=LINE, linewidth=3)
    for line in dual.geometry:
        for at in np.arange(20, line.length - 12, 40):
            begin, end = (line.interpolate(along).coords[0] for along in (at, at + 12))
            axes.annotate(
                "", xy=end, xytext=begin, arrowprops={"arrowstyle": "-|>", "color": LINE, "mutation_scale": 26}
            )


def draw_links(axes: Axes, network: Network) -> None:
    """Draw the roads, and the gaps that were looked at: joined and not."""
    draw_roads(axes, network)
    is_joined = network.links["outcome"] == "joined"
    network.links[~is_joined].plot(ax=axes, color=OLD, linewidth=2.5, linestyle=":")
    network.links[is_joined].plot(ax=axes, color=JOINED, linewidth=5)


def draw_breaks(axes: Axes, network: Network) -> None:
    """Draw the roads, and the first likely breaks with their ranks."""
    network.roads.plot(ax=axes, color=NEW, linewidth=1.5)
    first = network.breaks[network.breaks["rank"] <= FIRST]
    first.plot(ax=axes, color=OLD, edgecolor="white", markersize=110, zorder=3)
    for rank, point in zip(first["rank"], first.geometry):
        axes.annotate(str(rank), (point.x, point.y), (7, 4), textcoords="offset points", fontsize=13, weight="bold",
                      color="white")  # fmt: skip


def save(path: Path, image: np.ndarray, part: tuple[int, int, int], network: Network, draw: object) -> None:
    """Write what is drawn over a part of an image: its first column, first row and side."""
    left, top, side_px = part
    figure = Figure(figsize=(PICTURE_PX / 100, PICTURE_PX / 100), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(image)
    draw(axes, network)
    axes.set(xlim=(left - 0.5, left + side_px - 0.5), ylim=(top + side_px - 0.5, top - 0.5))
    axes.set_aspect("equal")
    axes.set_axis_off()
    figure.savefig(path)
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(2 * COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
