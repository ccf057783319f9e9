"""OpenStreetMap tags of extracted roads: highway, width and source.

Scope: keys and how their values are written. Independent of lines and files.
"""

from __future__ import annotations

from typing import Optional

import numpy as np

# A road of unknown class: https://wiki.openstreetmap.org/wiki/Tag:highway%3Droad.
HIGHWAY, SOURCE = "road", "RoadSeg"
# Further values of the key for roads and ways: https://wiki.openstreetmap.org/wiki/Key:highway.
_LINKED = ("motorway", "trunk", "primary", "secondary", "tertiary")
HIGHWAYS = frozenset(
    (*_LINKED, *(f"{name}_link" for name in _LINKED), "unclassified", "residential", "living_street", "service",
     "pedestrian", "track", "bus_guideway", "escape", "raceway", "busway", "footway", "bridleway", "steps", "corridor",
     "path", "cycleway", HIGHWAY)
)  # fmt: skip


def osm_tags(width_m: np.ndarray, classes: Optional[np.ndarray] = None) -> dict[str, np.ndarray]:
    """Return columns of tags for roads of a known width and perhaps a known class.

    The usual speed on a road is no tag: `maxspeed` is the legal limit.

    Parameters
    ----------
    width_m : ndarray (m,), float64
        NaN where unknown.
    classes : ndarray (m,), object, optional
        Name of each road's class, or None. Only values of OpenStreetMap's key `highway` become a tag.

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
