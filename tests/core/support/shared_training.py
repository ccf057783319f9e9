"""Trainings shared over ranks, as the tests compare them with those of one process."""

import hashlib
import math

import numpy as np
import torch
from torch import distributed

from tests.core.support.labeled import labeled_image
from training_core.distributed.pipeline_plan import StageWay
from training_core.distributed.ranks import Ranks, follow, leading
from training_core.errors import Cancelled, LostRankError
from training_core.geodata.pixel_codes import IGNORE
from training_core.geodata.rasters import Band
from training_core.jobs import FineTune
from training_core.learning.chips import chips_of as numbers_of
from training_core.learning.setup import Way
from training_core.learning.trainer import Trainer
from training_core.learning.validation import held_out_blocks
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import make_engine
from training_core.models.recompute import recompute_activations

SIDE_PX = 32
BANDS = tuple(Band(name, 0.0, 1.0) for name in ("red", "green", "blue"))
RECIPE = FineTune(batch_size=2, accumulation=2, chip_px=SIDE_PX, frozen_stages=0)
# LAMB limits the norm of all gradients, and classes have a loss of their own.
QUICK = [{"options": {"optimizer": "lamb", "frozen_stages": 2}, "classes": 3}]


def chips_of(number, count, classes, side_px=SIDE_PX):
    """Return chips and labels of a step: a different share of each chip is labeled."""
    rng = np.random.default_rng(number)
    chips = rng.normal(size=(count, 3, side_px, side_px)).astype(np.float32)
    labels = (chips.mean(axis=1) > 0.2).astype(np.uint8)
    if classes > 1:
        labels[labels == 1] += rng.integers(0, classes, (labels == 1).sum()).astype(np.uint8)
    for chip, label in enumerate(labels):
        label[: side_px * (chip + 1) // (count + 2)] = IGNORE
    return chips, labels


def train(group, options, steps=2, classes=1, precision="fp32", is_recomputing=False, first=0, resumed="", kept="",
          balance=(), is_compressed=False):  # fmt: skip
    """Return the losses of some steps, digests of the state after them, and the seconds of its parts.

    The state is resumed from a file and kept in one where there are names for them. In a pipeline, whose stages have
    so many parts as `balance` says, only rank 0 has the state.
    """
    torch.manual_seed(1)
    recipe = FineTune(**{"batch_size": 2, "accumulation": 4, "chip_px": SIDE_PX, "frozen_stages": 0, **options})
    model = build_network(Architecture(encoder="resnet18", classes=classes))
    if is_recomputing:
        recompute_activations(model)
    engine = make_engine("native", precision)
    trainer, assigned = trainer_of_ranks(Ranks(group, len(balance), is_compressed), model, engine, recipe, balance)
    if resumed:
        trainer.load_state_dict(torch.load(resumed))
    losses = []
    for step in range(first, steps):
        chips, labels = chips_of(step, recipe.batch_size * recipe.accumulation, classes)
        losses.append(trainer.step(chips[assigned], labels[assigned], 0.01))
    state = on_rank_0(trainer, group, trainer.state_dict) if balance else trainer.state_dict()
    if kept and group.leads:
        torch.save(state, kept)
    digests = {
        name: hashlib.sha256(tensor.reshape(-1).view(torch.uint8).numpy()).digest() for name, tensor in state.items()
    }
    return losses, digests, trainer.stopwatch.timings_s


def trainer_of_ranks(ranks, model, engine, recipe, balance=()):
    """Return the trainer of a rank, or of its stage, and the chips of a step that it computes."""
    assigned = numbers_of(ranks.share.assigned(recipe.accumulation), recipe.batch_size)
    way, layout = (StageWay(), {"balance": balance}) if balance else (Way(), {})
    part, make_step = way.step(recipe, model, engine, layout, ranks.share)
    return ranks.trainer(part, engine, recipe, make_step), assigned


def stop_a_follower(group):
    """Return the steps that rank 0 has taken when rank 1, which is stopped, has ended; of that, what it says."""
    model, engine = build_network(Architecture(encoder="resnet18")), make_engine("native", "fp32")
    trainer, assigned = trainer_of_ranks(Ranks(group), model, engine, RECIPE)
    chips, labels = (each[assigned] for each in chips_of(0, 4, 1))
    if not group.leads:
        try:
            follow(trainer, group, (batch for batch in [(chips, labels)] * 9), [], lambda: True)
        except Cancelled as error:
            return str(error)
    steps = 0
    try:
        with leading(group):
            while steps < 9:
                trainer.step(chips, labels, 0.01)
                steps += 1
    except LostRankError:
        pass
    return steps


def on_rank_0(trainer, group, function):
    """Return what rank 0 has from a function, and on the other ranks, which follow it, nothing."""
    if group.leads:
        with leading(group):
            return function()
    follow(trainer, group, (batch for batch in ()), [])
    return {}


def train_many(group, cases):
    """Return what `train` does in each case."""
    torch.set_num_threads(1)
    return [train(group, **case) for case in cases]


def trainer_of(group, balance=()):
    torch.manual_seed(1)
    model, engine = build_network(Architecture(encoder="resnet18")), make_engine("native", "fp32")
    if balance:
        return trainer_of_ranks(Ranks(group, len(balance)), model, engine, RECIPE, balance)[0], model
    return Trainer(model, engine, RECIPE), model


def step_with(trainer, number):
    chips, labels = chips_of(number, 4, 1)
    return trainer.step(chips, labels, 0.01)


def probability(trainer):
    """Return how the weights so far score."""
    random = np.random.default_rng(3)
    values, validation = random.normal(size=(3, 64, 64)).astype(np.float32), random.integers(0, 2, (64, 64))
    image = labeled_image(
        np.full((64, 64), IGNORE, np.uint8), values, validation=validation.astype(np.uint8), bands=BANDS
    )
    return trainer.validate(held_out_blocks([image], 0), 1, math.inf).confusion.counts()


def show_stage(group, balance):
    """Return the names of a stage's weights in memory, those of all stages on rank 0, and what validation computes."""
    trainer, model = trainer_of(group, balance)
    step_with(trainer, 0)
    kept = [name for name, tensor in model.state_dict().items() if not tensor.is_meta]
    return kept, on_rank_0(trainer, group, trainer.weights), probability(trainer), step_with(trainer, 1)


def show_alone(group):
    trainer, model = trainer_of(group)
    step_with(trainer, 0)
    return list(model.state_dict()), trainer.weights(), probability(trainer), step_with(trainer, 1)


def lose_last(group, balance):
    """Return the name of the error on each rank when the last one leaves, and whether it has a whole model."""
    trainer, _ = trainer_of(group, balance)
    step_with(trainer, 0)
    if group.rank == group.size - 1:
        distributed.destroy_process_group()
        return "left", True
    try:
        step_with(trainer, 1)
    except Exception as error:
        return type(error).__name__, trainer.is_whole
    return "no error", True
