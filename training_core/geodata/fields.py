"""Fields of a layer that are carried over to outputs: which ones, and under which names.

Scope: names of fields. Independent of their values and of formats.
"""

from __future__ import annotations

from collections.abc import Iterable

import geopandas

# The geometry column of a GeoPackage.
_GEOMETRY = "geom"


def carried_fields(layer: geopandas.GeoDataFrame, made: Iterable[str]) -> dict[str, str]:
    """Return the fields of a layer to carry over to an output, by their names there.

    A GeoPackage tells no upper from lower case, and has a column `geom` of its own: the second of `Name` and `name`
    becomes `name_2`, and a field `geom` becomes `geom_2`.

    Parameters
    ----------
    made : iterable of str
        Lower-case names of the output's own columns; fields with these names are left out.

    Returns
    -------
    dict of str to str
        The layer's names by the output's, in the order of the layer.
    """
    left_out = {*made, "fid"}
    own = [str(name) for name in layer.columns if name != layer.geometry.name and name.lower() not in left_out]
    taken = {*left_out, _GEOMETRY, *(name.lower() for name in own)}
    carried: dict[str, str] = {}
    used: set[str] = set()
    for name in own:
        free = name
        if name.lower() == _GEOMETRY or name.lower() in used:
            number = 2
            while f"{name}_{number}".lower() in taken:
                number += 1
            free = f"{name}_{number}"
        used.add(free.lower())
        taken.add(free.lower())
        carried[free] = name
    return carried
