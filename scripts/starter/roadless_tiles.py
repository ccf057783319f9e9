"""Which tiles of UC Merced hold no road: by class, the numbers of those that were looked at and have none.

A tile with a street, a track or a paved path is left out, and so are classes in which most tiles have one. Runways,
aprons, piers and rows of parked cars are no roads.
"""

from __future__ import annotations

_TILES = {
    "agricultural": "1 5-24 26-36 39-69 71-94 96-99",
    "airplane": "0-23 25-37 39-40 42-45 47-52 54-56 58-65 67-76 78-85 87-99",
    "baseballdiamond": "3-7 9-11 13-14 30-33 36-38 40-43 46 50-51 53-56 66-70 73 75-78 83-87",
    "beach": "0-27 29-38 43-99",
    "chaparral": "2 4-10 13-24 27-35 37-41 43-45 47-99",
    "forest": "0 2 6-7 10-39 41-99",
    "golfcourse": "2-7 9-11 13 15-18 26-27 30-31 33-34 36-37 40 46 48 53 64 71-72 96-99",
    "harbor": "0-32 34-61 63-68 71-99",
    "parkinglot": "1-13 15 17 20-30 33 36-38 43 45-46 53-54 66-96",
    "river": "7-18 21 28-33 35 43-45 53-54 68-73 75-76 83-95 98-99",
    "runway": "0-99",
}


def roadless_tiles() -> list[tuple[str, int]]:
    """Return class and number of each tile without a road."""
    return [(kind, number) for kind, text in _TILES.items() for part in text.split() for number in _numbers(part)]


def _numbers(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)
