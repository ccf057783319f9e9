"""Fine-tuning on many tiles with masks, and predicting them: time and memory by the number of tiles.

Run with the runtime's Python: `$(make -s runtime-python) -m benchmarks.many_tiles --tiles 10 100`. The tiles are parts
of generated scenes, side by side, each with its roads as a mask; the labels are the masks, or the polygons that
rasterio makes of them. Seconds are from the start of the process to the first
step, or to the last prediction; steps, predicted tiles or batches a second follow. Beside it, a PyTorch DataLoader
reads chips of the same tiles and masks. With `--into FOLDER`, tiles and masks are only written, for trials of one's
own.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import rasterio
import torch
from rasterio.features import shapes
from rasterio.windows import Window
from shapely.geometry import box, shape
from torch.utils.data import DataLoader, Dataset

from benchmarks.quality import events_of
from training_core.events import Reporter
from training_core.geodata.grid import grid_of
from training_core.jobs import LabelOptions, MakeScene
from training_core.labels.drawing import read_drawing
from training_core.pipelines import makescene

CHIP_PX, BATCH = 128, 4
HEADER = "tiles  what      seconds   s a tile   a second  memory   F1"


def main() -> None:
    """Print a line for each number of tiles and kind of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--tile-px", type=int, default=512)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--into", type=Path, help="only write that many tiles and their masks, into this new folder")
    arguments = parser.parse_args()
    if arguments.into:
        arguments.into.mkdir()
        make_tiles(arguments.into, arguments.tiles[0], arguments.tile_px)
        return
    print(HEADER, flush=True)
    for count in arguments.tiles:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_tiles(folder, count, arguments.tile_px)
            for labels in ("masks", "polygons"):
                fine_tune(folder, count, labels, arguments.steps)
            predict(folder, count)
            load_plainly(folder, count)


def make_tiles(folder: Path, count: int, side_px: int) -> None:
    """Write tiles, their masks, and the polygons of these; scenes follow each other until there are enough."""
    for name in ("images", "masks"):
        (folder / name).mkdir()
    roads, areas, number = [], [], 0
    while number < count:
        scene, lines = folder / "scene.tif", folder / "scene.gpkg"
        makescene.run(MakeScene(raster=str(scene), roads=str(lines), size_px=4 * side_px, seed=number), Reporter())
        for image, mask, transform, crs in tiles_of(scene, lines, side_px):
            if number == count:
                break
            profile = {"driver": "GTiff", "width": side_px, "height": side_px, "dtype": "uint8", "crs": crs}
            transform = transform @ rasterio.Affine.translation(0, number // 16 * 5 * side_px)
            for kind, values in (("images", image), ("masks", mask[None])):
                path = folder / kind / f"tile_{number:04}.tif"
                with rasterio.open(path, "w", count=len(values), transform=transform, **profile) as file:
                    file.write(values)
            roads += [shape(found) for found, value in shapes(mask, transform=transform) if value]
            areas.append(box(*rasterio.transform.array_bounds(side_px, side_px, transform)))
            number += 1
        scene.unlink()
        lines.unlink()
    geopandas.GeoDataFrame(geometry=roads, crs=crs).to_file(folder / "roads.gpkg")
    geopandas.GeoDataFrame(geometry=areas, crs=crs).to_file(folder / "aoi.gpkg")


def tiles_of(scene: Path, lines: Path, side_px: int) -> Iterator[tuple]:
    """Yield image, mask, transform and CRS of each tile of a scene."""
    with rasterio.open(scene) as dataset:
        grid = grid_of(dataset)
        drawing = read_drawing(str(lines), "", LabelOptions(width_field="width_m", background_m=10_000), Reporter())
        labels = drawing.burn(grid).values
        for row in range(0, grid.height, side_px):
            for column in range(0, grid.width, side_px):
                image = dataset.read(window=Window(column, row, side_px, side_px))
                part = labels[row : row + side_px, column : column + side_px]
                mask = np.where(part == 1, 255, 0).astype(np.uint8)
                yield image, mask, grid.window(column, row, side_px, side_px).transform, grid.crs


def fine_tune(folder: Path, count: int, labels: str, steps: int) -> None:
    """Fine-tune for some steps, and print how long it took until the first one."""
    asked = {"rasters": str(folder / "images"), "model": str(folder / "model.safetensors"), "steps": str(steps)}
    of = {"masks": {"masks": str(folder / "masks")}}
    of["polygons"] = {"roads": str(folder / "roads.gpkg"), "aoi": str(folder / "aoi.gpkg")}
    asked |= {"chip_px": str(CHIP_PX), "batch_size": str(BATCH), "engine": "native", **of[labels]}
    first_s = trained_s = 0.0
    for after_s, event in events_of("finetune", asked):
        if event["event"] == "metric" and event["name"] == "loss":
            first_s, trained_s = first_s or after_s, after_s
        result = event.get("result")
    memory_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    pace = (result["steps"] - 1) / max(trained_s - first_s, 1e-9)
    f1 = result["validation"]["f1"]
    print(f"{count:5}  {labels:8} {first_s:6.1f} s  {first_s / count:8.3f}  {pace:7.2f}  {memory_gb:4.1f} GB  {f1:.3f}",
          flush=True)  # fmt: skip


def predict(folder: Path, count: int) -> None:
    """Segment all tiles with the model, and print how long it took, and the tiles a second."""
    asked = {"rasters": str(folder / "images"), "model": str(folder / "model.safetensors")}
    began_s = time.perf_counter()
    for _ in events_of("segment", {**asked, "folder": str(folder / "predicted")}):
        pass
    took_s = time.perf_counter() - began_s
    assert len(list((folder / "predicted").glob("*.tif"))) == count
    print(f"{count:5}  segment  {took_s:6.1f} s  {took_s / count:8.3f}  {count / took_s:7.2f}", flush=True)


class Tiles(Dataset):
    """A chip of each tile, opened when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._images = sorted((folder / "images").glob("*.tif"))

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        path, window = self._images[number], Window(0, 0, CHIP_PX, CHIP_PX)
        with rasterio.open(path) as image, rasterio.open(path.parents[1] / "masks" / path.name) as mask:
            return torch.from_numpy(image.read(window=window)), torch.from_numpy(mask.read(1, window=window))


def load_plainly(folder: Path, count: int) -> None:
    """Print how long a DataLoader takes to the first batch, and the batches a second that it reads."""
    began_s = time.perf_counter()
    loader = iter(DataLoader(Tiles(folder), batch_size=BATCH, shuffle=True))
    next(loader)
    first_s = time.perf_counter() - began_s
    batches = sum(1 for _ in loader)
    pace = batches / max(time.perf_counter() - began_s - first_s, 1e-9)
    print(f"{count:5}  loader   {first_s:6.1f} s  {first_s / count:8.3f}  {pace:7.2f}", flush=True)


if __name__ == "__main__":
    main()
