"""Train the starter model: a ResNet34-UNet trained on generated scenes alone.

Run as `make starter`. It takes half an hour on two cores with AMX, and longer without; an interrupted run
resumes from its checkpoint, as long as the recipe is the same but for the number of steps. See recipe.py for all
hyperparameters, and resources/starter/CARD.md for the scores.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from recipe import Recipe
from training_core.geodata.model_input import IMAGE
from training_core.geodata.pixel_codes import IGNORE
from training_core.geodata.rasters import Band
from training_core.jobs import RecipeOptions
from training_core.labels.labeled_images import LabeledImage
from training_core.learning.history import Trained, best_at_threshold
from training_core.learning.optimizers import rate_at
from training_core.learning.trainer import Trainer
from training_core.learning.validation import held_out_blocks, validate
from training_core.models.engines import NativeEngine, choose_precision
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_compact_model, save_model
from training_core.models.unet import Architecture, build_unet
from training_core.segmentation.halo import middles, sufficient_halo_px
from training_core.segmentation.inference import Predictor
from training_core.system import processor
from training_core.system.versions import versions
from worlds import World, draw_batch, make_worlds

LOG_STEPS = 50
LICENSE = "CC0-1.0"  # so that models fine-tuned from it are their makers'; no real image went into it
# Typical of 8-bit images; each image is normalized by its own statistics.
BANDS = tuple(Band(name, 110.0, 45.0) for name in ("red", "green", "blue"))


def main() -> None:
    """Train, or resume, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="where to write the model as it was trained")
    parser.add_argument("compact", type=Path, help="where to write the model that is shipped")
    for name in ("steps", "scenes", "scene_px", "chip_px"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(Recipe, name))
    arguments = vars(parser.parse_args())
    model, compact = arguments.pop("model"), arguments.pop("compact")
    train(replace(Recipe(), **arguments), model, compact)


def train(recipe: Recipe, model: Path, compact: Path) -> None:
    """Train as the recipe says, or resume, and write the model as it was trained and as it is shipped."""
    run = Run(recipe, model.with_suffix(".checkpoint"))
    run.to_the_end()
    unseen = [as_labeled(world) for world in make_worlds(recipe, range(-recipe.scenes, 0))]
    with run.trainer.validating(unseen[0].bands) as predictor:
        best = best_at_threshold(run.trainer.weights(), validate(predictor, held_out_blocks(unseen, 0)).confusion)
    weights, described = best.weights, card(run, best, unseen)
    save_model(model, weights, described)
    save_compact_model(compact, weights, described)


class Run:
    """The state of a training.

    Parameters
    ----------
    recipe : Recipe
    checkpoint : Path
        File of the state, which is resumed from if it is there and of the same recipe.
    """

    def __init__(self, recipe: Recipe, checkpoint: Path) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe, self.step, self.elapsed_s, self._checkpoint = recipe, 0, 0.0, checkpoint
        self.engine = NativeEngine(choose_precision("auto", print))
        options = RecipeOptions(batch_size=recipe.batch_size, chip_px=recipe.chip_px, averaging=recipe.averaging)
        self.trainer = Trainer(build_unet(Architecture()), self.engine, options)
        if checkpoint.exists():
            self._resume()

    def to_the_end(self) -> None:
        """Train all steps that are left."""
        recipe, losses = self.recipe, []
        with ThreadPoolExecutor(1) as drawer:
            while self.step < recipe.steps:
                # Scenes are not painted during steps: a step's threads would wait for the one whose core is busy.
                worlds = self._worlds()
                until = min(recipe.steps, (self.step // recipe.steps_per_world + 1) * recipe.steps_per_world)
                batch = drawer.submit(draw_batch, recipe, worlds, self.step)
                while self.step < until:
                    chips, labels = batch.result()
                    batch = drawer.submit(draw_batch, recipe, worlds, self.step + 1)
                    losses.append(self._train_step(chips, labels))
                    if self.step % LOG_STEPS == 0:
                        print(f"step {self.step}, {self.elapsed_s / 60:.1f} min: "
                              f"loss {np.mean(losses[-LOG_STEPS:]):.4f}", flush=True)  # fmt: skip
                self._keep()

    def _worlds(self) -> list[World]:
        """Return the worlds of the present step."""
        first = self.step // self.recipe.steps_per_world * self.recipe.scenes
        return make_worlds(self.recipe, range(first, first + self.recipe.scenes))

    def _train_step(self, chips: np.ndarray, labels: np.ndarray) -> float:
        recipe, began_s = self.recipe, time.monotonic()
        rate = rate_at(self.step / recipe.schedule_steps, recipe.learning_rate, recipe.warm_up_share)
        loss = self.trainer.step(chips, labels, rate)
        self.step += 1
        self.elapsed_s += time.monotonic() - began_s
        return loss

    def _keep(self) -> None:
        told = {"step": str(self.step), "elapsed_s": str(self.elapsed_s), "recipe": json.dumps(asdict(self.recipe))}
        beside = self._checkpoint.with_suffix(".part")
        save_file(self.trainer.state_dict(), beside, metadata=told)
        beside.replace(self._checkpoint)

    def _resume(self) -> None:
        with safe_open(self._checkpoint, framework="pt") as file:
            told = file.metadata()
            former = Recipe(**{**json.loads(told["recipe"]), "steps": self.recipe.steps})
            if json.dumps(asdict(former)) != json.dumps(asdict(self.recipe)):
                raise SystemExit(f"{self._checkpoint} is of another recipe; move it away to start afresh.")
            self.trainer.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        self.step, self.elapsed_s = int(told["step"]), float(told["elapsed_s"])
        print(f"resuming from step {self.step}", flush=True)


def as_labeled(world: World) -> LabeledImage:
    """Return a world as a labeled image, all of it held out for validation."""
    labels = world.labels
    ignored = np.full_like(labels, IGNORE)
    bands = tuple(Band(band.name, 0.0, 1.0) for band in BANDS)
    known = np.ones(labels.shape, dtype=bool)
    return LabeledImage("a scene", None, world.image.astype(np.float32), known, ignored, labels, bands)


def card(run: Run, best: Trained, unseen: list[LabeledImage]) -> ModelCard:
    """Return what is known of the model, with its scores on scenes that it has not learned from."""
    network = build_unet(Architecture())
    network.load_state_dict(best.weights)
    predictor = Predictor(run.engine.prepare_inference(network), run.engine, unseen[0].bands)
    return ModelCard(
        architecture=Architecture(),
        bands=BANDS,
        resolution_m=run.recipe.resolution_m,
        threshold=best.threshold,
        chip_px=run.recipe.chip_px,
        halo_px=sufficient_halo_px(predictor, middles((each.values, each.known) for each in unseen), best.threshold),
        training={
            "images": "generated scenes",
            "minutes": round(run.elapsed_s / 60, 1),
            "steps": run.step,
            "recipe": asdict(run.recipe),
            "engine": run.engine.name,
            "precision": run.engine.precision,
            "processor": processor.name(),
        },
        metrics=asdict(best.scores),
        versions=versions(),
        scaling=IMAGE,
        license=LICENSE,
    )


if __name__ == "__main__":
    main()
