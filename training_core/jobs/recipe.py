"""How a network learns: the options of a fine-tune that are not about images, labels or files."""

from __future__ import annotations

from dataclasses import dataclass

from .option import Job, option

OPTIMIZERS = ("adamw", "sgd", "lamb", "lars")
# What learning rates are stated for; a larger batch learns in proportion faster (Goyal et al., 2017).
REFERENCE_BATCH = 4


@dataclass(frozen=True)
class RecipeOptions(Job):
    """How a network learns."""

    minutes: float = option(
        5.0,
        "Time budget",
        "How long to train. More time gives a better model, up to a point.",
        unit="min",
        minimum=0.05,
        maximum=10000,
    )
    steps: int = option(
        0,
        "Steps",
        "How many steps to train instead of a time; 0 goes by the time. The same job with the same number of steps "
        "gives the same model on the same machine with the same engine.",
        minimum=0,
        maximum=10**8,
        advanced=True,
    )
    chip_px: int = option(
        192,
        "Chip size",
        "Side of the pieces of image that are learned from; up to the whole image.",
        unit="px",
        minimum=64,
        maximum=32768,
        advanced=True,
    )
    batch_size: int = option(4, "Batch size", "Chips computed at once.", minimum=1, maximum=4096, advanced=True)
    accumulation: int = option(
        1,
        "Accumulation",
        "Batches that are added up to one step: a large batch without its memory.",
        minimum=1,
        maximum=4096,
        advanced=True,
    )
    recompute: str = option(
        "auto",
        "Recompute",
        "Whether activations are computed again for the backward pass instead of being kept, which takes far less "
        "memory and half as much time again, or more. The choice auto does so where the memory would not suffice else.",
        choices=("auto", "yes", "no"),
        advanced=True,
    )
    optimizer: str = option("adamw", "Optimizer", "What turns gradients into steps.", choices=OPTIMIZERS, advanced=True)
    learning_rate: float = option(
        0.0,
        "Learning rate",
        f"Peak step size for a batch of {REFERENCE_BATCH}, scaled in proportion for other batches; 0 takes what suits "
        "the optimizer.",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    weight_decay: float = option(
        0.01, "Weight decay", "How strongly weights are drawn to zero.", minimum=0, maximum=1, advanced=True
    )
    warm_up_share: float = option(
        0.05,
        "Warm-up",
        "Share of the training in which the learning rate rises to its peak; then it falls along a cosine.",
        minimum=0,
        maximum=0.5,
        advanced=True,
    )
    clip_norm: float = option(
        0.0,
        "Gradient clipping",
        "Upper limit of the gradient's norm over all weights in a step, often 1: a larger gradient is scaled down to "
        "it. 0 does not clip.",
        minimum=0,
        maximum=1e6,
        advanced=True,
    )
    averaging: float = option(
        0.0,
        "Weight averaging",
        "How much of the running average of the weights a step keeps; the average is validated and stored. "
        "0 stores the weights as they are.",
        minimum=0,
        maximum=0.9999,
        advanced=True,
    )
    frozen_stages: int = option(
        0,
        "Frozen stages",
        "How many of the encoder's five stages keep the base model's weights, from the first on; their backward work "
        "is saved.",
        minimum=0,
        maximum=5,
        advanced=True,
    )
    batch_norm: str = option(
        "live",
        "Batch norm",
        "Whether batch normalization adapts to the images (live) or keeps the base model's statistics (frozen). "
        "That of frozen stages is always frozen.",
        choices=("live", "frozen"),
        advanced=True,
    )
    centerline_weight: float = option(
        0.0,
        "Center-line loss",
        "Share of the loss that rewards unbroken center-lines (clDice) instead of covered area.",
        minimum=0,
        maximum=1,
        advanced=True,
    )
    patience: int = option(
        0,
        "Patience",
        "Validations without a better F1 after which training stops early; 0 always uses the whole budget.",
        minimum=0,
        maximum=1000,
        advanced=True,
    )
    checkpoint_minutes: float = option(
        1.0,
        "Checkpoint interval",
        "How often the state of the training is written beside the model, so that a run that was cut off can be "
        "resumed. The file goes when the model is complete.",
        unit="min",
        minimum=0.01,
        maximum=10000,
        advanced=True,
    )
    seed: int = option(
        0,
        "Seed",
        "The same job with the same seed draws the same chips and starting weights.",
        minimum=0,
        maximum=2**31 - 1,
        advanced=True,
    )
