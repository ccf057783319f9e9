"""The job makescene: a procedural aerial scene as a GeoTIFF, and its true roads as a vector layer.

Scope: files. Independent of the contents of the scene, which `scenes` decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.enums import ColorInterp, Resampling
from rasterio.windows import Window

from ..events import Reporter
from ..geodata.geotiff import check_geotiff, named_errors
from ..geodata.vector_output import check_vector_output, write_layers
from ..jobs import MakeScene
from ..scenes.picture import BANDS
from ..scenes.scene import SCENE_CRS, TILE_PX, ScenePlan, paint_tiles, plan_scene
from ..system.outputs import Outputs

_PLANNED = 0.1  # fraction of the work
_MEANINGS = {
    "rgb": (ColorInterp.red, ColorInterp.green, ColorInterp.blue),
    "pan": (ColorInterp.gray,),
    # A GeoTIFF has no color interpretation for near infrared: the band's description names it.
    "rgbn": (ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.undefined),
}


def run(job: MakeScene, reporter: Reporter) -> dict[str, Any]:
    """Run the job; see `jobs.MakeScene`."""
    check_vector_output(job.roads)
    with Outputs() as outputs:
        raster_path, roads_path = outputs.stage(job.raster), outputs.stage(job.roads)
        reporter.progress(0, "Planning the scene")
        plan = plan_scene(
            job.size_px, job.seed, job.resolution_m, job.layout, job.region, job.bands, int(job.bit_depth)
        )
        _write_image(plan, raster_path, reporter.part(_PLANNED, 1))
        write_layers(roads_path, {"roads": plan.roads}, {"roads": "LineString"})
    if plan.roads.empty:
        reporter.warning("No road runs through this scene; choose another seed or a larger size.")
    return {
        "raster": job.raster,
        "roads": job.roads,
        "count": len(plan.roads),
        "length_m": float(plan.roads.length.sum()),
    }


def _write_image(plan: ScenePlan, path: Path, reporter: Reporter) -> None:
    side_px, camera = plan.size_px, plan.scenery.camera
    names = BANDS[camera.bands]
    kind = {"photometric": "rgb", "alpha": "no"} if len(names) > 1 else {"photometric": "minisblack"}
    profile = {"width": side_px, "height": side_px, "count": len(names), "dtype": camera.dtype, **kind}
    storage = {"tiled": True, "blockxsize": TILE_PX, "blockysize": TILE_PX, "compress": "deflate", "predictor": 2}
    place = {"crs": SCENE_CRS, "transform": plan.transform}
    pixel_sum = 0
    with named_errors(path):
        with rasterio.open(path, "w", driver="GTiff", **profile, **storage, **place, bigtiff="if_safer") as dataset:
            dataset.colorinterp = _MEANINGS[camera.bands]
            dataset.descriptions = names
            for (column, row, width, height), pixels in paint_tiles(plan):
                reporter.check_cancelled()
                dataset.write(pixels, window=Window(column, row, width, height))
                pixel_sum += int(pixels.sum(dtype=np.int64))
                painted = row * side_px + (column + width) * height
                reporter.progress(painted / side_px**2, "Painting")
        levels = [2**power for power in range(1, 12) if side_px >> power >= 256]
        with rasterio.open(path, "r+") as dataset:
            dataset.build_overviews(levels, Resampling.average)
    check_geotiff(path, pixel_sum, levels)
