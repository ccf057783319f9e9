"""Trainings shared over ranks, as the tests compare them with those of one process."""

import hashlib

import numpy as np
import torch

from training_core.distributed.data_parallel import DataParallel
from training_core.distributed.group import LostRankError
from training_core.distributed.pipeline_trainer import PipelineTrainer
from training_core.distributed.rank_protocol import follow, leading
from training_core.errors import Cancelled
from training_core.geodata.pixel_codes import IGNORE
from training_core.jobs import FineTune
from training_core.learning.trainer import Trainer
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import make_engine
from training_core.models.recompute import recompute_activations

SIDE_PX = 32
# LAMB limits the norm of all gradients, and classes have a loss of their own.
QUICK = [{"options": {"optimizer": "lamb", "frozen_stages": 2}, "classes": 3, "steps": 2}]


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


def train(group, steps, options, classes=1, precision="fp32", is_recomputing=False, first=0, resumed="", kept="",
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
    recipe = FineTune(batch_size=2, accumulation=2, chip_px=SIDE_PX, frozen_stages=0)
    strategy = DataParallel(group)
    trainer = Trainer(build_network(Architecture(encoder="resnet18")), make_engine("native", "fp32"), recipe, strategy)
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
