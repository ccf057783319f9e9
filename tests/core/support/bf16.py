"""Marks of tests that compute in BF16, which a processor without a unit for it emulates, slowly."""

import pytest

from training_core.models.engines import BF16
from training_core.system import processor

needs_bf16 = pytest.mark.skipif(not processor.has_bf16_unit(), reason="this processor has no BF16 unit")
slow_if_emulated = () if processor.has_bf16_unit() else pytest.mark.slow
BF16_SLOW_IF_EMULATED = pytest.param(BF16, marks=slow_if_emulated)
