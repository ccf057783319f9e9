"""Colors of kinds of operations and of phases, the same in all charts of a profile.

Scope: names of `profiling` and hex codes. Independent of how they are drawn.
"""

from __future__ import annotations

from ..profiling import profile
from .colors import BLUE, BROWN, FAINT, GRAY, GREEN, INK, ORANGE, PALE, PURPLE, SKY, VERMILION, YELLOW

KIND_COLORS = {
    profile.CONVOLUTION: BLUE,
    profile.NORMALIZATION: ORANGE,
    profile.ACTIVATION: GREEN,
    profile.POOLING: SKY,
    profile.UPSAMPLING: PURPLE,
    profile.ADDITION: YELLOW,
    profile.LOSS: VERMILION,
    profile.OPTIMIZER: BROWN,
    profile.COPY: INK,
    profile.PYTHON: GRAY,
    profile.OTHER: PALE,
}
PHASE_COLORS = {
    profile.WAITING: YELLOW,
    profile.FORWARD: SKY,
    profile.BACKWARD: ORANGE,
    profile.OPTIMIZER_STEP: BROWN,
    profile.VALIDATION: GREEN,
    profile.CONVERSION: PURPLE,
}


def kind_color(kind: str) -> str:
    """Return the color of a kind of operation."""
    return KIND_COLORS.get(kind, PALE)


def phase_color(phase: str) -> str:
    """Return the color of a phase."""
    return PHASE_COLORS.get(phase, FAINT)
