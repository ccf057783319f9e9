"""Procedural aerial scenes with their true roads, for demonstrations and tests.

`layouts` draws a `sketch` of a street plan, with `blocks` and `interchange`; `streets` makes roads of it, with
`surfacing`, `crossings`, `railway` and `road_table`. `pavement` plans their surfaces, `land` what lies beside them in
one of the `regions`, with the houses' `yards`, both by `placing`; `painting` turns all into an image, with
`rail_painting`, `yard_painting`, `view` for its frame and day, `noise`
for texture, `spectrum` for colors beyond those one sees, `standing` for buildings seen aslant and `trees` on top;
`sensor` is the camera that takes it, and `scene` puts the parts together. None of them knows of networks, labels or
files.
"""

from .regions import REGIONS
from .scene import (
    SCENE_CRS,
    TILE_PX,
    Scene,
    ScenePlan,
    make_scene,
    paint_scene,
    paint_tiles,
    paint_window,
    plan_scene,
)
from .sensor import BANDS, Camera
from .view import Look

__all__ = [
    "BANDS",
    "REGIONS",
    "SCENE_CRS",
    "TILE_PX",
    "Camera",
    "Look",
    "Scene",
    "ScenePlan",
    "make_scene",
    "paint_scene",
    "paint_tiles",
    "paint_window",
    "plan_scene",
]
