"""What is trained and how: names of architectures and encoders, and the hyperparameters of training.

Scope: names as options and model files have them, the fields and their texts. Independent of images, labels and files;
standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from .option import Job, advanced_option, option

UNET, UNET_PLUS_PLUS, FPN = ARCHITECTURES = ("Unet", "UnetPlusPlus", "FPN")
RESNETS = ("resnet18", "resnet34", "resnet50")
EFFICIENTNET = "efficientnet_lite0"
ENCODERS = (*RESNETS, EFFICIENTNET)
# In place of a name: that of the base model.
AS_BASE = "auto"
USUAL = (UNET, "resnet34")


OPTIMIZERS = ("adamw", "sgd", "lamb", "lars")
# Samples of a training step: random crops, or whole labeled images.
CHIPS, IMAGE = "chips", "image"
# In place of a number: chosen by the speed of training on this processor.
BY_PACE = -1
# Sides of chips to choose from, and the least that a job may ask for.
USUAL_CHIP_PX, SMALL_CHIP_PX, MIN_CHIP_PX = 192, 128, 64
# Factor on the learning rate of a fine-tuned encoder, so that it forgets less of other ground (benchmarks/README.md).
CAREFUL_RATE = 0.1
# From that many labeled pixels on, what is drawn shows so much ground that learning it whole wins more than it forgets.
MUCH_LABELED_PX = 5_000_000
MUCH_LABELED = f"{MUCH_LABELED_PX // 1_000_000} megapixels"
# Batch size that learning rates are stated for.
REFERENCE_BATCH = 4


@dataclass(frozen=True)
class StepOptions(Job):
    """Options of every job that takes training steps: what a step computes."""

    chip_px: int = advanced_option(
        0,
        "Chip size",
        f"Side of the image chips (patches) to train on, up to the whole image. 0 chooses by speed: {USUAL_CHIP_PX} "
        f"px, or {SMALL_CHIP_PX} px if the time budget allows only few steps on this processor.",
        unit="px",
        within=(0, 32768),
    )
    batch_size: int = advanced_option(4, "Batch size", "Chips per forward pass.", within=(1, 4096))
    accumulation: int = advanced_option(
        1,
        "Gradient accumulation",
        "Number of batches whose gradients are accumulated into one optimizer step. This gives a larger effective "
        "batch without more memory.",
        within=(1, 4096),
    )
    recompute: str = advanced_option(
        "auto",
        "Recompute activations",
        "Activation checkpointing: recompute activations in the backward pass instead of storing them. This takes far "
        "less memory and at least 1.5 times as long. auto recomputes only if the memory would not suffice otherwise.",
        choices=("auto", "yes", "no"),
    )
    optimizer: str = advanced_option(
        "adamw", "Optimizer", "Optimization algorithm; lamb and lars suit large batches.", choices=OPTIMIZERS
    )
    frozen_stages: int = advanced_option(
        BY_PACE,
        "Frozen stages",
        "Number of the encoder's five stages, counted from the first, that keep the base model's weights. Frozen "
        f"stages make steps faster. {BY_PACE} freezes some stages if the time budget allows only few steps on this "
        "processor, and otherwise none.",
        within=(BY_PACE, 5),
    )
    batch_norm: str = advanced_option(
        "live",
        "Batch norm",
        "Whether batch normalization updates its running statistics (live) or keeps the base model's (frozen). Frozen "
        "stages always keep them.",
        choices=("live", "frozen"),
    )


@dataclass(frozen=True)
class RecipeOptions(StepOptions):
    """Options of every job that trains a model: the hyperparameters."""

    minutes: float = option(
        5.0,
        "Time budget",
        "Training time. More time gives a better model, up to a point.",
        unit="min",
        within=(0.05, 10000),
    )
    steps: int = advanced_option(
        0,
        "Steps",
        "Number of optimizer steps instead of a time budget. 0 uses the time budget. With steps, training is "
        "reproducible: the same job gives the same model on the same machine with the same engine.",
        within=(0, 10**8),
    )
    sample: str = advanced_option(
        CHIPS,
        "Sample",
        "Sample of a step: random chips, or whole labeled images, as many as the gradient accumulation. Images are "
        "computed in tiles with an exact halo, so loss and gradients are those of the undivided image. They freeze "
        "batch norm and take long. Batch size and chip size do not apply to them.",
        choices=(CHIPS, IMAGE),
    )
    learning_rate: float = advanced_option(
        0.0,
        "Learning rate",
        f"Peak learning rate for a batch of {REFERENCE_BATCH}, scaled with the effective batch size: linearly for sgd "
        "and lars, with its square root for adamw and lamb. 0 takes the optimizer's default.",
        within=(0, 100),
    )
    encoder_rate: float = advanced_option(
        0.0,
        "Encoder learning rate",
        f"Factor on the learning rate for the encoder. 0 chooses {CAREFUL_RATE:g} if a RoadSeg model is fine-tuned on "
        f"bands and classes that it knows and fewer than {MUCH_LABELED} are labeled, so that it forgets less of other "
        "ground. Otherwise, 0 chooses 1.",
        within=(0, 1),
    )
    seed: int = advanced_option(
        0, "Seed", "Random seed of the validation split, the chips and the initial weights.", within=(0, 2**31 - 1)
    )
