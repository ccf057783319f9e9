"""The model: a U-Net with a ResNet encoder, freezing of its stages, and transfer of weights to other bands or classes.

Scope: architectures and weights. Independent of files, images and training.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import torch
from torch import nn

from ..errors import ModelFileError
from .decoder import DecoderBlock

# The library that builds it. Loading it takes seconds, in which a job can read its images; see `preload`.
LIBRARY = "segmentation_models_pytorch"
# Of the same structure; none with global pooling, since no halo would be exact for its tiles.
ENCODERS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnext50_32x4d")


# As many as a GeoTIFF holds.
MOST_BANDS = 65535


@dataclass(frozen=True)
class Architecture:
    """What the model is built from.

    Parameters
    ----------
    name : str
        Only Unet.
    encoder : str
        One of ENCODERS.
    in_channels, classes : int
        Bands of the input, channels of the logits: road and classes.
    """

    name: str = "Unet"
    encoder: str = "resnet34"
    in_channels: int = 3
    classes: int = 1

    def validate(self) -> None:
        """Check that RoadSeg can build this.

        Raises
        ------
        ModelFileError
            Name, encoder or a number of channels is not supported.
        """
        if self.name != "Unet" or self.encoder not in ENCODERS:
            raise ModelFileError(f"RoadSeg does not know the architecture {self.name} with encoder {self.encoder}.")
        if not (1 <= self.in_channels <= MOST_BANDS and 1 <= self.classes <= 256):
            raise ModelFileError(f"A model cannot have {self.in_channels} bands and {self.classes} classes.")


def build_unet(architecture: Architecture) -> nn.Module:
    """Return the U-Net with random weights, channels last in memory, which is fast on CPUs."""
    architecture.validate()
    model = importlib.import_module(LIBRARY).Unet(
        encoder_name=architecture.encoder,
        encoder_weights=None,
        in_channels=architecture.in_channels,
        classes=architecture.classes,
    )
    model.decoder.blocks = nn.ModuleList(map(DecoderBlock, model.decoder.blocks))
    return model.to(memory_format=torch.channels_last)


def encoder_stages(model: nn.Module) -> list[tuple[nn.Module, ...]]:
    """Return the layers of the encoder's five stages, each of which halves the resolution."""
    encoder = model.encoder
    layers = (encoder.layer1, encoder.layer2, encoder.layer3, encoder.layer4)
    return [(encoder.conv1, encoder.bn1), *((layer,) for layer in layers)]


def freeze_stages(model: nn.Module, count: int) -> None:
    """Freeze the weights of the encoder's first stages, which then need no backward pass; none for a negative count."""
    for stage in encoder_stages(model)[: max(0, count)]:
        for part in stage:
            part.requires_grad_(False)


def set_training_mode(model: nn.Module, frozen_stages: int, batch_norm: str) -> None:
    """Put a model into training mode, except for batch normalization that is to keep its statistics.

    Parameters
    ----------
    model : Module
    frozen_stages : int
        Encoder stages, from the first on, whose batch normalization keeps its statistics.
    batch_norm : str
        live, or frozen to keep the statistics of all layers.
    """
    model.train()
    kept = [part for stage in encoder_stages(model)[: max(0, frozen_stages)] for part in stage]
    if batch_norm == "frozen":
        kept += [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for module in kept:
        module.eval()


def adapt_first_layer(
    weights: dict[str, torch.Tensor], old_names: tuple[str, ...], new_names: tuple[str, ...]
) -> dict[str, torch.Tensor]:
    """Adapt the first convolution to other bands.

    A band keeps the filters of the old band of its name; a new one gets the mean over the old bands. The filters are
    scaled so that the sum over bands, and with it the activation, keeps its magnitude.

    Parameters
    ----------
    weights : dict of Tensor of any shape (...), float32 or int64
        By name.
    old_names, new_names : tuple of str
        Of the bands, in order.

    Returns
    -------
    dict of Tensor of any shape (...), float32 or int64
    """
    if old_names == new_names:
        return weights
    filters = weights["encoder.conv1.weight"]
    by_name = {name: filters[:, index] for index, name in enumerate(old_names)}
    mean = filters.mean(dim=1)
    adapted = torch.stack([by_name.get(name, mean) for name in new_names], dim=1)
    return {**weights, "encoder.conv1.weight": adapted * (len(old_names) / len(new_names))}


def adapt_head(
    weights: dict[str, torch.Tensor],
    fresh: dict[str, torch.Tensor],
    old_names: tuple[str, ...],
    new_names: tuple[str, ...],
) -> dict[str, torch.Tensor]:
    """Adapt the last convolution to other classes.

    Road and classes with an old name keep their filters; the others begin with fresh weights.

    Parameters
    ----------
    weights : dict of Tensor of any shape (...), float32 or int64
        By name.
    fresh : dict of Tensor of any shape (...), float32 or int64
        Of a model for the new classes with random weights.
    old_names, new_names : tuple of str
        Of the classes, in order.

    Returns
    -------
    dict of Tensor of any shape (...), float32 or int64
    """
    if old_names == new_names:
        return weights
    rows = [(0, 0)]
    rows += [(new, old_names.index(name) + 1) for new, name in enumerate(new_names, 1) if name in old_names]
    adapted = dict(weights)
    for name in ("segmentation_head.0.weight", "segmentation_head.0.bias"):
        adapted[name] = fresh[name].clone()
        for new, old in rows:
            adapted[name][new] = weights[name][old]
    return adapted
