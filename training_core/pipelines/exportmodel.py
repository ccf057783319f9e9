"""The job exportmodel: a model as an ONNX file, and its STAC item.

Scope: from one file to the other. Independent of what they contain.
"""

from __future__ import annotations

from typing import Any

from ..events import Reporter
from ..geodata.rasters import IMAGE
from ..geodata.tiling import round_up
from ..jobs import ExportModel
from ..models.loading import load_network
from ..models.onnx_file import export_onnx, save_onnx
from ..models.stac_item import stac_item
from ..system.outputs import Outputs, write_json


def run(job: ExportModel, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.ExportModel`."""
    with Outputs([job.model]) as outputs:
        paths, staged = outputs.stage_fields(job, "onnx", "stac_item")
        unet, card = load_network(job.model)
        if card.scaling == IMAGE:
            reporter.warning(
                "RoadSeg normalizes values for this model by the mean and deviation of each image. Other programs get "
                "the mean and deviation of the training images, and do well only on similar images."
            )
        if card.classes:
            reporter.warning(
                "The plugin Deepness cannot run this model. Deepness takes the largest of several channels, but the "
                "channels of road classes count only where the first channel, road, is above the threshold."
            )
        reporter.progress(0.2, "Tracing the model")
        model = export_onnx(unet)
        reporter.step(0.8, "Writing the file")
        save_onnx(staged["onnx"], model, card, round_up(job.tile_px))
        if job.stac_item:
            write_json(staged["stac_item"], stac_item(card, staged["onnx"], job.onnx, job.stac_item))
        size = staged["onnx"].stat().st_size
    return {**paths, "megabytes": size / 1e6}
