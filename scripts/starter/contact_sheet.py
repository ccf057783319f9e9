"""A contact sheet of generated scenes, as the starter model is trained on them.

Run with the runtime's Python: `$(make -s runtime-python) -m scripts.starter.contact_sheet scenes.jpg`.
"""

from __future__ import annotations

import argparse

import numpy as np
from PIL import Image

from scripts.starter.recipe import Recipe
from scripts.starter.worlds import make_world

SIDE_PX, COLUMNS, ROWS = 320, 5, 3
DEVIATIONS = 2.2  # shown on each side of the mean


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture")
    recipe = Recipe(scene_px=SIDE_PX)
    scenes = [make_world(recipe, -number).image for number in range(1, COLUMNS * ROWS + 1)]
    pictures = [np.clip((scene.astype(float) / DEVIATIONS + 1) * 127.5, 0, 255).astype(np.uint8) for scene in scenes]
    rows = [np.concatenate(pictures[start : start + COLUMNS], axis=2) for start in range(0, len(pictures), COLUMNS)]
    sheet = np.concatenate(rows, axis=1).transpose(1, 2, 0)
    Image.fromarray(sheet).save(parser.parse_args().picture, quality=80)


if __name__ == "__main__":
    main()
