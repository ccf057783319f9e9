"""The CPU in place of a device that fails while it infers.

Scope: engines. Independent of images and files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from ..jobs import AUTO
from .engine_choice import choose_precision
from .engines import DEVICE_FAILURES, FP32, INT8, Engine, engines_for, make_engine
from .onnx_model import OnnxModel


class FallbackEngine:
    """The engine of a device, or the CPU's from the device's first failure on; all else is that of the present one.

    It has prepared the model on the device. `warn` is called with a message when the CPU takes over.
    """

    def __init__(
        self,
        engine: Engine[Any],
        prepared: Any,
        model: nn.Module | OnnxModel,
        is_exact: bool,
        warn: Callable[[str], None],
    ) -> None:
        self._engine, self._prepared = engine, prepared
        self._model, self._is_exact, self._warn = model, is_exact, warn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def probability(self, prepared: Any, images: Tensor) -> Tensor:
        """See `Engine.probability`; the model is the one that this engine has prepared."""
        if self._engine.is_device:
            try:
                return self._engine.probability(self._prepared, images)
            except DEVICE_FAILURES as error:
                self._warn(f"{error} The CPU computes from here on.")
                first = next(iter(engines_for(self._model)))
                precision = self._engine.precision if self._engine.precision in (FP32, INT8) else AUTO
                self._engine = make_engine(first, choose_precision(precision, lambda _: None), "the device has failed")
                self._prepared = self._engine.prepare_inference(self._model, self._is_exact)
        return self._engine.probability(self._prepared, images)

    def expect(self, prepared: Any, shape: tuple[int, ...]) -> None:
        """See `Engine.expect`."""
        self._engine.expect(self._prepared, shape)
