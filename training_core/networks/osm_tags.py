"""Roads as OpenStreetMap would tag them.

Knows keys and how their values are written; knows nothing of lines or files.
"""

from __future__ import annotations

from typing import Optional

import numpy as np

# What is a road of no known class: https://wiki.openstreetmap.org/wiki/Tag:highway%3Droad.
HIGHWAY, SOURCE = "road", "RoadSeg"
# What else the key may say of a road or way: https://wiki.openstreetmap.org/wiki/Key:highway.
_LINKED = ("motorway", "trunk", "primary", "secondary", "tertiary")
HIGHWAYS = frozenset(
    (*_LINKED, *(f"{name}_link" for name in _LINKED), "unclassified", "residential", "living_street", "service",
     "pedestrian", "track", "bus_guideway", "escape", "raceway", "busway", "footway", "bridleway", "steps", "corridor",
     "path", "cycleway", HIGHWAY)
)  # fmt: skip


def osm_tags(width_m: np.ndarray, classes: Optional[np.ndarray] = None) -> dict[str, np.ndarray]:
    """Return columns of tags for roads of which no more is known than a width, and perhaps a class.

    The speed that is usual on a road is no tag: `maxspeed` is what the law allows there.

    Parameters
    ----------
    width_m : ndarray (m,), float64
        Not a number where it is not known.
    classes : ndarray (m,), object, optional
        What the class of each road is called, or None. Only what OpenStreetMap calls a class, too, becomes a tag.

    Returns
    -------
    dict of str to ndarray (m,), object
        `highway`, `width` in meters to a decimeter, as text or None, and `source`.
    """
    width = [None if np.isnan(each) else f"{each:.1f}".removesuffix(".0") for each in width_m]
    names = [str(each).strip().lower() for each in ([None] * len(width_m) if classes is None else classes)]
    return {
        "highway": np.array([name if name in HIGHWAYS else HIGHWAY for name in names], dtype=object),
        "width": np.array(width, dtype=object),
        "source": np.full(len(width_m), SOURCE, dtype=object),
    }
