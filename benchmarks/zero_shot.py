"""Zero-shot scores of models on held-out real ground, and how far their probability can be believed.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/zero_shot.py starter FILE`. The ground is that of
shared/data/real beside the project which the starter's training leaves out (`scripts/starter/real_ground.py`): whole
neighborhoods of Massachusetts, two groups of Dubai, and tiles of UC Merced without roads, sixteen of which make one
image. Relaxed scores are those of the job's mask, within 5 m where lines are displaced, else within 3 m.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import rasterio
from affine import Affine
from rasterio.enums import Resampling

from scripts.starter.real_ground import DUBAI, MASSACHUSETTS, ROADLESS, Ground, read_ground
from training_core.events import Reporter
from training_core.geodata.pixel_codes import CERTAIN, IGNORE, NO_DATA, lowest_byte
from training_core.jobs import Segment
from training_core.models.loading import load_weights
from training_core.pipelines import segment
from training_core.segmentation.pixel_metrics import Confusion, RelaxedCounts, relaxed_matches

GROUND = ROOT.parent / "shared" / "data" / "real"
TOLERANCE_M = {MASSACHUSETTS: 5.0, DUBAI: 3.0, ROADLESS: 3.0}
BINS = 10
SIDE_TILES = 4


def main() -> None:
    """Print the scores of each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model files, or starter")
    parser.add_argument("--every", type=int, default=1, help="take every n-th image of each source")
    parser.add_argument("--test-time-augmentation", action="store_true")
    arguments = parser.parse_args()
    models, images = arguments.models, held_out_ground(arguments.every)
    for model in models:
        print(f"\n{model}\nsource         images  relaxed F1  precision  recall  false road")
        joint = Confusion()
        for source in TOLERANCE_M:
            ground = [each for each in images if each.source == source]
            joint += show(source, ground, model, arguments.test_time_augmentation)
        show_calibration(joint)


def held_out_ground(every: int = 1) -> list[Ground]:
    """Return every n-th image of held-out ground by source, roadless tiles put together."""
    grounds = read_ground(GROUND, is_held_out=True)
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


def show(source: str, images: Sequence[Ground], model: str, is_augmented: bool) -> Confusion:
    """Print how a model scores on images of a source; return its confusion."""
    counts, confusion = RelaxedCounts(), Confusion()
    for each in images:
        probability, threshold = predicted(each, model, is_augmented)
        mask = (probability >= lowest_byte(threshold)) & (probability != NO_DATA)
        counts += relaxed_matches(mask, each.truth, TOLERANCE_M[source], (each.pixel_m, each.pixel_m)).counts()
        confusion.add(probability, each.labels)
    background = counts.predicted - counts.correct
    total = sum(int((each.labels != IGNORE).sum()) for each in images)
    print(
        f"{source:14} {len(images):6d} {counts.f1:11.3f} {counts.precision:10.3f} {counts.recall:7.3f} "
        f"{background / max(1, total):11.4f}",
        flush=True,
    )
    return confusion


def predicted(ground: Ground, model: str, is_augmented: bool = False) -> tuple[np.ndarray, float]:
    """Return the probability of road by bytes at the image's own pixels, and the model's threshold.

    With test-time augmentation where `is_augmented`.
    """
    with tempfile.TemporaryDirectory() as name:
        raster, probability = f"{name}/image.tif", f"{name}/probability.tif"
        georeferenced(Path(raster), ground.image, ground.known, ground.pixel_m)
        path = str(ROOT / "resources" / "starter" / "roads.safetensors") if model == "starter" else model
        outputs = {"probability": probability, "mask": f"{name}/mask.tif"}
        segment.run(Segment(raster=raster, model=path, test_time_augmentation=is_augmented, **outputs), Reporter())
        with rasterio.open(probability) as dataset:
            found = dataset.read(1, out_shape=ground.labels.shape, resampling=Resampling.bilinear)
    return found, load_weights(path)[1].threshold


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
