"""The job segment: road pixels of whole images, streamed tile by tile into GeoTIFFs.

Knows how a model meets an image and how results are written; knows nothing of training or of road networks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
import rasterio
import torch
from rasterio._err import CPLE_BaseError  # what rasterio raises where it names no error of its own
from rasterio.enums import Resampling
from rasterio.errors import RasterioError
from rasterio.io import DatasetWriter
from rasterio.windows import Window

from .bundle import ModelCard
from .engines import INT8, Engine, choose_engine, engines_for
from .errors import ImageryError, OutputError
from .events import Reporter
from .grid import Grid
from .imagery import Image, match_bands, open_raster
from .inference import CERTAIN, NO_DATA, Predictor, largest_tile_px, predict_tiles, to_mask
from .jobs import Segment, SegmentOptions
from .labels import burn_area, limit_to
from .onnx_model import OnnxNetwork, load_runnable
from .outputs import Outputs
from .tiling import Tile, halo_px, overhead, tile_grid
from .vectors import read_area

ROAD_COLOR = (255, 140, 0, 255)
_TRIAL_PX = 512


@dataclass(frozen=True)
class Segmenter:
    """A model ready to segment: what all images of a job share."""

    predictor: Predictor
    card: ModelCard
    halo: int
    core_px: int
    threshold: float

    @property
    def engine(self) -> Engine:
        """The engine that computes."""
        return self.predictor.engine


def prepare_segmenter(model: str, options: SegmentOptions, reporter: Reporter) -> Segmenter:
    """Load a model and choose how to run it.

    Raises
    ------
    ModelFileError, JobError
        The model cannot be used, or the engine asked for is not there.
    """
    network, card = load_runnable(model)
    is_quantized = isinstance(network, OnnxNetwork) and network.is_quantized
    torch.set_num_threads(options.threads or torch.get_num_threads())
    prepared: dict[str, Any] = {}
    sample = torch.zeros(1, len(card.bands), _TRIAL_PX, _TRIAL_PX)

    def trial(engine: Engine) -> None:
        reporter.check_cancelled()
        if engine.name not in prepared:
            prepared[engine.name] = engine.prepare_inference(network)
        engine.probability(prepared[engine.name], sample)

    precision = INT8 if is_quantized else options.precision
    engine = choose_engine(options.engine, precision, trial, reporter.log, engines_for(network))
    predictor = Predictor(prepared.get(engine.name) or engine.prepare_inference(network), engine, card.bands)
    halo = halo_px(options.halo)
    core_px = -(-options.tile_px // 32) * 32 or largest_tile_px(engine.precision, halo)
    return Segmenter(predictor, card, halo, core_px, options.threshold or card.threshold)


def segment_image(
    image: Image, segmenter: Segmenter, area: "Optional[Area]", reporter: Reporter
) -> Iterator[tuple[Tile, np.ndarray]]:
    """Yield the tiles of an image that lie in the area of interest, with their probability bytes.

    Raises
    ------
    ImageryError
        The image has no data there.
    """
    grid = image.grid
    tiles = list(tile_grid(grid.width, grid.height, segmenter.core_px, segmenter.halo))
    if area is not None:
        tiles = [tile for tile in tiles if area.touches(tile)]
    has_data = False
    for number, (tile, probability) in enumerate(predict_tiles(segmenter.predictor, image.read, tiles), 1):
        reporter.check_cancelled()
        if area is not None:
            probability[~area.burn(tile)] = NO_DATA
        has_data |= bool((probability != NO_DATA).any())
        yield tile, probability
        reporter.progress(number / len(tiles), f"Tile {number} of {len(tiles)}")
    if not has_data:
        where = "within the area of interest" if area is not None else "anywhere"
        raise ImageryError(f"{image.name} has no data {where}.", "Choose another image or area.")


class Area:
    """The part of a grid to which the work is limited."""

    def __init__(self, grid: Grid, path: str) -> None:
        self._grid = grid
        self.window, self._shape = limit_to(grid, read_area(path))

    def touches(self, tile: Tile) -> bool:
        """Whether the tile's core meets the area's bounds."""
        column, row, width, height = self.window
        across = tile.column < column + width and column < tile.column + tile.width
        return across and tile.row < row + height and row < tile.row + tile.height

    def burn(self, tile: Tile) -> np.ndarray:
        """Return which pixels of the tile's core lie in the area."""
        return burn_area(self._grid, self._shape, (tile.column, tile.row, tile.width, tile.height))


class BandFile:
    """A one-band byte GeoTIFF on a grid, tiled and compressed, with NO_DATA where nothing is written.

    Whatever keeps it from being written becomes an OutputError that names it.

    Parameters
    ----------
    path : Path
    grid : Grid
    resampling : Resampling
        How overviews are made.
    """

    def __init__(self, path: Path, grid: Grid, resampling: Resampling) -> None:
        self._path, self._resampling = path, resampling
        place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
        storage = {"tiled": True, "blockxsize": 512, "blockysize": 512, "compress": "deflate", "bigtiff": "if_safer"}
        with self._told():
            self.dataset: DatasetWriter = rasterio.open(
                path, "w", driver="GTiff", count=1, dtype="uint8", nodata=NO_DATA, **place, **storage
            )

    def write(self, values: np.ndarray, tile: Tile) -> None:
        """Write one tile's core."""
        with self._told():
            self.dataset.write(values, 1, window=Window(tile.column, tile.row, tile.width, tile.height))

    def finish(self) -> None:
        """Close the file and add overviews, so that a map shows it fast at any scale."""
        with self._told():
            self.dataset.close()
            with rasterio.open(self._path, "r+") as dataset:
                levels = [2**power for power in range(1, 12) if max(dataset.shape) >> power >= 256]
                dataset.build_overviews(levels, self._resampling)
            self._read_back(range(-1, len(levels)))

    def close(self) -> None:
        """Close the file as it is, for a run that ends early."""
        with suppress(RasterioError, CPLE_BaseError):
            self.dataset.close()

    def _read_back(self, overviews: Iterable[int]) -> None:
        """Read all of the file, since GDAL does not tell where the disk was full as it closed it."""
        for overview in overviews:
            level = {} if overview < 0 else {"overview_level": overview}
            with rasterio.open(self._path, **level) as dataset:
                for _, window in dataset.block_windows(1):
                    dataset.read(1, window=window)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (RasterioError, CPLE_BaseError) as error:
            raise OutputError(
                f"{self._path} cannot be written whole.", "Make room on the disk, or choose another folder."
            ) from error


class ResultWriter:
    """Writes mask and probability of an image as its tiles come. A context manager; leave it by no error to finish."""

    def __init__(self, grid: Grid, mask: Optional[Path], probability: Optional[Path], threshold: float) -> None:
        self._threshold = threshold
        self._mask = BandFile(mask, grid, Resampling.nearest) if mask else None
        self._probability = BandFile(probability, grid, Resampling.average) if probability else None
        if self._mask:
            self._mask.dataset.write_colormap(1, {0: (0, 0, 0, 0), 1: ROAD_COLOR})
            self._mask.dataset.set_band_description(1, "road")
        if self._probability:
            self._probability.dataset.scales = (1 / CERTAIN,)
            self._probability.dataset.set_band_description(1, "road probability")

    def __enter__(self) -> "ResultWriter":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *error: object) -> None:
        for file in filter(None, (self._mask, self._probability)):
            if kind is None:
                file.finish()
            else:
                file.close()

    def write(self, tile: Tile, probability: np.ndarray) -> None:
        """Write one tile's core."""
        if self._mask:
            self._mask.write(to_mask(probability, self._threshold), tile)
        if self._probability:
            self._probability.write(probability, tile)


def run(job: Segment, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Segment`."""
    segmenter = prepare_segmenter(job.model, job, reporter)
    targets = [(job.raster, job.mask, job.probability)] if job.raster else _targets_in_folder(job)
    results = []
    for number, (raster, mask, probability) in enumerate(targets):
        part = reporter.part(number / len(targets), (number + 1) / len(targets))
        results.append(_segment_one(raster, mask, probability, job, segmenter, part))
    seconds = sum(result["seconds"] for result in results)
    pixels = sum(result["pixels"] for result in results)
    return {
        **({"mask": job.mask} if job.raster and job.mask else {}),
        **({"probability": job.probability} if job.raster and job.probability else {}),
        **({} if job.raster else {"masks": [mask for _, mask, _ in targets]}),
        "megapixels_per_s": pixels / 1e6 / max(seconds, 1e-9),
        "engine": segmenter.engine.name,
        "precision": segmenter.engine.precision,
        "overhead": sum(result["overhead"] * result["pixels"] for result in results) / pixels,
        "road_share": sum(result["road"] for result in results) / max(1, sum(result["known"] for result in results)),
    }


def _targets_in_folder(job: Segment) -> list[tuple[str, str, str]]:
    """Return each image with the mask named for it; images of the same name get a number."""
    targets, taken = [], set()
    for raster in job.rasters:
        stem, number = f"{Path(raster).stem}_roads", 2
        name = stem
        while name in taken:
            name, number = f"{stem}_{number}", number + 1
        taken.add(name)
        targets.append((raster, str(Path(job.folder) / f"{name}.tif"), ""))
    return targets


def _segment_one(
    raster: str, mask: str, probability: str, job: Segment, segmenter: Segmenter, reporter: Reporter
) -> dict[str, float]:
    began, tiles, road, known = time.perf_counter(), [], 0, 0
    with Outputs([*job.rasters, job.raster, job.model, job.aoi]) as outputs, open_raster(raster) as dataset:
        with Image(dataset, match_bands(dataset, segmenter.card.bands), segmenter.card.resolution_m) as image:
            grid = image.grid
            area = Area(grid, job.aoi) if job.aoi else None
            staged = [outputs.stage(path) if path else None for path in (mask, probability)]
            with ResultWriter(grid, *staged, segmenter.threshold) as writer:
                for tile, values in segment_image(image, segmenter, area, reporter):
                    writer.write(tile, values)
                    tiles.append(tile)
                    known += int((values != NO_DATA).sum())
                    road += int((to_mask(values, segmenter.threshold) == 1).sum())
    return {
        "seconds": time.perf_counter() - began,
        "pixels": sum(tile.width * tile.height for tile in tiles),
        "overhead": overhead(tiles),
        "road": road,
        "known": known,
    }
