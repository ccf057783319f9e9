"""Relief displacement: buildings as an off-nadir camera sees them, with displaced roofs and visible walls.

Scope: shapes on a plane in meters. Independent of colors and pixels.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import shapely

from ..plan.land import Land
from ..plan.placing import moved


def stand(land: Land, lean: np.ndarray) -> gpd.GeoDataFrame:
    """Return roofs and visible walls in drawing order, those nearest to the camera last.

    Parameters
    ----------
    land : Land
        With buildings and roofs.
    lean : ndarray (2,), float64
        Displacement, east and north, of the top of something one meter high from its foot.

    Returns
    -------
    GeoDataFrame
        With building (a row of `land.buildings`), wall (whether it is one), down (the direction it faces in radians
        from east, NaN for flat roofs) and height_m (of its middle above ground).
    """
    height_m = land.buildings.height_m.to_numpy()
    roof_of = land.roofs.building.to_numpy()
    walls, wall_of, outward = _walls(land.buildings.geometry.to_numpy(), height_m, lean)
    building = np.concatenate([roof_of, wall_of])
    is_wall = np.repeat([False, True], [len(roof_of), len(wall_of)])
    shapes = gpd.GeoDataFrame(
        {
            "building": building,
            "wall": is_wall,
            "down": np.concatenate([land.roofs.down.to_numpy(), outward]),
            "height_m": height_m[building] * np.where(is_wall, 0.5, 1),
        },
        geometry=np.concatenate([moved(land.roofs.geometry.to_numpy(), height_m[roof_of, None] * lean), walls]),
    )
    middle = shapely.get_coordinates(shapely.centroid(land.buildings.geometry.to_numpy()))
    return shapes.iloc[np.lexsort((~is_wall, -(middle @ lean)[building]))].reset_index(drop=True)


def on_roofs(land: Land, lean: np.ndarray) -> gpd.GeoDataFrame:
    """Return what lies on roofs, displaced as the roofs are.

    Parameters
    ----------
    lean : ndarray (2,), float64
        Displacement, east and north, of the top of something one meter high from its foot.
    """
    clutter = land.clutter.geometry.to_numpy()
    thing, building = land.buildings.sindex.query(shapely.centroid(clutter), predicate="intersects")
    height_m = np.zeros(len(clutter))
    height_m[thing] = land.buildings.height_m.to_numpy()[building]
    return gpd.GeoDataFrame(geometry=moved(clutter, height_m[:, None] * lean))


def _walls(outlines: np.ndarray, height_m: np.ndarray, lean: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the walls that face the camera, the outline that each belongs to, and where it faces in radians."""
    rings = shapely.get_exterior_ring(outlines)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    starts = np.flatnonzero(ring[:-1] == ring[1:])
    foot, next_foot, owner = points[starts], points[starts + 1], ring[starts]
    along = (next_foot - foot) * np.where(shapely.is_ccw(rings), 1, -1)[owner, None]
    outward = np.column_stack([along[:, 1], -along[:, 0]])
    seen = outward @ lean < 0
    foot, next_foot, owner, outward = foot[seen], next_foot[seen], owner[seen], outward[seen]
    up = height_m[owner, None] * lean
    corners = np.stack([foot, next_foot, next_foot + up, foot + up], axis=1)
    return shapely.polygons(corners), owner, np.arctan2(outward[:, 1], outward[:, 0])
