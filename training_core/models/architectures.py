"""The network: architectures, encoders and their parts, freezing of stages, and weights for other bands or classes.

Scope: architectures and weights. Independent of files, images and training.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import JobError, ModelFileError, shown
from ..jobs.recipe import ARCHITECTURES, EFFICIENTNET, ENCODERS, FPN, RESNETS, UNET, UNET_PLUS_PLUS, USUAL
from .decoder import DecoderBlock

# The library that builds it. Loading it takes seconds, in which a job can read its images; see `preload`.
LIBRARY = "segmentation_models_pytorch"
# A GeoTIFF cannot hold more.
MAX_BANDS = 65535
# Channels of the five blocks of a U-Net's decoder, from the coarsest: as the library has them, and those that are as
# good on EfficientNet-Lite0, and faster (benchmarks/README.md).
DECODER_CHANNELS = (256, 128, 64, 32, 16)
NARROW_DECODER_CHANNELS = (128, 64, 48, 32, 16)
_MAX_CHANNELS = 1024
# Prefix of encoders that the library takes from timm, as the module `model` of one of its own.
TIMM = "tu-"
# The architectures and encoders that RoadSeg builds, for messages.
TAKEN = f"{', '.join(ARCHITECTURES)}; {', '.join(ENCODERS)}"
HEAD = "segmentation_head.0"


@dataclass(frozen=True)
class _Encoder:
    """The names by which the library knows an encoder and its layers.

    Each of `stages` halves the resolution. Its modules that are no sequence of blocks, such as pooling, belong to the
    block after them, or are the last of their stage. The first two are the convolution that sees the image, and its
    batch normalization.
    """

    library_name: str
    stages: tuple[tuple[str, ...], ...]


_RESNET_STAGES = (("conv1", "bn1", "relu"), ("maxpool", "layer1"), ("layer2",), ("layer3",), ("layer4",))
_WITHOUT_WEIGHTS = ("relu", "maxpool")
_KNOWN = {
    **{name: _Encoder(name, _RESNET_STAGES) for name in RESNETS},
    EFFICIENTNET: _Encoder(
        "tu-efficientnet_lite0",
        (
            ("model.conv_stem", "model.bn1", "model.blocks.0"),
            ("model.blocks.1",),
            ("model.blocks.2",),
            ("model.blocks.3", "model.blocks.4"),
            ("model.blocks.5", "model.blocks.6"),
        ),
    ),
}


@dataclass(frozen=True)
class Architecture:
    """Names in ARCHITECTURES and ENCODERS, bands of the input, and channels of the logits (road counts as a class).

    `decoder_channels` are those of the five blocks of a U-Net's decoder, from the coarsest.
    """

    name: str = USUAL[0]
    encoder: str = USUAL[1]
    in_channels: int = 3
    classes: int = 1
    decoder_channels: tuple[int, ...] = DECODER_CHANNELS

    def validate(self) -> None:
        """Check that RoadSeg can build this.

        Raises ModelFileError if name, encoder or a number of channels is not supported.
        """
        if self.name not in ARCHITECTURES or self.encoder not in ENCODERS:
            raise ModelFileError(
                f"RoadSeg does not take the architecture {shown(self.name)} with the encoder {shown(self.encoder)}, "
                f"only {TAKEN}."
            )
        if not (1 <= self.in_channels <= MAX_BANDS and 1 <= self.classes <= 256):
            raise ModelFileError(f"A model cannot have {self.in_channels} bands and {self.classes} classes.")
        channels = self.decoder_channels
        is_possible = len(channels) == len(DECODER_CHANNELS) and all(1 <= each <= _MAX_CHANNELS for each in channels)
        if not is_possible or (self.name != UNET and channels != DECODER_CHANNELS):
            raise ModelFileError(f"The decoder of a {self.name} cannot have the channels {shown(channels)}.")

    @property
    def is_unet(self) -> bool:
        """Whether activations can be recomputed, and the network can be cut into the stages of a pipeline."""
        return self.name == UNET

    @property
    def first_layer(self) -> str:
        """The convolution that sees the image."""
        return f"encoder.{_KNOWN[self.encoder].stages[0][0]}"

    @property
    def first_normalization(self) -> str:
        """The batch normalization after it."""
        return f"encoder.{_KNOWN[self.encoder].stages[0][1]}"

    @property
    def sensitive_layers(self) -> tuple[tuple[str, ...], ...]:
        """Groups of layers to keep in full precision, one more at a time, where quantization changes the roads.

        Parts of paths, as ONNX names layers: the ends first, which are most sensitive and cost almost no speed
        (benchmarks/README.md). Keeping more than these would leave little gain in speed.
        """
        stages = [
            tuple(
                f"encoder/{name}" if self.encoder in RESNETS else name.removeprefix("model.")
                for name in stage
                if name not in _WITHOUT_WEIGHTS
            )
            for stage in _KNOWN[self.encoder].stages
        ]
        blocks = {UNET: "decoder/blocks.{}", UNET_PLUS_PLUS: "decoder/blocks.x_0_{}"}.get(self.name)
        ends, middle = ((blocks.format(4),), (blocks.format(3), blocks.format(2))) if blocks else ((), ("decoder",))
        return (stages[0][0], "segmentation_head", *ends), (*stages[4], *stages[1]), middle

    @property
    def library_name(self) -> str:
        """The name of the encoder in segmentation_models_pytorch."""
        return _KNOWN[self.encoder].library_name

    def require_unet(self, what: str) -> None:
        """Check that it is a U-Net, which `what`, the beginning of a sentence, needs.

        Raises JobError if it is not.
        """
        if not self.is_unet:
            raise JobError(
                f"{what} need a {UNET}; this model is a {self.name} with {self.encoder}.",
                "Start from the starter or another model of that architecture, or leave it out.",
            )


def build_network(architecture: Architecture) -> nn.Module:
    """Return the network with random weights, channels last in memory, which is fast on CPUs."""
    architecture.validate()
    decoder = {"decoder_channels": architecture.decoder_channels} if architecture.name == UNET else {}
    model = getattr(importlib.import_module(LIBRARY), architecture.name)(
        encoder_name=architecture.library_name,
        encoder_weights=None,
        in_channels=architecture.in_channels,
        classes=architecture.classes,
        **decoder,
    )
    if architecture.name == UNET:
        model.decoder.blocks = nn.ModuleList(map(DecoderBlock, model.decoder.blocks))
    _make_tileable(model, architecture.name)
    _speed_up_depthwise(model)
    return model.to(memory_format=torch.channels_last)


def _make_tileable(model: nn.Module, architecture: str) -> None:
    """Replace the layers whose result depends on the image's size or on chance; names and shapes of weights stay.

    The library upsamples with aligned corners: where a pixel is sampled then depends on the size of the image, and
    tiles would be shifted against each other by up to a pixel and a half. Dropout would make the loss depend on the
    number of processes.
    """
    for parent in list(model.modules()):
        for name, part in parent.named_children():
            if isinstance(part, nn.UpsamplingBilinear2d):
                setattr(parent, name, nn.Upsample(scale_factor=part.scale_factor, mode="bilinear"))
            elif isinstance(part, (nn.Dropout, nn.Dropout2d)):
                setattr(parent, name, nn.Identity())
            elif architecture == FPN and type(part).__name__ == "Conv3x3GNReLU":
                setattr(parent, name, _UpsamplingBlock(part))


class _UpsamplingBlock(nn.Module):
    """A convolution with group normalization of the library's FPN, that upsamples without aligned corners."""

    def __init__(self, library_block: Any) -> None:
        super().__init__()
        self.block, self.upsample = library_block.block, library_block.upsample

    def forward(self, features: Tensor) -> Tensor:
        features = self.block(features)
        return functional.interpolate(features, scale_factor=2.0, mode="bilinear") if self.upsample else features


class DepthwiseConv2d(nn.Conv2d):
    """A depthwise convolution that computes in FP32 where it is trained in BF16 on the CPU.

    oneDNN, as of PyTorch 2.8, has fast kernels in BF16 for the gradients of 3 x 3 depthwise convolutions of stride 1
    alone. Others take 4 to 13 times as long as in FP32: half of a training step of EfficientNet-Lite0 with AMX
    (benchmarks/README.md). They have few products, so that FP32 costs little.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, (batch, channels, height, width), convolved; both are float32 or bfloat16."""
        if not self.training or input.dtype != torch.bfloat16 or not input.is_cpu:
            return super().forward(input)
        with torch.autocast("cpu", enabled=False):
            bias = None if self.bias is None else self.bias.float()
            convolved = functional.conv2d(
                input.float(), self.weight.float(), bias, self.stride, self.padding, self.dilation, self.groups
            )
        return convolved.to(input.dtype)


def _speed_up_depthwise(model: nn.Module) -> None:
    """Make depthwise convolutions of a model compute in FP32, except those that BF16 has kernels for."""
    for part in model.modules():
        is_depthwise = type(part) is nn.Conv2d and part.groups == part.in_channels > 1
        if is_depthwise and (part.kernel_size, part.stride) != ((3, 3), (1, 1)):
            part.__class__ = DepthwiseConv2d  # keeps the weights, and draws no random numbers for others


def build_uninitialized(architecture: Architecture) -> nn.Module:
    """Return the network with memory for weights that are still to be loaded; drawing random ones takes longer."""
    return _build_without_memory(architecture).to_empty(device="cpu")


def weights_without_memory(architecture: Architecture) -> dict[str, torch.Tensor]:
    """Return the weights of a network by name, (...), float32 or int64, on the device meta: shapes and dtypes alone."""
    return _build_without_memory(architecture).state_dict()


def _build_without_memory(architecture: Architecture) -> nn.Module:
    """Return the network on the device meta."""
    importlib.import_module(LIBRARY)  # first, for it computes with tensors while it is imported
    with torch.device("meta"):
        return build_network(architecture)


def stage_names(model: nn.Module) -> tuple[tuple[str, ...], ...]:
    """Return the names within the encoder of the modules of its five stages, each of which halves the resolution."""
    names = {name for name, _ in model.encoder.named_modules()}
    return next(each.stages for each in _KNOWN.values() if names.issuperset(sum(each.stages, ())))


def encoder_stages(model: nn.Module) -> list[tuple[nn.Module, ...]]:
    """Return the modules of the encoder's five stages; see `stage_names`."""
    return [tuple(map(model.encoder.get_submodule, stage)) for stage in stage_names(model)]


@dataclass(frozen=True)
class Part:
    """A part of a U-Net: the stem, a block of encoder or decoder, or the head. No pipeline cuts it.

    Between parts there are the running features, and the skip connections that later decoder blocks need. Its modules
    are named as in the U-Net, in the order in which they compute. If it keeps its input, that is a skip connection.
    """

    names: tuple[str, ...]
    keeps_input: bool = False


def encoder_parts(model: nn.Module) -> list[Part]:
    """Return the parts of the encoder of a U-Net, as `build_network` returns it, in the order in which they compute."""
    parts: list[Part] = []
    for number, stage in enumerate(stage_names(model)):
        waiting: tuple[str, ...] = ()
        begins = number > 0
        for name in stage:
            module = model.encoder.get_submodule(name)
            if not isinstance(module, nn.Sequential) or not len(module):
                waiting += (f"encoder.{name}",)
                continue
            for block in range(len(module)):
                parts.append(Part((*waiting, f"encoder.{name}.{block}"), begins))
                waiting, begins = (), False
        parts += [Part(waiting, begins)] if waiting else []
    return parts


def parts_of(model: nn.Module) -> list[Part]:
    """Return the parts of a U-Net, as `build_network` returns it, in the order in which they compute."""
    decoder = [Part((f"decoder.blocks.{number}",)) for number in range(len(model.decoder.blocks))]
    return [*encoder_parts(model), *decoder, Part(("segmentation_head",))]


def freeze_stages(model: nn.Module, count: int) -> None:
    """Freeze the weights of the encoder's first stages, which then need no backward pass; none for a negative count."""
    for stage in encoder_stages(model)[: max(0, count)]:
        for part in stage:
            part.requires_grad_(False)


def set_training_mode(model: nn.Module, frozen_stages: int, batch_norm: str) -> None:
    """Put a model into training mode, except for batch normalization that is to keep its statistics.

    That is all of it where `batch_norm` is frozen, not live, and that of the first `frozen_stages` encoder stages.
    """
    model.train()
    kept = [part for stage in encoder_stages(model)[: max(0, frozen_stages)] for part in stage]
    if batch_norm == "frozen":
        kept += [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for module in kept:
        module.eval()


def adapt_first_layer(
    weights: dict[str, torch.Tensor], first_layer: str, old_names: tuple[str, ...], new_names: tuple[str, ...]
) -> dict[str, torch.Tensor]:
    """Return weights, (...), float32 or int64, by name, whose first convolution is adapted to other bands.

    A band keeps the filters of the old band of its name; a new one gets the mean over the old bands. The filters are
    scaled so that the sum over bands, and with it the activation, keeps its magnitude.
    """
    if old_names == new_names:
        return weights
    name = f"{first_layer}.weight"
    filters = weights[name]
    by_band = {band: filters[:, index] for index, band in enumerate(old_names)}
    mean = filters.mean(dim=1)
    adapted = torch.stack([by_band.get(band, mean) for band in new_names], dim=1)
    return {**weights, name: adapted * (len(old_names) / len(new_names))}


def adapt_head(
    weights: dict[str, torch.Tensor],
    fresh: dict[str, torch.Tensor],
    old_names: tuple[str, ...],
    new_names: tuple[str, ...],
) -> dict[str, torch.Tensor]:
    """Return weights, (...), float32 or int64, by name, whose last convolution is adapted to other classes.

    Road and classes with an old name keep their filters; the others begin with the random weights in `fresh`.
    """
    if old_names == new_names:
        return weights
    # Output channels: the new number of each, and the old one that it takes its filters from; road is 0 in both.
    rows = [(0, 0)]
    rows += [(new, old_names.index(name) + 1) for new, name in enumerate(new_names, 1) if name in old_names]
    adapted = dict(weights)
    for name in (f"{HEAD}.weight", f"{HEAD}.bias"):
        adapted[name] = fresh[name].clone()
        for new, old in rows:
            adapted[name][new] = weights[name][old]
    return adapted
