"""The parts of a U-Net: what is never cut between the stages of a pipeline, and what is recomputed by itself.

A part is the stem, a block of the encoder, a block of the decoder, or the head. Between two parts there are the running
features, and the skip connections that later decoder blocks need.

Scope: the structure of a U-Net on one of our encoders. Independent of processes and of memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from .architectures import stage_names

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
    return [*encoder_parts(model), *decoder, Part((HEAD,))]


def encoder_modules(model: nn.Module) -> list[str]:
    """Return the names of the modules of which stages of the encoder are made, such as `encoder.layer1`."""
    return [f"encoder.{name}" for stage in stage_names(model) for name in stage]
