"""Pictures of few colors, and frames of a map as a small animated GIF; runs in the runtime's Python, which has Pillow.

python -m scripts.animation FOLDER [RESULT.gif]
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

WIDTH_PX, FILM_COLORS, FRAME_MS, LAST_MS = 420, 64, 900, 2500
# What keeps a picture of the main window near 100 kB.
COLORS = 64
# Few colors that lie far apart stay, as those of thin lines; without a pattern of dots, which would take room.
_OCTREE, _PLAIN = Image.Quantize.FASTOCTREE, Image.Dither.NONE


def main(folder: str, result: str = "") -> None:
    """Reduce the colors of all tutorial_*.png in a folder, and write the animation of all frame_*.png."""
    for path in Path(folder).glob("tutorial_*.png"):
        image = Image.open(path).convert("RGB")
        image.quantize(COLORS, method=_OCTREE, dither=_PLAIN).save(path, optimize=True)
    if result:
        animate([Image.open(path).convert("RGB") for path in sorted(Path(folder).glob("frame_*.png"))], result)


def animate(images: list[Image.Image], result: str) -> None:
    """Write frames of equal size as an animation."""
    width, height = WIDTH_PX, round(WIDTH_PX * images[0].height / images[0].width)
    small = [image.resize((width, height), Image.Resampling.LANCZOS) for image in images]
    ends = Image.new("RGB", (width, 2 * height))
    ends.paste(small[0], (0, 0))
    ends.paste(small[-1], (0, height))
    palette = ends.quantize(FILM_COLORS, method=_OCTREE)  # one for all, so that what does not change takes no room
    frames = [image.quantize(palette=palette, dither=_PLAIN) for image in small]
    durations = [FRAME_MS] * (len(frames) - 1) + [LAST_MS]
    frames[0].save(result, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
