"""Write what the starter's training draws from into one file, for train_pack.py on a machine with a GPU.

Run as `make starter-pack`. The pack is a zip: for each image a WebP, a PNG whose bits are planes of labels unless it is
all background, and `manifest.json` with what is known of the images and with the recipes. Scenes fill it up.

Scope: the format of a pack, and writing it. train_pack.py, which runs without the project, reads it.
"""

from __future__ import annotations

import argparse
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from PIL import Image

from scripts.starter.center_line_loss import center_lines
from scripts.starter.held_out import SCENES, TOLERANCE_M
from scripts.starter.pretrain import learned_ground, taught_ground, teacher_predictor
from scripts.starter.real_ground import ATTRIBUTION, Ground, read_ground
from scripts.starter.recipe import FROM_IMAGENET, STYLED, Recipe
from scripts.starter.worlds import World, make_worlds
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.jobs.recipe import UNET
from training_core.models.base_model import architecture_for
from training_core.models.engines import FP32, NativeEngine
from training_core.system.processor import core_count

FORMAT = "roadseg-starter-pack-1"
MANIFEST = "manifest.json"
PLANES = ("road", "ignored", "true road", "true ignored", "unknown", "center-line")
RECIPES = {"imagenet": FROM_IMAGENET, "styled": STYLED}
# What each image takes of the manifest and of the zip's directory, at most.
_RECORD_BYTES = 200
_SCENES_AT_A_TIME = 8


def main() -> None:
    """Write the pack, and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=Path, help="where to write it")
    parser.add_argument("--ground", type=Path, required=True, help="folder of real ground")
    parser.add_argument("--teacher", default="", help="the model file that labels towns; none: they are left out")
    parser.add_argument("--quality", type=int, default=25, help="of the WebP images, 0 to 100")
    parser.add_argument("--scenes", type=int, default=1000, help="how many to draw at most")
    parser.add_argument("--megabytes", type=float, default=55.0, help="size of the pack at most")
    arguments = parser.parse_args()
    learned = learned_ground(arguments.ground, ())
    if arguments.teacher:
        teacher = teacher_predictor(arguments.teacher, NativeEngine(FP32))
        learned = taught_ground(arguments.ground, learned, teacher, FROM_IMAGENET)
    ground = [
        *((each, False) for each in chain(*learned.values())),
        *((each, True) for each in read_ground(arguments.ground, is_held_out=True)),
    ]
    scenes = drawn_scenes(FROM_IMAGENET, arguments.scenes)
    counts = write_pack(arguments.pack, ground, scenes, RECIPES, int(arguments.megabytes * 1e6), arguments.quality)
    told = ", ".join(f"{number} of {source}" for source, number in counts.items())
    print(f"{arguments.pack}: {arguments.pack.stat().st_size / 1e6:.1f} MB; images: {told}")


def drawn_scenes(recipe: Recipe, most: int) -> Iterator[tuple[Ground, bool]]:
    """Yield scenes as images of ground, and whether they are held out: those first, then up to `most` others."""
    for number, world in enumerate(make_worlds(recipe, range(-recipe.scenes, 0))):
        yield ground_of(world, f"held out {number}", recipe.resolution_m), True
    for first in range(0, most, _SCENES_AT_A_TIME):
        numbers = range(first, min(most, first + _SCENES_AT_A_TIME))
        for number, world in zip(numbers, make_worlds(recipe, numbers)):
            yield ground_of(world, str(number), recipe.resolution_m), False


def ground_of(world: World, name: str, resolution_m: float) -> Ground:
    """Return a scene as an image of ground, its values stretched to 8 bits."""
    values = world.image.astype(np.float32)
    values = (values - values.min()) * (255 / np.ptp(values))
    image = np.rint(values).astype(np.uint8)
    mean, deviation = (found(values, axis=(1, 2)) for found in (np.mean, np.std))
    known = np.ones(world.labels.shape, dtype=bool)
    return Ground(
        SCENES, name, image, mean, deviation, world.labels, world.labels, known, resolution_m, world.roads, True
    )


def write_pack(
    path: Path,
    ground: Sequence[tuple[Ground, bool]],
    scenes: Iterable[tuple[Ground, bool]],
    recipes: dict[str, Recipe],
    max_bytes: int,
    quality: int,
) -> dict[str, int]:
    """Write a pack, and return how many images of each source are in it.

    Parameters
    ----------
    ground, scenes : iterable of tuple of Ground and bool
        All images of real ground, and scenes, of which as many are taken as there is room for; and whether each is held
        out.
    recipes : dict of str to Recipe
        Those to train by.
    quality : int
        Of the images, from 0 to 100.

    Raises SystemExit if the real ground alone is larger than `max_bytes`; then nothing is written.
    """
    records: list[dict] = []
    reserved_bytes = len(json.dumps(manifest([], recipes)))
    beside = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with beside.open("wb") as file, ZipFile(file, "w") as archive:
            for (each, is_held_out), files in encoded(ground, scenes, quality):
                new_bytes = sum(map(len, files.values())) + _RECORD_BYTES * (len(records) + 1)
                if file.tell() + new_bytes + reserved_bytes > max_bytes:
                    break
                for ending, content in files.items():
                    archive.writestr(f"{len(records):05}.{ending}", content)
                records.append(record(each, is_held_out))
            if len(records) < len(ground):
                raise SystemExit(
                    f"Only {len(records)} of {len(ground)} images of real ground fit into {max_bytes / 1e6:.0f} MB. "
                    "Lower --quality."
                )
            archive.writestr(MANIFEST, json.dumps(manifest(records, recipes)), ZIP_DEFLATED)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return dict(Counter(each["source"] for each in records))


def encoded(
    ground: Sequence[tuple[Ground, bool]], scenes: Iterable[tuple[Ground, bool]], quality: int
) -> Iterator[tuple[tuple[Ground, bool], dict[str, bytes]]]:
    """Yield images and their files by ending; scenes are drawn when they are asked for."""
    with ThreadPoolExecutor(core_count()) as pool:
        yield from zip(ground, pool.map(lambda each: image_files(each[0], quality), ground))
    for each in scenes:
        yield each, image_files(each[0], quality)


def image_files(ground: Ground, quality: int) -> dict[str, bytes]:
    """Return the files of an image by ending: what it looks like, and its labels unless they are all background."""
    pixels, files = ground.image * ground.known, {}
    files["webp"] = _saved(pixels.transpose(1, 2, 0), "WEBP", quality=quality, method=6)
    bits = planes(ground)
    return {**files, "png": _saved(bits, "PNG", optimize=True)} if bits.any() else files


def planes(ground: Ground) -> np.ndarray:
    """Return the labels of an image as bits, (height, width), uint8, in the order of PLANES."""
    of_plane = (
        ground.labels == ROAD,
        ground.labels == IGNORE,
        ground.truth == ROAD,
        ground.truth == IGNORE,
        ~ground.known,
        center_lines(ground.labels == ROAD),
    )
    return sum((plane.astype(np.uint8) << bit for bit, plane in enumerate(of_plane)), np.uint8(0))


def record(ground: Ground, is_held_out: bool) -> dict:
    """Return what the manifest says of an image."""
    return {
        "source": ground.source,
        "name": ground.name,
        "pixel_m": ground.pixel_m,
        "mean": [round(float(each), 3) for each in ground.mean],
        "deviation": [round(float(each), 3) for each in ground.deviation],
        "is_complete": ground.is_complete,
        "is_held_out": is_held_out,
    }


def manifest(records: list[dict], recipes: dict[str, Recipe]) -> dict:
    """Return the manifest: images in the order of their files, and the recipes with the network that they train."""
    of_name = {}
    for name, recipe in recipes.items():
        architecture = architecture_for(UNET, recipe.encoder)
        network = {"encoder": architecture.library_name, "decoder_channels": architecture.decoder_channels}
        of_name[name] = {**asdict(recipe), **network}
    sources = {each["source"] for each in records}
    return {
        "format": FORMAT,
        "planes": PLANES,
        "images": records,
        "tolerance_m": TOLERANCE_M,
        "attribution": {source: text for source, text in ATTRIBUTION.items() if source in sources},
        "recipes": of_name,
    }


def _saved(pixels: np.ndarray, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, kind, **options)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
