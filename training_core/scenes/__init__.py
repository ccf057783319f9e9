"""Procedural aerial scenes with their true roads, for demonstrations and tests.

`layouts` draws a `sketch` of a street plan, with `blocks` and `interchange`; `streets` makes roads of it, with
`surfacing`, `crossings`, `railway` and `road_table`. `pavement` plans their surfaces, `land` what lies beside them in
one of the `regions`; `painting` turns all into an image, with `rail_painting`, `view` for its frame, `noise` for
texture and `trees` on top; `scene` puts the parts together. None of them knows of networks, labels or files.
"""

from .regions import REGIONS
from .scene import SCENE_CRS, TILE_PX, Scene, ScenePlan, make_scene, paint_tiles, paint_window, plan_scene

__all__ = [
    "REGIONS",
    "SCENE_CRS",
    "TILE_PX",
    "Scene",
    "ScenePlan",
    "make_scene",
    "paint_tiles",
    "paint_window",
    "plan_scene",
]
