"""Zero-shot scores of models on real ground, at the threshold of *Segment* and at the best fixed one.

Run with the runtime's Python: `$(make -s runtime-python) -m benchmarks.zero_shot starter FILE`. The ground is that of
shared/data beside the project: neighborhoods of Massachusetts, groups of Dubai and tiles of Shanghai that the starter's
training holds out (`scripts/starter/real_ground.py`; all of a source with `--without`), tiles of UC Merced without
roads, sixteen of which make one image, and the drawn scenes of `quality.py`, which no training sees. Relaxed scores are
within 5 m where lines are displaced, else within 3 m.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import rasterio
from affine import Affine
from rasterio.enums import Resampling

from benchmarks.quality import make_scenes
from scripts.starter.real_ground import DUBAI, LABELED, MASSACHUSETTS, ROADLESS, SHANGHAI, Ground, read_ground
from training_core.events import Reporter
from training_core.geodata.grid import grid_of
from training_core.geodata.pixel_codes import CERTAIN, IGNORE, NO_DATA, lowest_byte
from training_core.jobs import Evaluate, Segment, model_path
from training_core.labels.drawing import read_drawing
from training_core.pipelines import segment
from training_core.segmentation.pixel_metrics import Confusion, RelaxedCounts, relaxed_matches

GROUND = ROOT.parent / "shared" / "data" / "real"
TOLERANCE_M = {MASSACHUSETTS: 5.0, DUBAI: 3.0, SHANGHAI: 3.0, ROADLESS: 3.0}
THRESHOLDS = np.round(np.arange(0.05, 0.76, 0.05), 2)
HEADER = "ground          images  threshold  relaxed F1  precision  recall  best at     F1  false road"
BINS = 10
SIDE_TILES = 4


@dataclass(frozen=True, eq=False)
class Scored:
    """Matches of an image: at the threshold of *Segment*, and at each of THRESHOLDS."""

    threshold: float
    counts: RelaxedCounts
    at: list[RelaxedCounts]
    labeled_px: int


def main() -> None:
    """Print the scores of each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model files, or starter")
    parser.add_argument("--every", type=int, default=1, help="take every n-th image of each source")
    parser.add_argument("--without", nargs="*", default=(), choices=LABELED, help="sources to take as a whole")
    parser.add_argument("--test-time-augmentation", action="store_true")
    arguments = parser.parse_args()
    images = held_out_ground(arguments.every, arguments.without)
    for model in arguments.models:
        print(f"\n{model}\n{HEADER}")
        confusion = Confusion()
        for source in TOLERANCE_M:
            scored = []
            for image in (image for image in images if image.source == source):
                probability, threshold = predicted(image, model, arguments.test_time_augmentation)
                pixel_m = (image.pixel_m, image.pixel_m)
                scored.append(score(probability, threshold, image.truth, TOLERANCE_M[source], pixel_m))
                confusion.add(probability, image.labels)
            show(source, scored)
        for name, *scene in drawn_scenes(model, arguments.test_time_augmentation):
            show(name, [score(*scene)])
        show_calibration(confusion)


def held_out_ground(every: int = 1, without: Collection[str] = ()) -> list[Ground]:
    """Return every n-th image of held-out ground by source, roadless tiles put together."""
    grounds = read_ground(GROUND, is_held_out=True, left_out=without)
    of_source = {source: [each for each in grounds if each.source == source] for source in TOLERANCE_M}
    of_source[ROADLESS] = list(put_together(of_source[ROADLESS]))
    return [each for images in of_source.values() for each in images[::every]]


def put_together(tiles: Sequence[Ground]) -> list[Ground]:
    """Return images of sixteen tiles each, since an image is normalized by its own statistics."""
    count = SIDE_TILES**2
    side = max((max(tile.labels.shape) for tile in tiles), default=0)
    images = []
    for first in range(0, len(tiles) - count + 1, count):
        image = np.zeros((3, SIDE_TILES * side, SIDE_TILES * side), dtype=np.uint8)
        labels = np.full(image.shape[1:], IGNORE, dtype=np.uint8)
        for place, tile in enumerate(tiles[first : first + count]):
            row, column = (side * each for each in divmod(place, SIDE_TILES))
            height, width = tile.labels.shape
            image[:, row : row + height, column : column + width] = tile.image
            labels[row : row + height, column : column + width] = tile.labels
        known = labels != IGNORE
        images.append(
            replace(tiles[first], name=f"tiles {first}", image=image, labels=labels, truth=labels, known=known)
        )
    return images


def drawn_scenes(model: str, is_augmented: bool) -> Iterator[tuple]:
    """Yield name, probability, threshold, truth, tolerance and pixel size of each scene with drawn roads."""
    with tempfile.TemporaryDirectory() as name:
        for scene in make_scenes(Path(name)):
            areas = {"": scene.scored} if scene.name == "south" else {" west": scene.trained, " east": scene.scored}
            with tempfile.TemporaryDirectory() as folder:
                dataset_path, threshold = segmented(scene.raster, model, folder, is_augmented)
                with rasterio.open(dataset_path) as dataset:
                    grid, probability = grid_of(dataset), dataset.read(1)
            for part, area in areas.items():
                asked = Evaluate(rasters=(scene.raster,), roads=scene.roads, aoi=area, **scene.options)
                labels = read_drawing(asked.roads, asked.aoi, asked, Reporter()).burn(grid)
                height, width = labels.values.shape
                window = np.s_[labels.row : labels.row + height, labels.column : labels.column + width]
                yield f"{scene.name}{part}", probability[window], threshold, labels.values, 3.0, grid.pixel_m


def score(
    probability: np.ndarray, threshold: float, truth: np.ndarray, tolerance_m: float, pixel_m: tuple[float, float]
) -> Scored:
    """Match an image's mask with its truth, at its threshold and at all others."""
    truth = np.where(probability == NO_DATA, IGNORE, truth)

    def counts(level: float) -> RelaxedCounts:
        mask = (probability >= lowest_byte(level)) & (probability != NO_DATA)
        return relaxed_matches(mask, truth, tolerance_m, pixel_m).counts()

    return Scored(threshold, counts(threshold), [counts(level) for level in THRESHOLDS], int((truth != IGNORE).sum()))


def show(name: str, images: Sequence[Scored]) -> None:
    """Print how a model scores on images of a kind."""
    if not images:
        return
    total = sum((each.counts for each in images), RelaxedCounts())
    thresholds = f"{np.mean([each.threshold for each in images]):.2f}"
    f1 = [sum(found, RelaxedCounts()).f1 for found in zip(*(each.at for each in images))]
    best = f"{THRESHOLDS[int(np.argmax(f1))]:8.2f} {max(f1):6.3f}" if max(f1) else ""
    false_road = (total.predicted - total.correct) / max(1, sum(each.labeled_px for each in images))
    print(
        f"{name:15} {len(images):6d} {thresholds:>10} {total.f1:11.3f} {total.precision:10.3f} {total.recall:7.3f} "
        f"{best:>15} {false_road:11.4f}",
        flush=True,
    )


def predicted(ground: Ground, model: str, is_augmented: bool = False) -> tuple[np.ndarray, float]:
    """Return the probability of road by bytes at the image's own pixels, and the threshold of *Segment*.

    With test-time augmentation where `is_augmented`.
    """
    with tempfile.TemporaryDirectory() as name:
        raster = f"{name}/image.tif"
        georeferenced(Path(raster), ground.image, ground.known, ground.pixel_m)
        path, threshold = segmented(raster, model, name, is_augmented)
        with rasterio.open(path) as dataset:
            found = dataset.read(1, out_shape=ground.labels.shape, resampling=Resampling.bilinear)
    return found, threshold


def segmented(raster: str, model: str, folder: str, is_augmented: bool) -> tuple[str, float]:
    """Segment an image into a folder; return the raster of probability, and the threshold of the mask."""
    probability = f"{folder}/probability.tif"
    outputs = {"probability": probability, "mask": f"{folder}/mask.tif"}
    job = Segment(raster=raster, model=model_path(model), test_time_augmentation=is_augmented, **outputs)
    return probability, segment.run(job, Reporter())["threshold"]


def georeferenced(path: Path, image: np.ndarray, known: np.ndarray, pixel_m: float) -> None:
    """Write an image, (bands, height, width), uint8, somewhere on a map, with a mask of where it is known."""
    count, height, width = image.shape
    place = Affine(pixel_m, 0, 300_000, 0, -pixel_m, 4_700_000)
    profile = {"driver": "GTiff", "count": count, "dtype": "uint8", "crs": "EPSG:32619"}
    colors = {"photometric": "rgb"} if count == 3 else {}
    with rasterio.open(path, "w", height=height, width=width, transform=place, **profile, **colors) as dataset:
        dataset.write(image)
        dataset.write_mask(known)


def show_calibration(confusion: Confusion) -> None:
    """Print which share of the pixels of each probability is road, and the expected calibration error."""
    road, other = (np.array(each, dtype=float) for each in confusion.counts())
    probability, error = np.arange(CERTAIN + 1) / CERTAIN, 0.0
    print("probability    pixels    road")
    for first in range(BINS):
        level = np.minimum((probability * BINS).astype(int), BINS - 1) == first
        pixels = float((road + other)[level].sum())
        if pixels:
            said = float(((road + other) * probability)[level].sum()) / pixels
            share = float(road[level].sum()) / pixels
            error += abs(said - share) * pixels / confusion.count
            print(f"{said:11.2f} {pixels / confusion.count:9.2%} {share:7.2f}")
    print(f"expected calibration error: {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
