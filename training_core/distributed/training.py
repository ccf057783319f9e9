"""A fine-tune by one process or several ranks: how it starts or resumes, and how it ends.

Scope: the trainer for the plan, the checkpoint on all ranks, stops and lost ranks. Independent of images and labels.
"""

from __future__ import annotations

from typing import Optional

from ..errors import Cancelled
from ..events import Reporter
from ..learning.checkpoint import Checkpoint, CheckpointWriter, checkpoint_path, take_over
from ..learning.history import History
from ..learning.setup import Setup, batches_of
from ..learning.strategy import SINGLE_PROCESS
from ..learning.trainer import Trainer
from ..learning.training_loop import Training
from ..learning.whole_images.trainer import ImageTrainer
from ..models.engines import BF16
from ..models.recompute import recompute_activations
from ..system import shutdown
from .data_parallel import DataParallel
from .group import Group, LostRankError
from .rank_protocol import agreed, leading


def start_training(setup: Setup, former: Optional[Checkpoint], reporter: Reporter, group: Group) -> Training:
    """Return the training that is to begin, or to be resumed from rank 0's checkpoint."""
    if setup.plan.memory.is_recomputing:
        recompute_activations(setup.start.network)
    images, job, engine, trainer = setup.images, setup.job, setup.plan.engine, _make_trainer(setup, reporter, group)
    with agreed(group):
        if former:
            take_over(trainer, former, checkpoint_path(job.model))
    step = group.broadcast_document(former and former.history.step)
    if step is not None and group.size > 1:  # rank 0 alone has the checkpoint
        state = group.broadcast_tensors(former.state if former else {})
        if not group.leads:
            trainer.load_state_dict(state)
    if former is None:
        return Training(trainer, images, job, reporter, History(step=step or 0))
    text = f"Resumed at step {former.history.step}, after {former.history.elapsed_s / 60:.1f} min of training."
    former.history.notes.append(text)
    reporter.log(f"{text} Engine {engine.name} in {engine.precision}, as before.")
    return Training(trainer, images, job, reporter, former.history, former.best)


def _make_trainer(setup: Setup, reporter: Reporter, group: Group) -> Trainer:
    """Return the trainer of the way in which a step is computed: whole images, the stages of a pipeline, or batches."""
    model, job, engine = setup.start.network, setup.job, setup.plan.engine
    is_compressed = job.exchange_precision == BF16
    strategy = DataParallel(group, is_compressed) if group.size > 1 else SINGLE_PROCESS
    if setup.plan.tiles:
        # Several ranks finish a step together.
        tick = (lambda _: None) if group.size > 1 else lambda _: reporter.check_cancelled()
        return ImageTrainer(model, engine, job, setup.plan.tiles, strategy, job.encoder_rate, tick)
    if setup.plan.balance:
        from .pipeline_trainer import PipelineTrainer  # loads 190 MB of torch

        return PipelineTrainer(model, engine, job, group, setup.plan.balance, is_compressed)
    return Trainer(model, engine, job, strategy, job.encoder_rate)


def train(setup: Setup, training: Training, reporter: Reporter, group: Group) -> bool:
    """Train to the end, writing checkpoints; return whether the user stopped it before."""
    writer = CheckpointWriter(checkpoint_path(setup.job.model), setup.identity, setup.plan.engine, reporter)
    with shutdown.critical_section(), writer, leading(group):  # so that a stopped run can be resumed
        try:
            training.run(batches_of(setup, training), writer.keep)
            return False
        except LostRankError:
            if training.history.step and training.trainer.is_intact:
                writer.write(training)
            raise
        except Cancelled:
            if not training.history.step:
                raise
            writer.write(training)
            if not setup.job.keep_best:
                raise Cancelled(
                    "Stopped. No model was written. The same job with resume continues from here."
                ) from None
        if training.best_so_far is None:
            training.validate()
        training.history.notes.append(f"Stopped at step {training.history.step}. This is the best model so far.")
        return True
