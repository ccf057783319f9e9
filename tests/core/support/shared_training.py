"""Trainings shared over ranks, as the tests compare them with those of one process."""

import hashlib

import numpy as np
import torch
from torch import distributed

from training_core.distributed.data_parallel import DataParallel
from training_core.distributed.group import LostRankError
from training_core.distributed.pipeline_trainer import PipelineTrainer
from training_core.distributed.rank_protocol import follow, leading
from training_core.errors import Cancelled
from training_core.geodata.pixel_codes import IGNORE
from training_core.geodata.rasters import Band
from training_core.jobs import FineTune
from training_core.learning.trainer import Trainer
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
    if balance:
        trainer = PipelineTrainer(model, engine, recipe, group, balance)
    else:
        trainer = Trainer(model, engine, recipe, DataParallel(group, is_compressed))
    if resumed:
        trainer.load_state_dict(torch.load(resumed))
    losses = []
    for step in range(first, steps):
        chips, labels = chips_of(step, recipe.batch_size * recipe.accumulation, classes)
        losses.append(trainer.step(chips[trainer.assigned_chips], labels[trainer.assigned_chips], 0.01))
    state = on_rank_0(trainer, group, trainer.state_dict) if balance else trainer.state_dict()
    if kept and group.leads:
        torch.save(state, kept)
    digests = {
        name: hashlib.sha256(tensor.reshape(-1).view(torch.uint8).numpy()).digest() for name, tensor in state.items()
    }
    return losses, digests, trainer.timings_s


def stop_a_follower(group):
    """Return the steps that rank 0 has taken when rank 1, which is stopped, has ended; of that, what it says."""
    strategy = DataParallel(group)
    trainer = Trainer(build_network(Architecture(encoder="resnet18")), make_engine("native", "fp32"), RECIPE, strategy)
    chips, labels = (each[trainer.assigned_chips] for each in chips_of(0, 4, 1))
    if not group.leads:
        try:
            follow(trainer, group, (batch for batch in [(chips, labels)] * 9), [], lambda: True)
        except Cancelled as error:
            return str(error)
    steps = 0
    try:
        with leading(group):
            while steps < 9:
                strategy.announce_step(0.01)
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
        return PipelineTrainer(model, engine, RECIPE, group, balance), model
    return Trainer(model, engine, RECIPE), model


def step_with(trainer, number):
    chips, labels = chips_of(number, 4, 1)
    return trainer.step(chips[trainer.assigned_chips], labels[trainer.assigned_chips], 0.01)


def probability(trainer):
    """Return the probability of road with the weights so far."""
    image = torch.from_numpy(np.random.default_rng(3).normal(size=(1, 3, 64, 64)).astype(np.float32))
    with trainer.validating(BANDS) as predictor:
        return predictor.engine.probability(predictor.model, image)


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
    """Return the name of the error on each rank when the last one leaves, and whether the trainer is intact."""
    trainer, _ = trainer_of(group, balance)
    step_with(trainer, 0)
    if group.rank == group.size - 1:
        distributed.destroy_process_group()
        return "left", True
    try:
        step_with(trainer, 1)
    except Exception as error:
        return type(error).__name__, trainer.is_intact
    return "no error", True
