"""What the ranks of a pipeline do in its tests, beside training."""

import numpy as np
import torch
from torch import distributed

from tests.core.support.shared_training import SIDE_PX, chips_of, on_rank_0
from training_core.distributed.pipeline_trainer import PipelineTrainer
from training_core.geodata.rasters import Band
from training_core.jobs import FineTune
from training_core.learning.trainer import Trainer
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import make_engine

BANDS = tuple(Band(name, 0.0, 1.0) for name in ("red", "green", "blue"))
RECIPE = FineTune(batch_size=2, accumulation=2, chip_px=SIDE_PX, frozen_stages=0)


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
