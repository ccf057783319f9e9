"""The parts of a U-Net: what is never cut between the stages of a pipeline, and what is recomputed by itself.

A part is the stem, a block of the encoder, a block of the decoder, or the head. Between two parts there are the running
features, and the skip connections that later decoder blocks need.

Scope: the structure of a U-Net on one of our encoders. Independent of processes and of memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

# Modules of the encoder by level, each of which halves the resolution. Those that are no sequence of blocks, such as
# pooling, belong to the part after them, or are the last one of their level.
_RESNET = (("conv1", "bn1", "relu"), ("maxpool", "layer1"), ("layer2",), ("layer3",), ("layer4",))
_EFFICIENTNET = (
    ("model.conv_stem", "model.bn1", "model.blocks.0"),
    ("model.blocks.1",),
    ("model.blocks.2",),
    ("model.blocks.3", "model.blocks.4"),
    ("model.blocks.5", "model.blocks.6"),
)
HEAD = "segmentation_head"


@dataclass(frozen=True)
class Part:
    """A part of a U-Net: the names of its modules in the U-Net, in the order in which they compute.

    If it keeps its input, that is a skip connection, which a decoder block takes later.
    """

    names: tuple[str, ...]
    keeps_input: bool = False


def encoder_parts(model: nn.Module) -> list[Part]:
    """Return the parts of the encoder of a U-Net, as `build_network` returns it, in the order in which they compute."""
    parts: list[Part] = []
    for number, level in enumerate(_levels(model)):
        waiting: tuple[str, ...] = ()
        begins = number > 0
        for name in level:
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
    return [*encoder_parts(model), *decoder, Part((HEAD,))]


def encoder_modules(model: nn.Module) -> list[str]:
    """Return the names of the modules of which stages of the encoder are made, such as `encoder.layer1`."""
    return [f"encoder.{name}" for level in _levels(model) for name in level]


def _levels(model: nn.Module) -> tuple[tuple[str, ...], ...]:
    return _RESNET if hasattr(model.encoder, "layer1") else _EFFICIENTNET
