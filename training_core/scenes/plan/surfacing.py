"""Widths and surfaces of a scene's streets.

Scope: road classes and the mood of a place: some pave everything with concrete, others leave most as dirt.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np

from .sketch import Sketch

WIDTHS_M = {
    "motorway": (8.0, 11.0),
    "motorway_link": (5.0, 6.5),
    "primary": (10.5, 13.0),
    "secondary": (7.5, 9.0),
    "residential": (5.0, 6.5),
    "track": (2.6, 3.6),
}
SURFACES = ("concrete", "asphalt", "gravel", "dirt")
_MAIN = ("primary", "secondary")
_MOTORWAY = ("motorway", "motorway_link")
# Shares of the surfaces above on main, on residential streets and on tracks.
MOODS = {
    "varied": ((0.0, 1.0, 0.0, 0.0), (0.2, 0.7, 0.1, 0.0), (0.0, 0.0, 0.4, 0.6)),
    "asphalt": ((0.0, 1.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.4, 0.3, 0.3)),
    "concrete": ((0.6, 0.4, 0.0, 0.0), (0.85, 0.1, 0.05, 0.0), (0.5, 0.0, 0.3, 0.2)),
    "unpaved": ((0.0, 0.5, 0.2, 0.3), (0.03, 0.07, 0.3, 0.6), (0.0, 0.0, 0.2, 0.8)),
}


def random_mood(rng: np.random.Generator) -> str:
    """Return one of the MOODS."""
    return str(rng.choice(list(MOODS), p=[0.4, 0.25, 0.15, 0.2]))


def as_streets(sketch: Sketch, mood: str, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return a sketch's streets as a table with class, width and surface.

    Parameters
    ----------
    mood : str
        One of MOODS.
    rng : Generator
        Draws widths and surfaces.

    Returns
    -------
    GeoDataFrame
        With road_class, width_m, surface, bridge, overpass and street (the row in the sketch).
    """
    streets = sketch.streets
    road_class = np.array([street.road_class for street in streets])
    low_m, high_m = np.array([{**WIDTHS_M, **sketch.widths_m}[name] for name in road_class]).T
    shares = np.array([_shares(name, mood) for name in road_class]).cumsum(axis=1)
    surface = (rng.random((len(streets), 1)) >= shares[:, :-1]).sum(axis=1)
    drawn_m, own_m = rng.uniform(low_m, high_m), np.array([street.width_m for street in streets])
    overpass = np.array([street.overpass for street in streets])
    columns = {
        "road_class": road_class,
        "width_m": np.round(np.where(np.isnan(own_m), drawn_m, own_m), 1),
        "surface": np.array(SURFACES, dtype=object)[surface],
        "bridge": overpass,
        "overpass": overpass,
        "street": np.arange(len(streets)),
    }
    return gpd.GeoDataFrame(columns, geometry=[street.line for street in streets])


def _shares(road_class: str, mood: str) -> tuple[float, ...]:
    """Return the shares of the surfaces; motorways are all alike, else their ramps would not match them."""
    main, residential, track = MOODS[mood]
    if road_class in _MOTORWAY:
        return (1.0, 0.0, 0.0, 0.0) if mood == "concrete" else (0.0, 1.0, 0.0, 0.0)
    return main if road_class in _MAIN else track if road_class == "track" else residential
