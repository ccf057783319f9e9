"""Make a starter of the weights that train_pack.py wrote: calibrated, with a threshold, in full and compact.

Run as `python -m scripts.starter.from_pack model.safetensors compact.safetensors run0.safetensors --ground FOLDER`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from pathlib import Path

import torch

from scripts.starter.held_out import drawn_images
from scripts.starter.pretrain import BANDS, Run, held_out_images, train
from scripts.starter.real_ground import ATTRIBUTION, read_ground
from scripts.starter.recipe import Recipe
from training_core.jobs.recipe import ENCODERS, UNET
from training_core.models.architectures import Architecture
from training_core.models.engines import FP32, NativeEngine
from training_core.models.model_card import ModelCard
from training_core.models.model_file import read_safetensors, save_model


def main() -> None:
    """Read the weights, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="where to write the model in full")
    parser.add_argument("compact", type=Path, help="where to write the model that is shipped")
    parser.add_argument("weights", type=Path, nargs="+", help="all files of one run")
    parser.add_argument("--ground", type=Path, required=True, help="folder of real ground")
    arguments = parser.parse_args()
    weights, told = read_run(arguments.weights)
    make_starter(weights, told, arguments.ground, arguments.model, arguments.compact)


def read_run(paths: list[Path]) -> tuple[dict[str, torch.Tensor], dict]:
    """Return the weights of a run, (...), float32 or int64, by name, and what is known of it."""
    weights: dict[str, torch.Tensor] = {}
    for path in paths:
        tensors, texts = read_safetensors(path)
        weights |= {name: each.float() if each.is_floating_point() else each for name, each in tensors.items()}
    return weights, json.loads(texts["told"])


def make_starter(weights: dict[str, torch.Tensor], told: dict, ground: Path, model: Path, compact: Path) -> None:
    """Calibrate weights on held-out ground, and write the model in full and compact.

    Parameters
    ----------
    weights, told : dict
        As `read_run` returns them.
    """
    last = told["stages"][-1]
    encoder = next(name for name in ENCODERS if Architecture(UNET, name).library_name == last["encoder"])
    architecture = Architecture(UNET, encoder, decoder_channels=tuple(last["decoder_channels"]))
    known = {each.name for each in fields(Recipe)}
    values = {name: tuple(each) if isinstance(each, list) else each for name, each in last.items() if name in known}
    recipe = Recipe(**{**values, "encoder": encoder, "steps": told["steps"]})
    save_model(model, weights, ModelCard(architecture, BANDS, recipe.resolution_m))
    validated = [each for each in read_ground(ground, is_held_out=True) if each.source in told["learned_from"]]
    learned = {source: [] for source in told["learned_from"] if source in ATTRIBUTION}
    run = Run(recipe, model.with_suffix(".checkpoint"), str(model), learned, held_out_images(recipe, validated),
              NativeEngine(FP32))  # fmt: skip
    run.step, run.elapsed_s, run.processor = recipe.steps, 60 * told["minutes"], told["device"]
    train(run, drawn_images(validated, recipe.resolution_m), model, compact)


if __name__ == "__main__":
    main()
