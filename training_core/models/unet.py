"""The network: a U-Net of segmentation_models_pytorch, what of it learns, and how its first layer fits other bands.

Knows architectures and weights; knows nothing of files, images or training.
"""

from __future__ import annotations

from dataclasses import dataclass

import segmentation_models_pytorch
import torch
from torch import nn

from ..errors import ModelFileError
from .decoder import DecoderBlock

# Of one build; and none that pools over the whole image, since no halo would do for its tiles.
ENCODERS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnext50_32x4d")


@dataclass(frozen=True)
class Architecture:
    """What a network is built from.

    Parameters
    ----------
    name : str
        Only Unet.
    encoder : str
        One of ENCODERS.
    in_channels, classes : int
        Bands that enter, channels of logits that leave.
    """

    name: str = "Unet"
    encoder: str = "resnet34"
    in_channels: int = 3
    classes: int = 1

    def validate(self) -> None:
        """Raise ModelFileError where this is nothing RoadSeg builds."""
        if self.name != "Unet" or self.encoder not in ENCODERS:
            raise ModelFileError(f"RoadSeg does not know the network {self.name} with encoder {self.encoder}.")
        if not (1 <= self.in_channels <= 65535 and 1 <= self.classes <= 256):
            raise ModelFileError(f"A network of {self.in_channels} bands and {self.classes} classes makes no sense.")


def build_unet(architecture: Architecture) -> nn.Module:
    """Return the network with random weights, in the memory layout that CPUs are fast with."""
    architecture.validate()
    network = segmentation_models_pytorch.Unet(
        encoder_name=architecture.encoder,
        encoder_weights=None,
        in_channels=architecture.in_channels,
        classes=architecture.classes,
    )
    network.decoder.blocks = nn.ModuleList(map(DecoderBlock, network.decoder.blocks))
    return network.to(memory_format=torch.channels_last)


def encoder_stages(network: nn.Module) -> list[tuple[nn.Module, ...]]:
    """Return the parts of the encoder's five stages, each of which halves the resolution."""
    encoder = network.encoder
    layers = (encoder.layer1, encoder.layer2, encoder.layer3, encoder.layer4)
    return [(encoder.conv1, encoder.bn1), *((layer,) for layer in layers)]


def freeze_stages(network: nn.Module, count: int) -> None:
    """Keep the weights of the encoder's first stages; what comes before the first live one needs no backward pass."""
    for stage in encoder_stages(network)[:count]:
        for part in stage:
            part.requires_grad_(False)


def set_training_mode(network: nn.Module, frozen_stages: int, batch_norm: str) -> None:
    """Put a network into training mode, but for the statistics that are to be kept.

    Parameters
    ----------
    network : Module
    frozen_stages : int
        Encoder stages, from the first on, whose batch normalization keeps its statistics.
    batch_norm : str
        live, or frozen to keep those of all.
    """
    network.train()
    kept = [part for stage in encoder_stages(network)[:frozen_stages] for part in stage]
    if batch_norm == "frozen":
        kept += [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    for module in kept:
        module.eval()


def adapt_first_layer(
    weights: dict[str, torch.Tensor], old_names: tuple[str, ...], new_names: tuple[str, ...]
) -> dict[str, torch.Tensor]:
    """Return weights whose first convolution takes other bands.

    A band keeps the filters of the old band of its name; a new one gets the mean over the old bands. The filters are
    scaled so that the sum over bands, and with it the activation, keeps its size.
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
    """Return weights whose last convolution tells other classes.

    Road keeps its filter, and so does a class its old one of the same name; the others begin with fresh weights.
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
