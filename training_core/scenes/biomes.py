"""Biomes that scenes are set in: buildings and their density, vegetation, and colors.

Scope: tables of sizes, fractions and colors, estimated from aerial images. Independent of places and pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

COVERS = ("garden", "field", "meadow", "forest", "yard", "park", "plantation", "grove", "paddy")
CAR_PARK, HALL, BLOCK, HOUSE, SHED = range(5)

Range = tuple[float, float]
Palette = Mapping[str, np.ndarray]  # (N, 4) float32 colors, of which one is drawn for each thing
_LEAVES = ("covers", "crops", "gardens", "dry", "bank", "crown", "autumn", "palm", "paddies", "bund")
_WATER_INFRARED = 0.55  # of what something else of that color would reflect
# Deviation of the logarithm of a color's brightness where a biome's colors are varied.
_SPREAD, _ROAD_SPREAD = 0.08, 0.28


def spectra(text: str, leaves: bool = False) -> np.ndarray:
    """Return (N, 4) float32 colors from 0 to 1 with near infrared, of sRGB percentages: `41 42 29, 50 50 30`.

    Leaves are bright in near infrared, the greener the brighter; all else reflects it as it does red.
    """
    red, green, blue = np.array([[float(band) / 100 for band in color.split()] for color in text.split(",")]).T
    greenness = np.clip((2 * green - red - blue) / (red + green + blue) / 0.15, 0, 1) * leaves
    infrared = red + greenness * np.maximum(0.42 + 0.5 * green - red, 0)
    return np.stack([red, green, blue, infrared], axis=1).astype(np.float32)


@dataclass(frozen=True)
class Plot:
    """A kind of ground along a street, or behind what stands there.

    `kind` is CAR_PARK, HALL, BLOCK, HOUSE or SHED. `share` is its fraction of the attempts to place one. Each range is
    the least and greatest depth, frontage, height or distance from the road's edge.
    """

    kind: int
    share: float
    depth_m: Range
    front_m: Range
    height_m: Range
    setback_m: Range


@dataclass(frozen=True)
class Biome:
    """A part of the world."""

    palette: Palette
    plots: tuple[Plot, ...]  # along streets in town
    town_covers: tuple[float, ...]  # fractions of COVERS
    country_covers: tuple[float, ...]
    gabled: tuple[float, float]  # fractions of blocks and of houses with a gable; other roofs are flat
    spacing_m: float  # of street for each attempt to place a plot
    trees: float  # factor of tree density
    bare: float  # soil: 0 for patches, 1 for nearly all of the ground
    sidewalk: float  # pavement of the verges in town, from 0 to 1
    walled: float  # fraction of gardens with a wall
    hedged: float  # and with a hedge
    bank_m: float  # breadth of a river's banks
    dry_rivers: float  # fraction of rivers that carry no water
    deciduous: float = 1.0  # factor of the fraction of trees that turn
    grown: float = 0.0  # mean opacity of what grows on dirt roads

    def varied(self, rng: np.random.Generator) -> "Biome":
        """Return a biome with other colors, and with more or less of what grows and lies bare."""
        palette = {**self.palette, "water": np.concatenate([self.palette["water"], _WATERS])}
        return replace(
            self,
            palette={name: _varied(name, colors, rng) for name, colors in palette.items()},
            trees=self.trees * float(np.exp(rng.normal(-0.2, 0.5))),
            bare=float(np.clip(self.bare + rng.normal(0, 0.15), 0, 1)),
            sidewalk=float(np.clip(self.sidewalk + rng.normal(0, 0.25), 0, 1)),
            walled=float(np.clip(self.walled + rng.normal(0, 0.25), 0, 1)),
            hedged=float(np.clip(self.hedged + rng.normal(0, 0.25), 0, 1)),
            bank_m=self.bank_m * float(np.exp(rng.normal(0, 0.4))),
        )


def _varied(name: str, colors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return other colors of the same kind: the list brighter or darker, warmer or colder, and so each color.

    Roads vary most: some are darker than everything around them and others brighter.
    """
    own = _ROAD_SPREAD if name in ("surfaces", "dirt", "lot") else _SPREAD
    gain = rng.normal(0, 0.16) + rng.normal(0, 0.05, colors.shape[1]) + rng.normal(0, own, (len(colors), 1))
    return np.clip(colors * np.exp(gain), 0.05, 0.95).astype(np.float32)


def _palette(others: Palette, **colors: str) -> Palette:
    """Return a palette that differs from others in some colors."""
    own = {name: spectra(text, name in _LEAVES) for name, text in colors.items()}
    if "water" in own:
        own["water"][:, 3] *= _WATER_INFRARED
    return {**others, **own}


# Rivers carry anything from clear water to silt of the color of tracks.
_WATERS = _palette({}, water="22 28 26, 40 36 26, 52 42 30, 60 46 34, 64 55 42, 38 40 26, 30 42 42, 46 45 40")["water"]
# `covers` follow COVERS as far as a biome has them; `surfaces` are asphalt, concrete, gravel and dirt.
_TEMPERATE = _palette(
    {},
    covers="41 42 29, 50 50 30, 45 46 29, 25 28 18, 55 51 45, 37 42 25",
    crops="40 44 25, 34 40 22, 47 49 29, 61 56 39, 65 60 46, 53 44 34, 47 39 31, 57 50 40, 44 46 30, 54 53 33",
    gardens="43 46 29, 50 47 37, 57 55 50, 38 43 26, 46 48 33",
    house="60 38 31, 55 34 28, 48 35 30, 42 40 40, 36 36 38, 63 46 38",
    shed="50 47 43, 43 40 37, 62 61 59, 53 40 34",
    block="58 57 55, 52 41 36, 66 64 60, 45 45 46",
    hall="68 68 67, 60 62 64, 42 51 61, 55 53 50",
    surfaces="44 44 44.5, 60 59 56, 60 57 51, 56 47 37",
    soil="54 47 38",
    dry="53 50 37",
    water="22 28 26",
    bank="36 38 26",
    sand="64 58 47",
    paving="58 57 54",
    lot="47 47 47",
    crown="23 29 16",
    autumn="37 37 20",
)
# Hill towns of South Asia: concrete roofs and sheet metal, streets of dust and broken asphalt, terraces.
_HIMALAYAN = _palette(
    _TEMPERATE,
    covers="50 50 36, 46 52 30, 44 50 29, 26 33 18, 64 59 51, 40 47 27",
    crops="42 50 25, 38 47 24, 50 55 30, 58 55 40, 63 56 45, 35 43 22",
    gardens="44 49 29, 57 52 42, 66 61 53, 38 45 24, 61 58 52",
    house="66 64 60, 58 56 53, 72 69 64, 50 48 46, 62 57 51, 24 46 74, 55 32 27, 76 75 73, 30 52 68, 60 42 34",
    shed="26 47 72, 62 62 62, 52 40 34, 72 70 66, 40 38 36",
    block="68 66 62, 60 58 55, 74 71 66, 56 47 41",
    hall="72 72 71, 22 48 76, 56 60 66, 66 36 32",
    surfaces="58 57 55, 69 66 62, 69 64 57, 70 61 50",
    soil="68 60 49",
    dry="58 55 42",
    water="40 41 36, 27 31 27, 45 42 35",
    bank="56 54 48",
    paving="66 62 56",
    lot="62 59 55",
    crown="22 30 15",
)
# Suburbs in the desert: low houses of one color with the ground, dark streets and car parks, bright sidewalks.
_DESERT = _palette(
    _TEMPERATE,
    covers="60 51 42, 62 52 42, 63 52 42, 47 43 33, 65 55 46, 42 45 28",
    crops="62 52 42, 58 49 39, 67 57 46, 45 47 28",
    gardens="62 54 45, 42 46 28, 68 62 55, 57 50 42, 52 50 40",
    house="60 50 43, 66 57 49, 55 46 40, 72 67 60, 48 42 38, 80 78 75",
    shed="70 66 60, 58 53 48, 80 79 77",
    block="78 76 73, 66 60 54, 85 84 82, 55 50 46",
    hall="84 84 83, 74 73 71, 62 60 58",
    surfaces="33 33 34, 64 60 55, 60 54 47, 66 56 46",
    soil="64 54 44",
    dry="62 54 43",
    bank="56 49 39",
    paving="68 64 59",
    lot="32 32 33",
    crown="27 30 19",
    autumn="40 38 25",
)
# Towns on red earth: laterite streets, metal roofs, palms and bush.
_TROPICAL = _palette(
    _TEMPERATE,
    covers="46 45 28, 42 47 26, 40 46 25, 22 30 14, 60 46 35, 36 43 22",
    crops="38 46 22, 44 50 26, 55 42 31, 34 42 20, 60 52 34",
    gardens="40 45 25, 58 44 33, 63 51 41, 35 42 21, 50 45 31",
    house="66 67 68, 55 42 35, 52 34 28, 74 75 76, 47 45 44, 35 47 58, 58 52 46",
    shed="64 64 63, 52 39 32, 45 42 38",
    surfaces="46 44 43, 62 58 53, 60 50 42, 62 43 32",
    soil="62 44 33",
    dry="55 49 33",
    water="40 35 26, 25 28 22",
    bank="44 41 28",
    paving="61 52 43",
    lot="52 46 41",
    crown="20 29 13",
)
# The land around them: palms in rows and groves, paddies with bunds, brown rivers, tracks of laterite and mud.
_MONSOON = _palette(
    _TROPICAL,
    covers="44 44 27, 47 47 29, 43 46 26, 21 29 14, 58 46 35, 36 43 22, 37 40 23, 35 38 21, 42 47 28",
    paddies="36 44 22, 42 50 25, 50 54 30, 34 38 28, 44 42 32, 30 34 28, 56 51 36, 52 44 34",
    bund="46 44 29, 54 46 34",
    dirt="62 40 27, 58 36 24, 66 48 35, 55 45 34, 68 57 45, 61 51 39, 50 41 31",
    water="40 35 26, 50 40 28, 58 45 33, 34 36 24, 62 53 41",
    sand="67 59 47",
    palm="27 36 17",
)

# fmt: off
BIOMES = {
    "temperate": Biome(
        palette=_TEMPERATE,
        plots=(
            Plot(CAR_PARK, 0.006, (30, 40), (40, 60), (0, 0), (5, 8)),
            Plot(HALL, 0.012, (20, 32), (28, 50), (6, 9), (6, 11)),
            Plot(BLOCK, 0.055, (11, 14), (22, 40), (9, 15), (5, 9)),
            Plot(HOUSE, 0.657, (8, 10.5), (9, 15), (5, 8), (3, 8)),
            Plot(SHED, 0.27, (3, 6), (3, 8), (2.5, 3.5), (16, 34)),
        ),
        town_covers=(0.80, 0.0, 0.04, 0.02, 0.08, 0.06), country_covers=(0.03, 0.63, 0.17, 0.15, 0.02, 0.0),
        gabled=(0.67, 1.0), spacing_m=4.0, trees=1.0, bare=0.0, sidewalk=1.0, walled=0.1, hedged=0.35,
        bank_m=3.5, dry_rivers=0.0,
    ),
    "himalayan": Biome(
        palette=_HIMALAYAN,
        plots=(
            Plot(CAR_PARK, 0.004, (20, 40), (25, 60), (0, 0), (0, 3)),
            Plot(HALL, 0.02, (12, 25), (18, 40), (6, 10), (1, 6)),
            Plot(BLOCK, 0.09, (9, 14), (12, 24), (9, 16), (0.5, 3)),
            Plot(HOUSE, 0.47, (6.5, 12), (5.5, 12), (5, 14), (0.3, 2.5)),
            Plot(HOUSE, 0.30, (6, 11), (6, 12), (4, 12), (9, 40)),
            Plot(SHED, 0.116, (2.5, 6), (3, 8), (2.5, 3.5), (0.5, 30)),
        ),
        town_covers=(0.52, 0.06, 0.08, 0.02, 0.27, 0.05), country_covers=(0.04, 0.66, 0.12, 0.12, 0.06, 0.0),
        gabled=(0.1, 0.18), spacing_m=0.6, trees=0.6, bare=0.35, sidewalk=0.25, walled=0.4, hedged=0.1,
        bank_m=8.0, dry_rivers=0.25,
    ),
    "desert": Biome(
        palette=_DESERT,
        plots=(
            Plot(CAR_PARK, 0.02, (45, 95), (60, 140), (0, 0), (5, 10)),
            Plot(HALL, 0.02, (28, 60), (35, 90), (6, 10), (8, 40)),
            Plot(BLOCK, 0.06, (13, 20), (20, 40), (5, 10), (6, 14)),
            Plot(HOUSE, 0.75, (12, 18), (13, 22), (4, 6), (5, 9)),
            Plot(SHED, 0.15, (3, 6), (3, 8), (2.5, 3.5), (24, 38)),
        ),
        town_covers=(0.70, 0.0, 0.10, 0.0, 0.14, 0.06), country_covers=(0.05, 0.06, 0.74, 0.02, 0.13, 0.0),
        gabled=(0.2, 0.8), spacing_m=4.0, trees=0.45, bare=0.45, sidewalk=0.8, walled=0.7, hedged=0.15,
        bank_m=6.0, dry_rivers=0.7,
    ),
    "tropical": Biome(
        palette=_TROPICAL,
        plots=(
            Plot(CAR_PARK, 0.004, (20, 40), (30, 60), (0, 0), (4, 8)),
            Plot(HALL, 0.02, (12, 28), (20, 45), (5, 8), (5, 11)),
            Plot(BLOCK, 0.05, (9, 14), (14, 30), (4, 9), (3, 9)),
            Plot(HOUSE, 0.50, (6, 10), (7, 13), (3, 5), (2, 8)),
            Plot(HOUSE, 0.25, (5, 9), (6, 11), (3, 5), (14, 40)),
            Plot(SHED, 0.176, (2.5, 5), (3, 6), (2, 3), (4, 34)),
        ),
        town_covers=(0.60, 0.05, 0.10, 0.06, 0.15, 0.04), country_covers=(0.04, 0.36, 0.25, 0.32, 0.03, 0.0),
        gabled=(0.6, 0.85), spacing_m=2.6, trees=1.2, bare=0.3, sidewalk=0.1, walled=0.2, hedged=0.25,
        bank_m=5.0, dry_rivers=0.1,
    ),
    "monsoon": Biome(
        palette=_MONSOON,
        plots=(
            Plot(HALL, 0.01, (10, 20), (14, 30), (4, 7), (5, 11)),
            Plot(HOUSE, 0.45, (5, 9), (6, 12), (3, 5), (2, 10)),
            Plot(HOUSE, 0.30, (5, 8), (5, 10), (3, 5), (14, 50)),
            Plot(SHED, 0.24, (2.5, 5), (3, 6), (2, 3), (4, 40)),
        ),
        town_covers=(0.38, 0.0, 0.06, 0.06, 0.06, 0.0, 0.04, 0.40, 0.0),
        country_covers=(0.02, 0.14, 0.16, 0.18, 0.01, 0.0, 0.18, 0.13, 0.18),
        gabled=(0.6, 0.9), spacing_m=4.0, trees=1.3, bare=0.25, sidewalk=0.05, walled=0.05, hedged=0.2,
        bank_m=4.0, dry_rivers=0.05, deciduous=0.06, grown=0.35,
    ),
}
# fmt: on
# Chances of the biomes above where any may be: in towns, and in sparse land.
_CHANCES = ((0.23, 0.23, 0.23, 0.23, 0.08), (0.08, 0.04, 0.08, 0.05, 0.75))


def choose_biome(name: str, is_sparse: bool, rng: np.random.Generator) -> Biome:
    """Return the biome of a name, or of `any` one, varied; sparse land is mostly in the tropics."""
    if name == "any":
        return BIOMES[rng.choice(list(BIOMES), p=_CHANCES[is_sparse])].varied(rng)
    return BIOMES[name]
