"""Weight interpolation: a model between the base model and the fine-tuned one, which forgets less of other ground.

A few minutes of fine-tuning learn the drawn ground by heart. Weights between both models score as well there, and
better elsewhere: Wortsman et al., "Robust fine-tuning of zero-shot models", CVPR 2022; benchmarks/README.md has what it
brings on ground apart.

Scope: two sets of weights, and which shares are tried. Independent of how a model is scored.
"""

from __future__ import annotations

import torch

# Shares of the fine-tuned weights, the least first: the first that scores about as well as the fine-tuned model is
# taken. Lower shares are better still on other ground, but cost F1 on the drawn one.
SHARES = (0.7, 0.85)
# What it may cost of the F1 in validation.
TOLERANCE = 0.01


def interpolated(
    base: dict[str, torch.Tensor], tuned: dict[str, torch.Tensor], share: float
) -> dict[str, torch.Tensor]:
    """Return the weights that are a share of the way from a base model's to a fine-tuned one's.

    Parameters
    ----------
    base, tuned : dict of Tensor of any shape (...), float32 or int64
        By name, the same names and shapes.
    share : float
        0 for the base model, 1 for the fine-tuned one.

    Returns
    -------
    dict of Tensor of any shape (...), float32 or int64
        Counters, which are whole numbers, are those of the fine-tuned one.
    """
    return {
        name: base[name].lerp(values, share) if values.is_floating_point() else values for name, values in tuned.items()
    }
