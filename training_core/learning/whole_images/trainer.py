"""Training step on whole images: their gradients tile by tile, then the optimizer, as in any other step.

Scope: see `learning.trainer`. The choice of images is in `samples`, the computation in `gradients`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import nn

from ...jobs import StepOptions
from ...models.engines import NativeEngine
from ..strategy import SINGLE_PROCESS, SingleProcess
from ..trainer import Trainer
from .gradients import add_image_gradients
from .samples import ImageSample
from .tiles import TilePlan


class ImageTrainer(Trainer):
    """A model with its optimizer, trained on whole images with frozen batch normalization.

    Parameters
    ----------
    tick : callable
        Called after each tile with the fraction of the image that is done; may raise to cancel.
    """

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        plan: TilePlan,
        strategy: SingleProcess = SINGLE_PROCESS,
        encoder_rate: float = 1.0,
        tick: Callable[[float], None] = lambda _: None,
    ) -> None:
        super().__init__(model, engine, recipe, strategy, encoder_rate)
        self._plan, self._tick = plan, tick

    @property
    def samples_per_step(self) -> int:
        """Images of a step."""
        return self._recipe.accumulation

    def _compute_gradients(self, images: Sequence[ImageSample], labeled_px: Sequence[int]) -> float:
        """Leave the gradients of a step in the parameters, and return its loss."""
        total = 0.0
        for sample, labeled in zip(images, labeled_px):
            fraction = labeled / max(1, sum(labeled_px))
            total += add_image_gradients(
                self._model, self._engine, sample, self._plan, fraction, self.strategy, self._tick
            )
        self.record_time("backward")
        self.strategy.finish()
        return total
