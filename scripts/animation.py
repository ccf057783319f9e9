"""Frames of a map as a small animated GIF; runs in the runtime's Python, which has Pillow.

python -m scripts.animation FRAMES_FOLDER RESULT.gif
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

WIDTH_PX, COLORS, FRAME_MS, LAST_MS = 420, 64, 900, 2500


def main(folder: str, result: str) -> None:
    """Write the animation of all frame_*.png in a folder."""
    images = [Image.open(path).convert("RGB") for path in sorted(Path(folder).glob("frame_*.png"))]
    size = (WIDTH_PX, round(WIDTH_PX * images[0].height / images[0].width))
    small = [image.resize(size, Image.Resampling.LANCZOS) for image in images]
    palette = small[-1].quantize(COLORS)  # one for all, so that what does not change takes no room
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in small]
    durations = [FRAME_MS] * (len(frames) - 1) + [LAST_MS]
    frames[0].save(result, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
