"""The way to train on whole images.

Scope: the door to this package; see `learning.setup.Way`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from ..jobs import FineTune
from ..labels.labeled_images import LabeledImage
from ..labels.training_images import TrainingImages
from ..learning.plan import MemoryPlan, Room
from ..learning.share import Share
from ..learning.step import MakeStep
from ..learning.training_loop import Batches
from ..models.architectures import Architecture
from ..models.engines import NativeEngine
from .samples import ImageSampler, draw_images
from .step import ImageStep
from .tiles import TilePlan, plan_tiles


class ImageWay:
    """Steps on whole images, tile by tile; for `tick` see `ImageStep`."""

    def __init__(self, tick: Callable[[float], None]) -> None:
        self._tick = tick

    def plan(
        self, job: FineTune, images: list[LabeledImage], architecture: Architecture, engine: NativeEngine, room: Room
    ) -> MemoryPlan:
        """See Way."""
        return plan_tiles(architecture, engine, job, [image.known.shape for image in images], room)

    def step(
        self, job: FineTune, model: nn.Module, engine: NativeEngine, layout: dict[str, Any], share: Share
    ) -> tuple[nn.Module, MakeStep]:
        """See Way."""
        return model, partial(ImageStep, share=share, tiles=TilePlan(**layout), tick=self._tick)

    def batches(self, job: FineTune, images: TrainingImages, share: Share, first: int) -> Batches:
        """See Way; every process has the images, since it computes some of their tiles."""
        return draw_images(ImageSampler(images.in_memory, job.seed), job.accumulation, first)
