"""Regions of the world that scenes are set in: buildings and their density, vegetation, and colors.

Scope: tables of sizes, shares and colors. Independent of places and pixels. The figures are typical ones, read off
aerial pictures, so that scenes resemble real ones in what misleads a model: roofs as gray as roads, bare ground as
bright as gravel, car parks larger than streets are wide.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

COVERS = ("garden", "field", "meadow", "forest", "yard", "park")
CAR_PARK, HALL, BLOCK, HOUSE, SHED = range(5)

Range = tuple[float, float]
# Deviation of the logarithm of a color's brightness where a region's colors are varied.
_SPREAD, _ROAD_SPREAD = 0.08, 0.28


def _colors(*colors: tuple[float, float, float]) -> np.ndarray:
    """Return (N, 3) sRGB colors from 0 to 1."""
    return np.array(colors, dtype=np.float32)


@dataclass(frozen=True)
class Plot:
    """A kind of ground along a street, or behind what stands there.

    Parameters
    ----------
    kind : int
        CAR_PARK, HALL, BLOCK, HOUSE or SHED.
    share : float
        Of the attempts to place one.
    depth_m, front_m, height_m, setback_m : tuple of float
        Least and greatest depth, frontage, height, and distance from the road's edge.
    """

    kind: int
    share: float
    depth_m: Range
    front_m: Range
    height_m: Range
    setback_m: Range


@dataclass(frozen=True)
class Palette:
    """The colors of things, each an (N, 3) array of which one is drawn for each thing.

    `covers` follows COVERS; `surfaces` are asphalt, concrete, gravel and dirt.
    """

    covers: np.ndarray
    crops: np.ndarray
    gardens: np.ndarray
    house: np.ndarray
    shed: np.ndarray
    block: np.ndarray
    hall: np.ndarray
    surfaces: np.ndarray
    fence: np.ndarray
    soil: np.ndarray
    dry: np.ndarray
    rut: np.ndarray
    water: np.ndarray
    bank: np.ndarray
    paving: np.ndarray
    lot: np.ndarray
    crown: np.ndarray
    autumn: np.ndarray

    def varied(self, rng: np.random.Generator) -> "Palette":
        """Return other colors of the same kinds: each list brighter or darker, warmer or colder, and so each color.

        Roads vary most: some are darker than all around them, others brighter.
        """

        def vary(name: str) -> np.ndarray:
            colors = getattr(self, name)
            own = _ROAD_SPREAD if name in ("surfaces", "lot") else _SPREAD
            gain = np.exp(
                rng.normal(0, 0.16) + rng.normal(0, 0.05, colors.shape[1]) + rng.normal(0, own, (len(colors), 1))
            )
            return np.clip(colors * gain, 0.05, 0.95).astype(np.float32)

        return Palette(**{each.name: vary(each.name) for each in fields(self)})


@dataclass(frozen=True)
class Region:
    """A part of the world.

    Parameters
    ----------
    plots : tuple of Plot
        What stands along streets in town.
    town_covers, country_covers : tuple of float
        Shares of COVERS.
    gabled : tuple of float
        Shares of blocks and of houses with a gable; other roofs are flat.
    clutter : float
        Mean number of tanks, stairs and sheets on a flat roof.
    spacing_m : float
        Meters of street for each attempt to place a plot.
    trees : float
        Factor of how densely trees stand.
    bare : float
        How much of the ground is bare soil, 0 for patches to 1 for nearly all.
    sidewalk : float
        How well the verges in town are paved, from 0 to 1.
    walled, hedged : float
        Shares of the gardens with a wall, and with a hedge; others have a fence.
    bank_m : float
        Breadth of a river's banks.
    dry_rivers : float
        Share of the rivers that carry no water.
    """

    palette: Palette
    plots: tuple[Plot, ...]
    town_covers: tuple[float, ...]
    country_covers: tuple[float, ...]
    gabled: tuple[float, float]
    clutter: float
    spacing_m: float
    trees: float
    bare: float
    sidewalk: float
    walled: float
    hedged: float
    bank_m: float
    dry_rivers: float

    def varied(self, rng: np.random.Generator) -> "Region":
        """Return a region with other colors, and with more or less of what grows and lies bare."""
        return replace(
            self,
            palette=self.palette.varied(rng),
            trees=self.trees * float(np.exp(rng.normal(-0.2, 0.5))),
            bare=float(np.clip(self.bare + rng.normal(0, 0.15), 0, 1)),
            sidewalk=float(np.clip(self.sidewalk + rng.normal(0, 0.25), 0, 1)),
            walled=float(np.clip(self.walled + rng.normal(0, 0.25), 0, 1)),
            hedged=float(np.clip(self.hedged + rng.normal(0, 0.25), 0, 1)),
            bank_m=self.bank_m * float(np.exp(rng.normal(0, 0.4))),
        )


_TEMPERATE = Palette(
    covers=_colors(
        (0.41, 0.42, 0.29), (0.50, 0.50, 0.30), (0.45, 0.46, 0.29), (0.25, 0.28, 0.18), (0.55, 0.51, 0.45),
        (0.37, 0.42, 0.25),
    ),
    crops=_colors(
        (0.40, 0.44, 0.25), (0.34, 0.40, 0.22), (0.47, 0.49, 0.29), (0.61, 0.56, 0.39), (0.65, 0.60, 0.46),
        (0.53, 0.44, 0.34), (0.47, 0.39, 0.31), (0.57, 0.50, 0.40), (0.44, 0.46, 0.30), (0.54, 0.53, 0.33),
    ),
    gardens=_colors((0.43, 0.46, 0.29), (0.50, 0.47, 0.37), (0.57, 0.55, 0.50), (0.38, 0.43, 0.26), (0.46, 0.48, 0.33)),
    house=_colors(
        (0.60, 0.38, 0.31), (0.55, 0.34, 0.28), (0.48, 0.35, 0.30), (0.42, 0.40, 0.40), (0.36, 0.36, 0.38),
        (0.63, 0.46, 0.38),
    ),
    shed=_colors((0.50, 0.47, 0.43), (0.43, 0.40, 0.37), (0.62, 0.61, 0.59), (0.53, 0.40, 0.34)),
    block=_colors((0.58, 0.57, 0.55), (0.52, 0.41, 0.36), (0.66, 0.64, 0.60), (0.45, 0.45, 0.46)),
    hall=_colors((0.68, 0.68, 0.67), (0.60, 0.62, 0.64), (0.42, 0.51, 0.61), (0.55, 0.53, 0.50)),
    surfaces=_colors((0.44, 0.44, 0.445), (0.60, 0.59, 0.56), (0.60, 0.57, 0.51), (0.56, 0.47, 0.37)),
    fence=_colors((0.26, 0.28, 0.20)),
    soil=_colors((0.54, 0.47, 0.38)),
    dry=_colors((0.53, 0.50, 0.37)),
    rut=_colors((0.45, 0.44, 0.29)),
    water=_colors((0.22, 0.28, 0.26)),
    bank=_colors((0.36, 0.38, 0.26)),
    paving=_colors((0.58, 0.57, 0.54)),
    lot=_colors((0.47, 0.47, 0.47)),
    crown=_colors((0.23, 0.29, 0.16)),
    autumn=_colors((0.37, 0.37, 0.20)),
)  # fmt: skip
# Hill towns of South Asia: concrete roofs and sheet metal, streets of dust and broken asphalt, terraces.
_HIMALAYAN = replace(
    _TEMPERATE,
    covers=_colors(
        (0.50, 0.50, 0.36), (0.46, 0.52, 0.30), (0.44, 0.50, 0.29), (0.26, 0.33, 0.18), (0.64, 0.59, 0.51),
        (0.40, 0.47, 0.27),
    ),
    crops=_colors(
        (0.42, 0.50, 0.25), (0.38, 0.47, 0.24), (0.50, 0.55, 0.30), (0.58, 0.55, 0.40), (0.63, 0.56, 0.45),
        (0.35, 0.43, 0.22),
    ),
    gardens=_colors((0.44, 0.49, 0.29), (0.57, 0.52, 0.42), (0.66, 0.61, 0.53), (0.38, 0.45, 0.24), (0.61, 0.58, 0.52)),
    house=_colors(
        (0.66, 0.64, 0.60), (0.58, 0.56, 0.53), (0.72, 0.69, 0.64), (0.50, 0.48, 0.46), (0.62, 0.57, 0.51),
        (0.24, 0.46, 0.74), (0.55, 0.32, 0.27), (0.76, 0.75, 0.73), (0.30, 0.52, 0.68), (0.60, 0.42, 0.34),
    ),
    shed=_colors((0.26, 0.47, 0.72), (0.62, 0.62, 0.62), (0.52, 0.40, 0.34), (0.72, 0.70, 0.66), (0.40, 0.38, 0.36)),
    block=_colors((0.68, 0.66, 0.62), (0.60, 0.58, 0.55), (0.74, 0.71, 0.66), (0.56, 0.47, 0.41)),
    hall=_colors((0.72, 0.72, 0.71), (0.22, 0.48, 0.76), (0.56, 0.60, 0.66), (0.66, 0.36, 0.32)),
    surfaces=_colors((0.58, 0.57, 0.55), (0.69, 0.66, 0.62), (0.69, 0.64, 0.57), (0.70, 0.61, 0.50)),
    fence=_colors((0.48, 0.44, 0.38)),
    soil=_colors((0.68, 0.60, 0.49)),
    dry=_colors((0.58, 0.55, 0.42)),
    water=_colors((0.40, 0.41, 0.36), (0.27, 0.31, 0.27), (0.45, 0.42, 0.35)),
    bank=_colors((0.56, 0.54, 0.48)),
    paving=_colors((0.66, 0.62, 0.56)),
    lot=_colors((0.62, 0.59, 0.55)),
    crown=_colors((0.22, 0.30, 0.15)),
)  # fmt: skip
# Suburbs in the desert: low houses of one color with the ground, dark streets and car parks, bright sidewalks.
_DESERT = replace(
    _TEMPERATE,
    covers=_colors(
        (0.60, 0.51, 0.42), (0.62, 0.52, 0.42), (0.63, 0.52, 0.42), (0.47, 0.43, 0.33), (0.65, 0.55, 0.46),
        (0.42, 0.45, 0.28),
    ),
    crops=_colors((0.62, 0.52, 0.42), (0.58, 0.49, 0.39), (0.67, 0.57, 0.46), (0.45, 0.47, 0.28)),
    gardens=_colors((0.62, 0.54, 0.45), (0.42, 0.46, 0.28), (0.68, 0.62, 0.55), (0.57, 0.50, 0.42), (0.52, 0.50, 0.40)),
    house=_colors(
        (0.60, 0.50, 0.43), (0.66, 0.57, 0.49), (0.55, 0.46, 0.40), (0.72, 0.67, 0.60), (0.48, 0.42, 0.38),
        (0.80, 0.78, 0.75),
    ),
    shed=_colors((0.70, 0.66, 0.60), (0.58, 0.53, 0.48), (0.80, 0.79, 0.77)),
    block=_colors((0.78, 0.76, 0.73), (0.66, 0.60, 0.54), (0.85, 0.84, 0.82), (0.55, 0.50, 0.46)),
    hall=_colors((0.84, 0.84, 0.83), (0.74, 0.73, 0.71), (0.62, 0.60, 0.58)),
    surfaces=_colors((0.33, 0.33, 0.34), (0.64, 0.60, 0.55), (0.60, 0.54, 0.47), (0.66, 0.56, 0.46)),
    fence=_colors((0.68, 0.62, 0.55)),
    soil=_colors((0.64, 0.54, 0.44)),
    dry=_colors((0.62, 0.54, 0.43)),
    rut=_colors((0.60, 0.52, 0.42)),
    bank=_colors((0.56, 0.49, 0.39)),
    paving=_colors((0.68, 0.64, 0.59)),
    lot=_colors((0.32, 0.32, 0.33)),
    crown=_colors((0.27, 0.30, 0.19)),
    autumn=_colors((0.40, 0.38, 0.25)),
)  # fmt: skip
# Towns on red earth: laterite streets, metal roofs, palms and bush.
_TROPICAL = replace(
    _TEMPERATE,
    covers=_colors(
        (0.46, 0.45, 0.28), (0.42, 0.47, 0.26), (0.40, 0.46, 0.25), (0.22, 0.30, 0.14), (0.60, 0.46, 0.35),
        (0.36, 0.43, 0.22),
    ),
    crops=_colors((0.38, 0.46, 0.22), (0.44, 0.50, 0.26), (0.55, 0.42, 0.31), (0.34, 0.42, 0.20), (0.60, 0.52, 0.34)),
    gardens=_colors((0.40, 0.45, 0.25), (0.58, 0.44, 0.33), (0.63, 0.51, 0.41), (0.35, 0.42, 0.21), (0.50, 0.45, 0.31)),
    house=_colors(
        (0.66, 0.67, 0.68), (0.55, 0.42, 0.35), (0.52, 0.34, 0.28), (0.74, 0.75, 0.76), (0.47, 0.45, 0.44),
        (0.35, 0.47, 0.58), (0.58, 0.52, 0.46),
    ),
    shed=_colors((0.64, 0.64, 0.63), (0.52, 0.39, 0.32), (0.45, 0.42, 0.38)),
    surfaces=_colors((0.46, 0.44, 0.43), (0.62, 0.58, 0.53), (0.60, 0.50, 0.42), (0.62, 0.43, 0.32)),
    fence=_colors((0.42, 0.38, 0.30)),
    soil=_colors((0.62, 0.44, 0.33)),
    dry=_colors((0.55, 0.49, 0.33)),
    water=_colors((0.40, 0.35, 0.26), (0.25, 0.28, 0.22)),
    bank=_colors((0.44, 0.41, 0.28)),
    paving=_colors((0.61, 0.52, 0.43)),
    lot=_colors((0.52, 0.46, 0.41)),
    crown=_colors((0.20, 0.29, 0.13)),
)  # fmt: skip

_ORDINARY = {
    "plots": (
        Plot(CAR_PARK, 0.006, (30, 40), (40, 60), (0, 0), (5, 8)),
        Plot(HALL, 0.012, (20, 32), (28, 50), (6, 9), (6, 11)),
        Plot(BLOCK, 0.055, (11, 14), (22, 40), (9, 15), (5, 9)),
        Plot(HOUSE, 0.657, (8, 10.5), (9, 15), (5, 8), (3, 8)),
        Plot(SHED, 0.27, (3, 6), (3, 8), (2.5, 3.5), (16, 34)),
    ),
    "town_covers": (0.80, 0.0, 0.04, 0.02, 0.08, 0.06),
    "country_covers": (0.03, 0.63, 0.17, 0.15, 0.02, 0.0),
    "gabled": (0.67, 1.0),
    "clutter": 0.5,
    "spacing_m": 4.0,
    "trees": 1.0,
    "bare": 0.0,
    "sidewalk": 1.0,
    "walled": 0.1,
    "hedged": 0.35,
    "bank_m": 3.5,
    "dry_rivers": 0.0,
}  # fmt: skip
_CROWDED: dict[str, Any] = {
    "plots": (
        Plot(CAR_PARK, 0.004, (20, 40), (25, 60), (0, 0), (0, 3)),
        Plot(HALL, 0.02, (12, 25), (18, 40), (6, 10), (1, 6)),
        Plot(BLOCK, 0.09, (9, 14), (12, 24), (9, 16), (0.5, 3)),
        Plot(HOUSE, 0.47, (6.5, 12), (5.5, 12), (5, 14), (0.3, 2.5)),
        Plot(HOUSE, 0.30, (6, 11), (6, 12), (4, 12), (9, 40)),
        Plot(SHED, 0.116, (2.5, 6), (3, 8), (2.5, 3.5), (0.5, 30)),
    ),
    "town_covers": (0.52, 0.06, 0.08, 0.02, 0.27, 0.05),
    "country_covers": (0.04, 0.66, 0.12, 0.12, 0.06, 0.0),
    "gabled": (0.1, 0.18),
    "clutter": 2.5,
    "spacing_m": 0.6,
    "trees": 0.6,
    "bare": 0.35,
    "sidewalk": 0.25,
    "walled": 0.4,
    "hedged": 0.1,
    "bank_m": 8.0,
    "dry_rivers": 0.25,
}
_SPRAWLING = {
    "plots": (
        Plot(CAR_PARK, 0.02, (45, 95), (60, 140), (0, 0), (5, 10)),
        Plot(HALL, 0.02, (28, 60), (35, 90), (6, 10), (8, 40)),
        Plot(BLOCK, 0.06, (13, 20), (20, 40), (5, 10), (6, 14)),
        Plot(HOUSE, 0.75, (12, 18), (13, 22), (4, 6), (5, 9)),
        Plot(SHED, 0.15, (3, 6), (3, 8), (2.5, 3.5), (24, 38)),
    ),
    "town_covers": (0.70, 0.0, 0.10, 0.0, 0.14, 0.06),
    "country_covers": (0.05, 0.06, 0.74, 0.02, 0.13, 0.0),
    "gabled": (0.2, 0.8),
    "clutter": 2.0,
    "spacing_m": 4.0,
    "trees": 0.45,
    "bare": 0.45,
    "sidewalk": 0.8,
    "walled": 0.7,
    "hedged": 0.15,
    "bank_m": 6.0,
    "dry_rivers": 0.7,
}
_SCATTERED = {
    "plots": (
        Plot(CAR_PARK, 0.004, (20, 40), (30, 60), (0, 0), (4, 8)),
        Plot(HALL, 0.02, (12, 28), (20, 45), (5, 8), (5, 11)),
        Plot(BLOCK, 0.05, (9, 14), (14, 30), (4, 9), (3, 9)),
        Plot(HOUSE, 0.50, (6, 10), (7, 13), (3, 5), (2, 8)),
        Plot(HOUSE, 0.25, (5, 9), (6, 11), (3, 5), (14, 40)),
        Plot(SHED, 0.176, (2.5, 5), (3, 6), (2, 3), (4, 34)),
    ),
    "town_covers": (0.60, 0.05, 0.10, 0.06, 0.15, 0.04),
    "country_covers": (0.04, 0.36, 0.25, 0.32, 0.03, 0.0),
    "gabled": (0.6, 0.85),
    "clutter": 0.6,
    "spacing_m": 2.6,
    "trees": 1.2,
    "bare": 0.3,
    "sidewalk": 0.1,
    "walled": 0.2,
    "hedged": 0.25,
    "bank_m": 5.0,
    "dry_rivers": 0.1,
}

REGIONS = {
    "temperate": Region(palette=_TEMPERATE, **_ORDINARY),
    "himalayan": Region(palette=_HIMALAYAN, **_CROWDED),
    "desert": Region(palette=_DESERT, **_SPRAWLING),
    "tropical": Region(palette=_TROPICAL, **_SCATTERED),
}


def choose_region(name: str, rng: np.random.Generator) -> Region:
    """Return the region of a name, or of `any` one, varied."""
    if name == "any":
        return REGIONS[rng.choice(list(REGIONS))].varied(rng)
    return REGIONS[name]
