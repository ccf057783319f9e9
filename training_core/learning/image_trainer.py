"""Training step on whole images: their gradients tile by tile, then the optimizer, as in any other step.

Scope: see `trainer`. Which images a step learns from is in `whole_images`, and how in `image_gradients`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import nn

from ..distributed.group import ALONE, Group
from ..jobs import StepOptions
from ..models.engines import FP32, NativeEngine
from .image_gradients import add_image_gradients
from .image_tiles import TilePlan
from .trainer import Trainer
from .whole_images import ImageSample


class ImageTrainer(Trainer):
    """A model with its optimizer, trained on whole images with frozen batch normalization.

    Parameters
    ----------
    model, engine, recipe, group
        See Trainer.
    plan : TilePlan
        How images are divided.
    exchange_precision, encoder_rate
        See Trainer.
    tick : callable
        Called after each tile of a single process with the share of the image that is done; may raise to cancel.
        Several ranks finish a step together.
    """

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        plan: TilePlan,
        group: Group = ALONE,
        exchange_precision: str = FP32,
        tick: Callable[[float], None] = lambda _: None,
        encoder_rate: float = 1.0,
    ) -> None:
        super().__init__(model, engine, recipe, group, exchange_precision=exchange_precision, encoder_rate=encoder_rate)
        self._plan, self._tick = plan, tick if group.size == 1 else lambda _: None

    @property
    def samples_per_step(self) -> int:
        """Images of a step."""
        return self._recipe.accumulation

    def _compute_gradients(self, images: Sequence[ImageSample], labeled_px: Sequence[int]) -> float:
        """Leave the gradients of a step in the parameters, and return its loss; both are the same on all ranks."""
        total = 0.0
        for sample, labeled in zip(images, labeled_px):
            share = labeled / max(1, sum(labeled_px))
            total += add_image_gradients(
                self._model, self._engine, sample, self._plan, self._recipe.centerline_weight, share, self.group,
                self._exchange, self._tick,
            )  # fmt: skip
        self.record_time("backward")
        if self._exchange:
            self._exchange.finish()
        return total
