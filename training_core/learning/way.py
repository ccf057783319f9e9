"""Ways to compute a training: what each asks of memory, its step and its batches. The plain way, on chips.

Scope: what a pipeline chooses once. The parts are in modules of their own.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Optional, Protocol

from torch import nn

from ..jobs import FineTune
from ..labels.labeled_images import ImagePart, LabeledImage
from ..labels.training_images import ShuffleBuffer, TrainingImages
from ..models.architectures import Architecture
from ..models.engines import NativeEngine
from .chips import ChipSampler, ChipSource, chips_of, prefetch, source_of
from .measuring import fit_into_memory
from .plan import MemoryPlan, Room
from .setup import chip_side_px
from .share import Share
from .step import ChipStep, MakeStep
from .training_loop import Batches


class Way(Protocol):
    """A way to compute the steps of a fine-tune."""

    def plan(
        self, job: FineTune, images: list[LabeledImage], architecture: Architecture, engine: NativeEngine, room: Room
    ) -> MemoryPlan:
        """Return how a training fits into memory; raises JobError and ResourceError if it cannot be computed so."""

    def step(
        self, job: FineTune, model: nn.Module, engine: NativeEngine, layout: dict[str, Any], share: Share
    ) -> tuple[nn.Module, MakeStep]:
        """Return the model that this process trains, for the layout that was planned, and what makes its steps."""

    def batches(self, job: FineTune, images: TrainingImages, share: Share, first: int) -> Batches:
        """Yield the samples and labels that this process computes of each step, from step `first` on."""


class ChipWay:
    """Steps on chips. Other ways that work on chips take its batches."""

    def plan(
        self, job: FineTune, images: list[LabeledImage], architecture: Architecture, engine: NativeEngine, room: Room
    ) -> MemoryPlan:
        """See Way."""
        return fit_into_memory(architecture, engine, job, chip_side_px(job.chip_px, images), room)

    def step(
        self, job: FineTune, model: nn.Module, engine: NativeEngine, layout: dict[str, Any], share: Share
    ) -> tuple[nn.Module, MakeStep]:
        """See Way."""
        return model, partial(ChipStep, share=share)

    def batches(
        self, job: FineTune, images: TrainingImages, share: Share, first: int, has_images: bool = True
    ) -> Batches:
        """See Way; without the images of chips, there are labels alone. A thread draws them ahead."""

        def read(part: ImagePart) -> Optional[ChipSource]:
            image = images.read(part)
            return None if image is None else source_of(image)

        others = ShuffleBuffer(images.others, read, job.seed) if images.others else None
        sampler = ChipSampler(images.in_memory, chip_side_px(job.chip_px, images.in_memory), job.seed, others)
        assigned = chips_of(share.assigned(job.accumulation), job.batch_size)
        return prefetch(sampler, job.batch_size * job.accumulation, first, assigned=assigned, has_images=has_images)
