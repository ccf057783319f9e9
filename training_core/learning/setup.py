"""Setup of a fine-tune: the model that it starts from, and the way in which it computes steps: the plain one, on chips.

Scope: all that is settled before the first step. Independent of files and of other processes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

import torch
from torch import nn

from ..geodata.road_classes import RoadClass
from ..geodata.tiling import round_up
from ..jobs import FineTune
from ..jobs.recipe import USUAL_CHIP_PX
from ..labels.labeled_images import ImagePart, LabeledImage
from ..labels.training_images import ShuffleBuffer, TrainingImages
from ..models.architectures import Architecture, adapt_first_layer, adapt_head, build_network, build_uninitialized
from ..models.base_model import BaseModel
from ..models.engines import NativeEngine
from ..models.loading import load_into
from ..models.model_card import ModelCard
from ..models.model_file import weights_sha256
from ..segmentation.inference import Predictor
from .chips import ChipSampler, ChipSource, chips_of, prefetch, source_of
from .plan import MemoryPlan, Plan, Room, fit_into_memory
from .share import Share
from .step import ChipStep, MakeStep
from .training_loop import Batches


@dataclass(frozen=True)
class StartModel:
    """The model that a fine-tune starts from; without a base model, its halo is 0 and its digest empty.

    The network has random weights where the base model has none. `base_weights`, (...), float32 or int64, are given if
    all weights are the base model's. `knows_roads` is whether it knows all bands and classes; `card` is the base
    model's.
    """

    network: nn.Module
    architecture: Architecture
    classes: tuple[RoadClass, ...]
    base_halo_px: int
    base_sha256: str
    base_weights: dict[str, torch.Tensor]
    knows_roads: bool
    card: Optional[ModelCard] = None


@dataclass(frozen=True)
class Setup:
    """All that a fine-tune works with: images, the model that it starts from, and its identity, see `identify`."""

    job: FineTune
    training_images: TrainingImages
    start: StartModel
    chip_px: int
    plan: Plan
    identity: dict[str, Any]

    @property
    def images(self) -> list[LabeledImage]:
        """The images in memory, of whose labels some are held out."""
        return self.training_images.in_memory


def start_model(
    base: Optional[BaseModel], known: Architecture, names: tuple[str, ...], drawn: tuple[RoadClass, ...], source: str
) -> StartModel:
    """Return the model to train, with the weights of the base model if there is one.

    Its bands are those of the images (`names`). Without `drawn` classes, it keeps those of the `known` architecture,
    the base model's or the one to begin with. Messages name the base model's file, `source`.
    """
    classes = drawn or (base.classes if base else ())
    architecture = dataclasses.replace(known, in_channels=len(names), classes=1 + len(classes))
    network = build_network(architecture)
    if base is None:
        return StartModel(network, architecture, classes, 0, "", {}, False)
    weights = adapt_first_layer(base.weights, architecture.first_layer, base.band_names, names)
    old, new = (tuple(road_class.name for road_class in among) for among in (base.classes, classes))
    load_into(network, adapt_head(weights, network.state_dict(), old, new), source)
    is_whole = base.card is not None and set(classes) <= set(base.classes)
    return StartModel(
        network=network,
        architecture=architecture,
        classes=classes,
        base_halo_px=base.halo_px,
        base_sha256=weights_sha256(base.weights),
        base_weights={name: values.clone() for name, values in network.state_dict().items()} if is_whole else {},
        knows_roads=is_whole and base.band_names == names,
        card=base.card,
    )


def chip_side_px(wanted_px: int, images: list[LabeledImage]) -> int:
    """Return the side of a chip, by default the usual one: a multiple of the stride, within the largest image."""
    largest_px = max(max(image.known.shape) for image in images)
    return round_up(min(wanted_px or USUAL_CHIP_PX, largest_px))


def predictor_of(setup: Setup, weights: dict[str, torch.Tensor]) -> Predictor:
    """Return a model ready to infer as precisely as it was trained, with weights (...), any dtype, by name."""
    model = build_uninitialized(setup.start.architecture)
    model.load_state_dict(weights)
    engine = setup.plan.engine.after_training()
    return Predictor(engine.prepare_inference(model), engine, setup.images[0].bands)


class Way:
    """A way to compute the steps of a fine-tune: here on chips, as a whole model."""

    def plan(
        self, job: FineTune, images: list[LabeledImage], architecture: Architecture, engine: NativeEngine, room: Room
    ) -> MemoryPlan:
        """Return how a training fits into memory; raises JobError and ResourceError if it cannot be computed so."""
        return fit_into_memory(architecture, engine, job, chip_side_px(job.chip_px, images), room)

    def step(
        self, job: FineTune, model: nn.Module, engine: NativeEngine, layout: dict[str, Any], share: Share
    ) -> tuple[nn.Module, MakeStep]:
        """Return the model that this process trains, for the layout that was planned, and what makes its steps."""
        return model, partial(ChipStep, share=share)

    def batches(self, job: FineTune, images: TrainingImages, share: Share, first: int) -> Batches:
        """Yield the samples and labels that this process computes of each step, from step `first` on."""
        return chip_batches(job, images, share, first)


def chip_batches(job: FineTune, images: TrainingImages, share: Share, first: int, has_images: bool = True) -> Batches:
    """Yield the chips and labels of each step, which a thread draws ahead; labels alone without the images."""

    def read(part: ImagePart) -> Optional[ChipSource]:
        image = images.read(part)
        return None if image is None else source_of(image)

    others = ShuffleBuffer(images.others, read, job.seed) if images.others else None
    sampler = ChipSampler(images.in_memory, chip_side_px(job.chip_px, images.in_memory), job.seed, others)
    assigned = chips_of(share.assigned(job.accumulation), job.batch_size)
    return prefetch(sampler, job.batch_size * job.accumulation, first, assigned=assigned, has_images=has_images)
