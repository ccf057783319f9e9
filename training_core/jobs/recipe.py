"""Training recipes: architectures, encoders and starter models, and the hyperparameters of training.

Scope: names as options and model files have them, the fields and their texts. Independent of images, labels and files;
standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import ModelFileError
from .option import MODEL, STARTER, STARTER_RESNET34, Job, advanced_option, option

UNET, UNET_PLUS_PLUS, FPN = ARCHITECTURES = ("Unet", "UnetPlusPlus", "FPN")
RESNETS = ("resnet18", "resnet34", "resnet50")
EFFICIENTNET = "efficientnet_lite0"
ENCODERS = (*RESNETS, EFFICIENTNET)
# In place of a name: that of the base model.
AS_BASE = "auto"
USUAL = (UNET, "resnet34")
# The starter models that are shipped with RoadSeg, by the names that stand for their files.
STARTER_FOLDER = Path(__file__).resolve().parents[2] / "resources" / "starter"
STARTER_FILES = {STARTER: "roads.safetensors", STARTER_RESNET34: "roads_resnet34.safetensors"}

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

    chip_px: int = advanced_option(0, "Chip size", unit="px", within=(0, 32768)).help(
        f"Side of the image chips (patches) to train on, up to the whole image. 0 chooses by speed: {USUAL_CHIP_PX} "
        f"px, or {SMALL_CHIP_PX} px if the time budget allows only few steps on this processor."
    )
    batch_size: int = advanced_option(4, "Batch size", within=(1, 4096)).help("Chips per forward pass.")
    accumulation: int = advanced_option(1, "Gradient accumulation", within=(1, 4096)).help(
        "Number of batches whose gradients are accumulated into one optimizer step. This gives a larger effective "
        "batch without more memory."
    )
    recompute: str = advanced_option("auto", "Recompute activations", choices=("auto", "yes", "no")).help(
        "Activation checkpointing: recompute activations in the backward pass instead of storing them. This takes far "
        "less memory and at least 1.5 times as long. auto recomputes only if the memory would not suffice otherwise."
    )
    optimizer: str = advanced_option("adamw", "Optimizer", choices=OPTIMIZERS).help(
        "Optimization algorithm; lamb and lars suit large batches."
    )
    frozen_stages: int = advanced_option(BY_PACE, "Frozen stages", within=(BY_PACE, 5)).help(
        "Number of the encoder's five stages, counted from the first, that keep the base model's weights. Frozen "
        f"stages make steps faster. {BY_PACE} freezes some stages if the time budget allows only few steps on this "
        "processor, and otherwise none."
    )
    batch_norm: str = advanced_option("live", "Batch norm", choices=("live", "frozen")).help(
        "Whether batch normalization updates its running statistics (live) or keeps the base model's (frozen). Frozen "
        "stages always keep them."
    )


@dataclass(frozen=True)
class RecipeOptions(StepOptions):
    """Options of every job that trains a model: the hyperparameters."""

    minutes: float = option(5.0, "Time budget", unit="min", within=(0.05, 10000)).help(
        "Training time. More time gives a better model, up to a point."
    )
    steps: int = advanced_option(0, "Steps", within=(0, 10**8)).help(
        "Number of optimizer steps instead of a time budget. 0 uses the time budget. With steps, training is "
        "reproducible: the same job gives the same model on the same machine with the same engine."
    )
    sample: str = advanced_option(CHIPS, "Sample", choices=(CHIPS, IMAGE)).help(
        "Sample of a step: random chips, or whole labeled images, as many as the gradient accumulation. Images are "
        "computed in tiles with an exact halo, so loss and gradients are those of the undivided image. They freeze "
        "batch norm and take long. Batch size and chip size do not apply to them."
    )
    learning_rate: float = advanced_option(0.0, "Learning rate", within=(0, 100)).help(
        f"Peak learning rate for a batch of {REFERENCE_BATCH}, scaled with the effective batch size: linearly for sgd "
        "and lars, with its square root for adamw and lamb. 0 takes the optimizer's default."
    )
    encoder_rate: float = advanced_option(0.0, "Encoder learning rate", within=(0, 1)).help(
        f"Factor on the learning rate for the encoder. 0 chooses {CAREFUL_RATE:g} if a RoadSeg model is fine-tuned on "
        f"bands and classes that it knows and fewer than {MUCH_LABELED} are labeled, so that it forgets less of other "
        "ground. Otherwise, 0 chooses 1."
    )
    seed: int = advanced_option(0, "Seed", within=(0, 2**31 - 1)).help(
        "Random seed of the validation split, the chips and the initial weights."
    )


def has_starter() -> bool:
    """Whether this copy of RoadSeg contains the starter model."""
    return (STARTER_FOLDER / STARTER_FILES[STARTER]).is_file()


def model_path(model: str) -> str:
    """Return the path of a model, where the name of a starter stands for a shipped one.

    Raises ModelFileError if a starter is asked for that this copy of RoadSeg does not contain.
    """
    if model not in STARTER_FILES:
        return model
    path = STARTER_FOLDER / STARTER_FILES[model]
    if not path.is_file():
        raise ModelFileError(
            f"This copy of RoadSeg comes without its starter model {model} ({path}).",
            "Choose a model file instead; a base model may be left empty to train from random weights.",
        )
    return str(path)


def with_model_paths(job: Job) -> Job:
    """Return a job with the names of starters replaced by their paths; see `model_path`.

    Raises ModelFileError if a starter is asked for that this copy of RoadSeg does not contain.
    """
    fields = [field for field in job.option_fields() if field.option.kind == MODEL]
    return replace(job, **{field.name: model_path(getattr(job, field.name)) for field in fields})
