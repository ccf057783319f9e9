"""The ranks of a fine-tune, as one of them sees them: what they agree on, resume from, share and measure.

Scope: the door between a pipeline and this package. The parts are in modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from typing import Any, cast

from torch import Tensor, nn

from ..jobs import StepOptions
from ..learning.step import MakeStep, Stopwatch
from ..learning.trainer import Trainer
from ..learning.training_loop import Batches, Training
from ..models.engines import NativeEngine
from .data_parallel import DataParallel, PipelineParallel, RankStep
from .group import Group
from .parallel_record import Meter
from .rank_protocol import agreed, follow, leading, require_alike


class Ranks:
    """The ranks of a group, at least two, that train together; with several `stages`, in pipelines of so many ranks.

    Compressed, gradients travel in BF16.
    """

    def __init__(self, group: Group, stages: int = 1, is_compressed: bool = False) -> None:
        self.group, self.leads = group, group.leads
        self._stages, self._is_compressed = stages, is_compressed

    @cached_property
    def share(self) -> DataParallel:
        """The share of this rank; all ranks ask for it together."""
        if self._stages > 1:
            return PipelineParallel(self.group, self._stages, self._is_compressed)
        return DataParallel(self.group, self._is_compressed)

    @property
    def has_chips(self) -> bool:
        """Whether this rank computes chips: of a pipeline, only the first stage does."""
        return not isinstance(self.share, PipelineParallel) or self.share.stages.leads

    def agreed(self) -> AbstractContextManager[None]:
        """See `rank_protocol.agreed`."""
        return agreed(self.group)

    def require_alike(self, facts: Mapping[str, Any]) -> None:
        """See `rank_protocol.require_alike`."""
        require_alike(self.group, facts)

    def trainer(
        self, model: nn.Module, engine: NativeEngine, recipe: StepOptions, make_step: MakeStep, **options: Any
    ) -> Trainer:
        """Return a trainer whose steps all ranks take together."""
        share = self.share
        return Trainer(
            model, engine, recipe, lambda *made: RankStep(make_step(*made), share),
            stopwatch=Stopwatch(lambda: share.waited_s), **options,
        )  # fmt: skip

    def stage_trainer(self, model: nn.Module, engine: NativeEngine, recipe: StepOptions, balance: list[int]) -> Trainer:
        """Return the trainer of this rank's stage of a U-Net; see `stage_step.cut_stage`."""
        from .stage_step import StageStep, cut_stage  # loads 190 MB of torch

        share = cast(PipelineParallel, self.share)
        stage, cut = cut_stage(model, engine, recipe, share, balance)
        return self.trainer(stage, engine, recipe, partial(StageStep, share=share, cut=cut))

    def resume(self, trainer: Trainer, step: int, state: dict[str, Tensor]) -> int:
        """Return rank 0's step, whose state, (...), any dtype, the other ranks resume from; 0 if they begin."""
        step = self.group.broadcast_document(step)
        if step:
            state = self.group.broadcast_tensors(state)
            if not self.leads:
                trainer.load_state_dict(state)
        return step

    @contextmanager
    def leading(self, training: Training) -> Iterator[Meter]:
        """Lead the other ranks through a training; provide what measures it, to be read afterwards."""
        with leading(self.group):
            yield Meter(training, self.share)

    def follow(self, training: Training, batches: Batches, is_stopped: Callable[[], bool]) -> None:
        """Follow rank 0 through a training; see `rank_protocol.follow`."""
        meter = Meter(training, self.share)
        follow(training.trainer, self.group, batches, training.blocks, is_stopped)
        meter.read()
