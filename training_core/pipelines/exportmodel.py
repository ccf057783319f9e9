"""The job exportmodel: a model as an ONNX file. Knows both files; what is in them is others' to know."""

from __future__ import annotations

from typing import Any

from ..events import Reporter
from ..geodata.model_input import IMAGE
from ..geodata.tiling import round_up
from ..jobs import ExportModel
from ..models.model_file import load_model
from ..models.onnx_file import export_onnx, save_onnx
from ..system.outputs import Outputs


def run(job: ExportModel, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.ExportModel`."""
    with Outputs([job.model]) as outputs:
        path = outputs.stage(job.onnx)
        network, card = load_model(job.model)
        if card.scaling == IMAGE:
            reporter.warning(
                "RoadSeg scales values for this model by the mean and deviation of each image. Other programs are told "
                "those of the images that it learned from, and do well on images like these alone."
            )
        reporter.progress(0.2, "Tracing the network")
        model = export_onnx(network)
        reporter.check_cancelled()
        reporter.progress(0.8, "Writing the file")
        save_onnx(path, model, card, round_up(job.tile_px))
        size = path.stat().st_size
    return {"onnx": job.onnx, "megabytes": size / 1e6}
