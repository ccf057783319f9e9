"""The way to train in the stages of pipelines.

Scope: see `learning.setup.Way`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from torch import nn

from ..jobs import FineTune
from ..labels.labeled_images import LabeledImage
from ..labels.training_images import TrainingImages
from ..learning.plan import MemoryPlan, Room
from ..learning.setup import ChipWay, chip_side_px
from ..learning.share import Share
from ..learning.step import MakeStep
from ..learning.training_loop import Batches
from ..models.architectures import Architecture
from ..models.engines import NativeEngine
from .data_parallel import PipelineParallel
from .pipeline_plan import plan_pipeline


class StageWay:
    """Steps on chips, each rank with a stage of the model; its share is one of `PipelineParallel`."""

    def plan(
        self, job: FineTune, images: list[LabeledImage], architecture: Architecture, engine: NativeEngine, room: Room
    ) -> MemoryPlan:
        """See Way."""
        return plan_pipeline(architecture, engine, job, chip_side_px(job.chip_px, images), room)

    def step(
        self, job: FineTune, model: nn.Module, engine: NativeEngine, layout: dict[str, Any], share: Share
    ) -> tuple[nn.Module, MakeStep]:
        """See Way."""
        from .stage_step import StageStep, cut_stage  # loads 190 MB of torch

        share = cast(PipelineParallel, share)
        stage, cut = cut_stage(model, engine, job, share, layout["balance"])
        return stage, partial(StageStep, share=share, cut=cut)

    def batches(self, job: FineTune, images: TrainingImages, share: Share, first: int) -> Batches:
        """See Way; only the first stage computes chips, the others have their labels alone."""
        return ChipWay().batches(job, images, share, first, cast(PipelineParallel, share).stages.leads)
