"""Look at what a model gets wrong on held-out real ground: false and missed road, drawn at random by length.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/mistakes.py starter FOLDER`; with `--scenes`, the
ground is that many generated scenes instead, whose pictures may be published. It writes sheets of
numbered places, the image on the left and the same with predicted road (orange: false, blue: right) and missed road
(magenta) on the right. Places are drawn so that every meter of false, or of missed, center line has the same chance:
the share of the places that show a kind of mistake is an estimate of its share of the length.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
from PIL import Image, ImageDraw
from rasterio.features import rasterize

from benchmarks.zero_shot import TOLERANCE_M, Ground, held_out_ground, predicted
from training_core.extraction.skeletons import thin
from training_core.geodata.pixel_codes import NO_DATA, ROAD, lowest_byte
from training_core.scenes.layouts import LAYOUTS
from training_core.scenes.scene import make_scene
from training_core.segmentation.pixel_metrics import RelaxedMatches, relaxed_matches

KINDS = ("false", "missed")
SCENES, SCENE_SEED, SCENE_PX, SCENE_M, SCENE_TOLERANCE_M = "scenes", 4000, 1024, 0.5, 3.0
SIDE_M, SHEET_COLUMNS, SHEET_ROWS, CROP_PX = 120.0, 4, 6, 240
FALSE, RIGHT, MISSED = (255, 140, 0), (0, 120, 255), (255, 0, 255)


@dataclass(frozen=True)
class Mistakes:
    """An image of real ground, what a model found there, and the center lines of its mistakes by kind."""

    ground: Ground
    matches: RelaxedMatches
    lines: dict[str, np.ndarray]


def main() -> None:
    """Write the sheets of both kinds, and print how long the mistakes are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="model file, or starter")
    parser.add_argument("folder", type=Path, help="where to write the sheets")
    parser.add_argument("--places", type=int, default=96, help="of each kind")
    parser.add_argument("--every", type=int, default=1, help="take every n-th image of each source")
    parser.add_argument("--scenes", type=int, help="number of generated scenes instead of real ground")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    grounds = generated_ground(arguments.scenes) if arguments.scenes else held_out_ground(arguments.every)
    found = [mistakes(ground, arguments.model) for ground in grounds]
    for kind in KINDS:
        by_source: dict[str, float] = {}
        for each in found:
            length_m = each.lines[kind].sum() * each.ground.pixel_m
            by_source[each.ground.source] = by_source.get(each.ground.source, 0.0) + length_m
        print(f"{kind}: " + ", ".join(f"{name} {length_m / 1000:.1f} km" for name, length_m in by_source.items()))
        write_sheets(found, kind, arguments.places, arguments.folder)


def generated_ground(count: int) -> list[Ground]:
    """Return scenes of all layouts in turn."""
    grounds = []
    for number in range(count):
        layout = list(LAYOUTS)[number % len(LAYOUTS)]
        scene = make_scene(SCENE_PX, SCENE_SEED + number, SCENE_M, layout=layout)
        areas = scene.roads.buffer(scene.roads.width_m / 2)
        truth = rasterize(areas, scene.image.shape[1:], transform=scene.transform, default_value=ROAD, dtype=np.uint8)
        known, none = np.ones(truth.shape, dtype=bool), np.zeros(3, dtype=np.float32)
        roads = np.flatnonzero(truth)
        grounds.append(Ground(SCENES, layout, scene.image, none, none, truth, truth, known, SCENE_M, roads))
    return grounds


def mistakes(ground: Ground, model: str) -> Mistakes:
    """Return what a model gets wrong on an image."""
    probability, threshold = predicted(ground, model)
    mask = (probability >= lowest_byte(threshold)) & (probability != NO_DATA)
    tolerance_m = TOLERANCE_M.get(ground.source, SCENE_TOLERANCE_M)
    found = relaxed_matches(mask, ground.truth, tolerance_m, (ground.pixel_m, ground.pixel_m))
    false = thin(mask) & found.predicted & ~found.correct
    missed = thin(ground.truth == ROAD) & ~found.found
    return Mistakes(ground, found, dict(zip(KINDS, (false, missed))))


def write_sheets(found: Sequence[Mistakes], kind: str, places: int, folder: Path) -> None:
    """Write numbered places of a kind, each meter with the same chance whatever the size of a pixel."""
    rng = np.random.default_rng(0)
    length_m = np.array([each.lines[kind].sum() * each.ground.pixel_m for each in found])
    crops = []
    for number in rng.choice(len(found), places, p=length_m / length_m.sum()):
        each = found[number]
        crops.append(crop(each, rng.choice(np.argwhere(each.lines[kind])), f"{len(crops)} {each.ground.name}"))
    on_sheet = SHEET_COLUMNS * SHEET_ROWS
    for first in range(0, places, on_sheet):
        shown = crops[first : first + on_sheet]
        rows = -(-len(shown) // SHEET_COLUMNS)
        sheet = Image.new("RGB", (SHEET_COLUMNS * (2 * CROP_PX + 6), rows * (CROP_PX + 6)), "white")
        for place, picture in enumerate(shown):
            row, column = divmod(place, SHEET_COLUMNS)
            sheet.paste(picture, (column * (2 * CROP_PX + 6), row * (CROP_PX + 6)))
        sheet.save(folder / f"{kind}_{first // on_sheet}.png")


def crop(found: Mistakes, place: np.ndarray, title: str) -> Image.Image:
    """Return a place as an image, and beside it the same with what was found and what was missed."""
    ground, half = found.ground, round(SIDE_M / 2 / found.ground.pixel_m)
    top, left = (int(np.clip(at - half, 0, max(0, size - 2 * half))) for at, size in zip(place, ground.labels.shape))
    window = np.s_[top : top + 2 * half, left : left + 2 * half]
    plain = np.moveaxis(ground.image[(slice(None), *window)], 0, -1)
    marked = plain.copy()
    for where, color in (
        (found.matches.predicted & ~found.matches.correct, FALSE),
        (found.matches.correct, RIGHT),
        (found.matches.true & ~found.matches.found, MISSED),
    ):
        marked[where[window]] = (0.5 * marked[where[window]] + 0.5 * np.array(color)).astype(np.uint8)
    picture = Image.new("RGB", (2 * CROP_PX, CROP_PX))
    for number, pixels in enumerate((plain, marked)):
        picture.paste(Image.fromarray(pixels).resize((CROP_PX, CROP_PX)), (number * CROP_PX, 0))
    ImageDraw.Draw(picture).text((4, 4), title, fill="white", stroke_width=2, stroke_fill="black")
    return picture


if __name__ == "__main__":
    main()
