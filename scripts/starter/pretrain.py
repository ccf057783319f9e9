"""Train a starter model, a U-Net, on scenes, real ground and a teacher's labels, as a recipe says.

Run as `make starter` or `make starter-resnet34`. An interrupted run resumes from its checkpoint, as long as the
recipe is the same but for the number of steps. See recipe.py for all hyperparameters, and resources/starter/CARD.md for
the scores. Real ground is read from the folder named with --ground; what is missing there is said, and done without.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from scripts.starter.appearance import mix_styles
from scripts.starter.center_line_loss import loss_with_center_lines
from scripts.starter.chips import draw_batch
from scripts.starter.held_out import BANDS as NORMALIZED
from scripts.starter.held_out import (
    SCENES,
    best_threshold,
    drawn_images,
    ground_images,
    relaxed_f1,
    scene_images,
    score,
)
from scripts.starter.real_ground import ATTRIBUTION, LABELED, SHANGHAI, TOWNS, Ground, read_ground, read_towns
from scripts.starter.recipe import FROM_IMAGENET, ON_GROUND, ON_SCENES, RESNET34, STYLED, TAUGHT, Recipe
from scripts.starter.teacher import taught
from scripts.starter.worlds import World, make_worlds
from training_core.events import Reporter
from training_core.geodata.rasters import IMAGE, Band
from training_core.jobs import FineTune, RecipeOptions
from training_core.learning.calibration import with_scaled_logits
from training_core.learning.step import ChipStep
from training_core.learning.trainer import Trainer
from training_core.learning.training_loop import rate_at
from training_core.models.architectures import UNET, build_network
from training_core.models.base_model import BaseModel, architecture_for, read_base_model
from training_core.models.engine_choice import choose_precision, devices_at_hand
from training_core.models.engines import TRAINING_DEVICES, NativeEngine
from training_core.models.loading import load_network
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_compact_model, save_model
from training_core.segmentation.inference import Predictor
from training_core.segmentation.measured import middles, sufficient_halo_px
from training_core.system import processor
from training_core.system.machine import versions

LOG_STEPS = 50
# Typical of 8-bit images; each image is normalized by its own statistics.
BANDS = tuple(Band(name, 110.0, 45.0) for name in ("red", "green", "blue"))
RECIPES = {
    "scenes": ON_SCENES,
    "ground": ON_GROUND,
    "taught": TAUGHT,
    "resnet34": RESNET34,
    "imagenet": FROM_IMAGENET,
    "styled": STYLED,
}
_BEST = "best."
# Probability that stays as it is where certainty is lowered: about the threshold, so that masks at it do not change.
PIVOT = 0.3


def main() -> None:
    """Train, or resume, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="where to write the model as it was trained")
    parser.add_argument("compact", type=Path, help="where to write the model that is shipped")
    parser.add_argument("--recipe", choices=tuple(RECIPES), default="scenes")
    parser.add_argument("--start", default="", help="the model or encoder file to start from; none: random weights")
    parser.add_argument("--ground", type=Path, help="folder of real ground to train on, beside scenes")
    parser.add_argument(
        "--teacher", default="", help="the model file that labels what of real ground is not labeled well"
    )
    for name in ("steps", "schedule_steps", "scenes", "scene_px", "chip_px", "validation_steps", "seed"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    parser.add_argument("--without", nargs="*", default=(), choices=LABELED, help="ground to hold out as a whole")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--precision", choices=("auto", "bf16", "fp32"), default="auto")
    arguments = vars(parser.parse_args())
    model, compact, start, ground, teacher = map(arguments.pop, ("model", "compact", "start", "ground", "teacher"))
    left_out = arguments.pop("without")
    if threads := arguments.pop("threads"):
        torch.set_num_threads(threads)
    engine = engine_at_hand(arguments.pop("precision"))
    recipe = RECIPES[arguments.pop("recipe")]
    recipe = replace(recipe, **{name: value for name, value in arguments.items() if value is not None})
    grounds = learned_ground(ground, left_out) if ground else {}
    if teacher:
        grounds = taught_ground(ground, grounds, teacher_predictor(teacher, engine), recipe)
    validated = (
        [each for each in read_ground(ground, is_held_out=True) if each.source not in left_out] if ground else []
    )
    held_out = held_out_images(recipe, validated)
    drawn = drawn_images(validated, recipe.resolution_m)
    run = Run(recipe, model.with_suffix(".checkpoint"), start, grounds, held_out, engine)
    train(run, drawn, model, compact)


def engine_at_hand(precision: str) -> NativeEngine:
    """Return PyTorch on the GPU that is there, unless ROADSEG_DEVICE forbids it, or else on the CPU; say which."""
    devices = devices_at_hand(FineTune(), precision, TRAINING_DEVICES, Reporter())
    engine = devices[0] if devices else NativeEngine(choose_precision(precision, print))
    print(f"{engine.title} in {engine.precision}", flush=True)
    return engine


def learned_ground(folder: Path, left_out: Collection[str]) -> dict[str, list[Ground]]:
    """Return the real ground to learn from by source, some sources left out; say what there is."""
    found: dict[str, list[Ground]] = {source: [] for source in LABELED}
    for each in read_ground(folder, is_held_out=False, left_out=left_out):
        found[each.source].append(each)
    return told(found)


def told(grounds: dict[str, list[Ground]]) -> dict[str, list[Ground]]:
    """Print how many images of each source there are, and return those sources that have some."""
    for source, images in grounds.items():
        print(f"{source}: {len(images)} images", flush=True)
    return {source: images for source, images in grounds.items() if images}


def teacher_predictor(path: str, engine: NativeEngine) -> Predictor:
    """Return what predicts with the teacher."""
    return Predictor(engine.prepare_inference(load_network(path)[0]), engine, NORMALIZED)


def taught_ground(
    folder: Path, grounds: dict[str, list[Ground]], teacher: Predictor, recipe: Recipe
) -> dict[str, list[Ground]]:
    """Return the real ground to learn from by source, that without labels as well, as a teacher sees it."""
    everything = grounds | told({TOWNS: read_towns(folder)})
    return {
        source: taught(there, teacher, recipe.teacher_resolution_m) if source in recipe.taught else there
        for source, there in everything.items()
    }


def held_out_images(recipe: Recipe, grounds: list[Ground]) -> dict[str, list]:
    """Return the images to validate on, by source: scenes, and real ground."""
    images = ground_images(grounds, recipe.resolution_m)
    return {SCENES: scene_images(make_worlds(recipe, range(-recipe.scenes, 0))), **images}


def train(run: "Run", drawn: dict[str, list], model: Path, compact: Path) -> None:
    """Train as the recipe says, or resume, and write the model as it was trained and as it is shipped.

    Parameters
    ----------
    drawn : dict of str to list of LabeledImage
        Held-out real ground by source, labeled as it was drawn, to choose the threshold on.
    """
    run.to_the_end()
    weights = run.chosen()
    scale, shift = softened(*score(run.predictor(weights), run.held_out).calibration(), run.recipe.certainty)
    weights = with_scaled_logits(weights, scale, shift)
    described = card(run, drawn, weights, (scale, shift))
    save_model(model, weights, described)
    save_compact_model(compact, weights, described, run.recipe.quant_max)


def softened(scale: float, shift: float, certainty: float) -> tuple[float, float]:
    """Return scale and shift of logits that are further from PIVOT's by the factor `certainty`; see `Recipe`."""
    return scale * certainty, shift * certainty + (1 - certainty) * math.log(PIVOT / (1 - PIVOT))


class Run:
    """The state of a training.

    Parameters
    ----------
    checkpoint : Path
        File of the state, which is resumed from if it is there and of the same recipe.
    start : str
        Model file to start from; empty for random weights.
    grounds : dict of str to list of Ground
        Real ground to learn from, by source.
    held_out : dict of str to list of LabeledImage
        What it is scored on, by source.
    """

    def __init__(
        self,
        recipe: Recipe,
        checkpoint: Path,
        start: str,
        grounds: dict[str, list[Ground]],
        held_out: dict[str, list],
        engine: NativeEngine,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe, self.step, self.elapsed_s, self._checkpoint = recipe, 0, 0.0, checkpoint
        self.grounds, self.held_out = grounds, held_out
        self.best_step, self._best_score, self._best = 0, -1.0, {}
        self.engine, self.processor = engine, engine.title if engine.is_device else processor.name()
        options = RecipeOptions(batch_size=recipe.batch_size, chip_px=recipe.chip_px)
        base = read_base_model(start, UNET, recipe.encoder, Reporter())
        self.architecture = base.architecture if base else architecture_for(UNET, recipe.encoder)
        self.parts = learned_before(base)
        model = build_network(self.architecture)
        if base:
            model.load_state_dict(base.weights)
        if recipe.mixed_styles_share:
            layers = model.encoder.model
            for layer in (layers.bn1, *layers.blocks[:2]):
                mix_styles(layer, recipe.mixed_styles_share)
        self._start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        loss = partial(loss_with_center_lines, weight=recipe.center_line_weight)
        self.trainer = Trainer(model, self.engine, options, partial(ChipStep, loss=loss), averaging=recipe.averaging)
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
                batch = drawer.submit(draw_batch, recipe, worlds, self.grounds, self.step)
                while self.step < until:
                    chips, labels = batch.result()
                    batch = drawer.submit(draw_batch, recipe, worlds, self.grounds, self.step + 1)
                    losses.append(self._train_step(chips, labels))
                    if self.step % LOG_STEPS == 0:
                        print(f"step {self.step}, {self.elapsed_s / 60:.1f} min: "
                              f"loss {np.mean(losses[-LOG_STEPS:]):.4f}", flush=True)  # fmt: skip
                if recipe.validation_steps and self.step % recipe.validation_steps == 0:
                    self._validate()
                self._keep()

    def chosen(self) -> dict[str, torch.Tensor]:
        """Return the weights that scored best, or the last ones where none were scored; see `Recipe.is_mean`."""
        last = self.trainer.weights()
        best = self._best or last
        if not self.recipe.is_mean:
            return best
        return {
            name: (self._start[name] + best[name] + tensor) / 3 if tensor.is_floating_point() else tensor
            for name, tensor in last.items()
        }

    def predictor(self, weights: dict[str, torch.Tensor]) -> Predictor:
        """Return what predicts with some weights."""
        network = build_network(self.architecture)
        network.load_state_dict(weights)
        return Predictor(self.engine.prepare_inference(network), self.engine, NORMALIZED)

    def _validate(self) -> None:
        """Score the model, and keep its weights if they are the best so far."""
        with self.trainer.validating(NORMALIZED) as predictor:
            found = score(predictor, self.held_out)
        by_source = ", ".join(f"{source} {value:.3f}" for source, value in found.f1().items())
        print(f"step {self.step}: score {found.score:.4f} (F1 {by_source}; false road {found.false_share():.4f})",
              flush=True)  # fmt: skip
        if found.score > self._best_score:
            self.best_step, self._best_score = self.step, found.score
            self._best = self.trainer.weights()

    def _worlds(self) -> list[World]:
        """Return the worlds of the present step."""
        first = self.step // self.recipe.steps_per_world * self.recipe.scenes
        return make_worlds(self.recipe, range(first, first + self.recipe.scenes))

    def _train_step(self, chips: np.ndarray, labels: np.ndarray) -> float:
        recipe, began_s = self.recipe, time.monotonic()
        rate = rate_at(self.step / recipe.schedule_steps, recipe.learning_rate, recipe.warm_up_fraction)
        loss = self.trainer.step(chips, labels, rate)
        self.step += 1
        self.elapsed_s += time.monotonic() - began_s
        return loss

    def _keep(self) -> None:
        told = {"step": self.step, "elapsed_s": self.elapsed_s, "recipe": asdict(self.recipe),
                "best_step": self.best_step, "best_score": self._best_score}  # fmt: skip
        tensors = {**self.trainer.state_dict(), **{_BEST + name: tensor for name, tensor in self._best.items()}}
        beside = self._checkpoint.with_suffix(".part")
        save_file(tensors, beside, metadata={"told": json.dumps(told)})
        beside.replace(self._checkpoint)

    def _resume(self) -> None:
        with safe_open(self._checkpoint, framework="pt") as file:
            told = json.loads(file.metadata()["told"])
            if {**told["recipe"], "steps": 0} != json.loads(json.dumps({**asdict(self.recipe), "steps": 0})):
                raise SystemExit(f"{self._checkpoint} is of another recipe; move it away to start afresh.")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        self._best = {name[len(_BEST) :]: tensor for name, tensor in tensors.items() if name.startswith(_BEST)}
        self.trainer.load_state_dict({name: each for name, each in tensors.items() if not name.startswith(_BEST)})
        self.step, self.elapsed_s = told["step"], told["elapsed_s"]
        self.best_step, self._best_score = told["best_step"], told["best_score"]
        print(f"resuming from step {self.step}", flush=True)


def card(
    run: Run, drawn: dict[str, list], weights: dict[str, torch.Tensor], calibration: tuple[float, float]
) -> ModelCard:
    """Return what is known of the model, with its scores on scenes and ground that it has not learned from."""
    predictor, resolution_m = run.predictor(weights), run.recipe.resolution_m
    found = score(predictor, run.held_out)
    threshold = best_threshold(relaxed_f1(predictor, {SCENES: run.held_out[SCENES], **drawn}, resolution_m))
    seen = [images[0] for images in run.held_out.values()]
    return ModelCard(
        architecture=run.architecture,
        bands=BANDS,
        resolution_m=resolution_m,
        threshold=threshold,
        chip_px=run.recipe.chip_px,
        halo_px=sufficient_halo_px(predictor, middles((each.values, each.known) for each in seen), threshold),
        training={
            "images": ", ".join(("generated scenes", *run.grounds)),
            "attribution": {
                **{source: ATTRIBUTION[source] for source in run.grounds},
                **({"encoder": run.recipe.encoder_attribution} if run.recipe.encoder_attribution else {}),
            },
            "minutes": round(run.elapsed_s / 60, 1),
            "steps": run.step if run.recipe.is_mean else run.best_step or run.step,
            "before": run.parts,
            "recipe": asdict(run.recipe),
            "engine": run.engine.name,
            "precision": run.engine.precision,
            "processor": run.processor,
            "calibration": {"scale": round(calibration[0], 3), "shift": round(calibration[1], 3)},
            "held_out_f1": {source: round(value, 4) for source, value in found.f1().items()},
        },
        metrics=asdict(found.joint.scores(threshold)),
        versions=versions(),
        scaling=IMAGE,
        license=license_of(run.grounds),
        threshold_by_image=bool(run.grounds),
    )


def learned_before(base: BaseModel | None) -> list[dict[str, float]]:
    """Return steps, minutes and seed of each training that a model to start from has behind it."""
    training = base.card.training if base and base.card else {}
    if "recipe" not in training:
        return []
    last = {"steps": training["steps"], "minutes": training["minutes"], "seed": training["recipe"]["seed"]}
    return [*training.get("before", []), last]


def license_of(sources: Collection[str]) -> str:
    """Return the license of what is learned from sources of real ground: that of SpaceNet is share-alike."""
    if SHANGHAI in sources:
        return "CC-BY-SA-4.0"
    return "CC-BY-4.0" if sources else "CC0-1.0"


if __name__ == "__main__":
    main()
