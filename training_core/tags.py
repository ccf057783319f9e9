"""Roads as OpenStreetMap would tag them.

Knows keys and how their values are written; knows nothing of lines or files.
"""

from __future__ import annotations

import numpy as np

# What is a road of no known class: https://wiki.openstreetmap.org/wiki/Tag:highway%3Droad.
HIGHWAY, SOURCE = "road", "RoadSeg"


def osm_tags(width_m: np.ndarray) -> dict[str, np.ndarray]:
    """Return columns of tags for roads of which no more is known than a width.

    Parameters
    ----------
    width_m : ndarray (m,), float64
        Not a number where it is not known.

    Returns
    -------
    dict of str to ndarray (m,), object
        `highway`, `width` in meters to a decimeter, as text or None, and `source`.
    """
    width = [None if np.isnan(each) else f"{each:.1f}".removesuffix(".0") for each in width_m]
    return {
        "highway": np.full(len(width_m), HIGHWAY, dtype=object),
        "width": np.array(width, dtype=object),
        "source": np.full(len(width_m), SOURCE, dtype=object),
    }
