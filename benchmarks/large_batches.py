"""Large batches: optimizer steps and chips until a fine-tune reaches the F1 of small ones, by optimizer and by rate.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/large_batches.py`. Batches of 4 chips are
accumulated to effective ones of 4, 16, 64 and 256, and every training sees the same number of chips: 64 times the batch
is 64 times fewer steps. The rate of a batch of 4 grows with the effective batch k times as large by a power of k: 0 is
no rule, 0.5 the square root, 1 linear. `rule` is what the recipe does when no rate is given. The target is a share of
the best F1 that AdamW reaches with a batch of 4 and the same seed; all held-out blocks are scored at their best
threshold, at equal numbers of chips (a batch of 256 after every step).

The ground is a generated scene that the starter hardly knows, or with `--real` a scene of quality.py, which needs
shared/data beside the project. Two trainings at a time with one thread each; a training that is given in the file of
`--courses`, one JSON document a line, is not made again.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from training_core.system import processor

processor.prepare_process(threads=1)

import torch
from torch import nn

from benchmarks.quality import Scene, make_scenes, run_core
from benchmarks.starter import whole
from training_core.events import Reporter
from training_core.jobs import FineTune
from training_core.jobs.recipe import OPTIMIZERS, REFERENCE_BATCH
from training_core.jobs.starter import PATH as STARTER_PATH
from training_core.labels.label_edges import EDGE_M, ignore_edges
from training_core.labels.labeled_images import (
    LabeledImage,
    read_drawing,
    read_labeled_images,
    with_common_scaling,
)
from training_core.labels.validation_split import split_for_validation
from training_core.learning.chips import ChipSampler, prefetch
from training_core.learning.history import History
from training_core.learning.optimizers import USUAL_RATES, peak_rate
from training_core.learning.trainer import Trainer
from training_core.learning.training_loop import Training
from training_core.learning.validation import held_out_blocks
from training_core.models.architectures import adapt_first_layer, build_network
from training_core.models.decoder import DecoderBlock
from training_core.models.engines import NativeEngine
from training_core.models.loading import load_into, load_weights

REAL = ("banepa", "vegas", "car_parks")
# What random weights learn in some minutes, and what the starter hardly knows.
GENERATED = {
    "random": {"size_px": "1536", "resolution_m": "0.5", "layout": "mixed", "seed": "3"},
    "starter": {
        **{"size_px": "1536", "resolution_m": "0.3", "layout": "rural", "seed": "6"},
        **{"region": "himalayan", "bands": "pan"},
    },
}
RULE = "rule"
POWERS = {"unscaled": 0.0, "square root": 0.5, "linear": 1.0}
# All batches are this large as batch norm sees them.
BATCH = REFERENCE_BATCH
AT_ONCE = 2


@dataclass(frozen=True)
class Way:
    """How to train: the optimizer, the effective batch, what the rate follows (RULE or one of POWERS), and the seed."""

    optimizer: str
    batch: int
    rule: str
    seed: int


@dataclass(frozen=True)
class Course:
    """A training: F1 after so many steps, with 0 the base model's, and whether it diverged."""

    way: Way
    rate: float
    points: list[tuple[int, float]]
    has_diverged: bool

    @property
    def best_f1(self) -> float:
        """The best F1 after at least one step."""
        return max((f1 for step, f1 in self.points if step), default=0.0)

    def steps_to(self, target: float) -> float:
        """Return the steps until F1 first reaches a target; infinite where it does not."""
        return next((step for step, f1 in self.points if f1 >= target), math.inf)


def main() -> None:
    arguments = parse_arguments()
    courses = read_courses(arguments.courses)
    missing = [way for way in ways(arguments) if way not in courses]
    print(f"{processor.name()}; {arguments.chips} chips of {arguments.chip_px} px in each training")
    print("optimizer  batch  rate follows  seed      rate  best F1 (chips seen)  F1 at the end", flush=True)
    with tempfile.TemporaryDirectory() as name:
        scene = make_scene(arguments, Path(name))
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(AT_ONCE, mp_context=context, max_tasks_per_child=1) as pool:
            pending = [pool.submit(train, way, scene, arguments) for way in missing]
            for course in (finished.result() for finished in as_completed(pending)):
                courses[course.way] = course
                show_course(course)
                if arguments.courses:
                    with arguments.courses.open("a") as file:
                        file.write(json.dumps(asdict(course)) + "\n")
    show_table([courses[way] for way in ways(arguments)], arguments.share)


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizers", nargs="+", default=["adamw", "lamb", "lars"], choices=OPTIMIZERS)
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16, 64, 256])
    parser.add_argument("--rules", nargs="+", default=["unscaled", RULE], choices=[RULE, *POWERS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--start", default="random", choices=list(GENERATED))
    parser.add_argument("--chips", type=int, default=4096, help="that each training sees")
    parser.add_argument("--chip-px", type=int, default=64)
    parser.add_argument("--validations", type=int, default=32, help="of each training, at most")
    parser.add_argument("--share", type=float, default=0.95, help="of the best F1 of AdamW with a batch of 4")
    parser.add_argument("--precision", default="bf16", choices=("bf16", "fp32"))
    parser.add_argument("--real", choices=REAL)
    parser.add_argument("--courses", type=Path, help="file to read trainings from and to add them to")
    return parser.parse_args()


def ways(arguments: argparse.Namespace) -> Iterator[Way]:
    """Yield what is trained: a batch of 4, whose rate follows nothing, once for all rules, that of AdamW first."""
    for optimizer in dict.fromkeys(["adamw", *arguments.optimizers]):
        for seed in arguments.seeds:
            yield Way(optimizer, BATCH, RULE, seed)
    for batch in sorted(set(arguments.batches) - {BATCH}, reverse=True):
        for optimizer in arguments.optimizers:
            for rule in arguments.rules:
                for seed in arguments.seeds:
                    yield Way(optimizer, batch, rule, seed)


def read_courses(path: Path | None) -> dict[Way, Course]:
    """Return the trainings in a file, by how they were made."""
    courses = {}
    for line in path.read_text().splitlines() if path and path.exists() else ():
        document = json.loads(line)
        way = Way(**document.pop("way"))
        courses[way] = Course(way, **document)
    return courses


def make_scene(arguments: argparse.Namespace, folder: Path) -> Scene:
    """Return the ground to train on, whose scored area is all that is labeled; none is an area that ends nowhere."""
    if arguments.real:
        scene = next(scene for scene in make_scenes(folder) if scene.name == arguments.real)
        return replace(scene, scored=whole(scene, folder))
    raster, roads = str(folder / "scene.tif"), str(folder / "roads.gpkg")
    run_core("makescene", {"raster": raster, "roads": roads, **GENERATED[arguments.start]})
    return Scene("generated", raster, roads, "", "", {"width_field": "width_m"})


def train(way: Way, scene: Scene, arguments: argparse.Namespace) -> Course:
    """Train in one way."""
    recipe = recipe_of(way, scene, arguments)
    images, network = begin_starter(recipe) if recipe.base_model else begin_small(recipe)
    blocks = held_out_blocks(images, recipe.seed)
    trainer = Trainer(network, NativeEngine(recipe.precision), recipe)
    training = Training(trainer, images, recipe, Reporter(), History(validation_blocks=len(blocks)))
    training.validate()
    due = {math.ceil(part * recipe.steps / arguments.validations) for part in range(1, arguments.validations + 1)}

    def validate_if_due(training: Training) -> None:
        validated_at = training.history.validations[-1][0]
        if training.history.step in due and validated_at != training.history.step:
            training.validate()

    batches = prefetch(ChipSampler(images, recipe.chip_px, recipe.seed), recipe.batch_size * recipe.accumulation)
    training.run(batches, validate_if_due)
    points = [(step, scores.f1) for step, _, scores in training.history.validations]
    return Course(way, peak_rate(recipe), points, training.history.step < recipe.steps)


def begin_starter(recipe: FineTune) -> tuple[list[LabeledImage], nn.Module]:
    """Return the images at the resolution of the base model, and that model for their bands."""
    weights, card = load_weights(recipe.base_model)
    images = read_images(recipe, card.resolution_m)
    names = tuple(band.name for band in images[0].bands)
    network = build_network(replace(card.architecture, in_channels=len(names)))
    load_into(
        network, adapt_first_layer(weights, card.architecture.first_layer, card.band_names, names), recipe.base_model
    )
    return images, network


def begin_small(recipe: FineTune) -> tuple[list[LabeledImage], nn.Module]:
    """Return the images, and a small network with random weights: a ResNet18-UNet without its deepest stage."""
    from segmentation_models_pytorch import Unet

    images = read_images(recipe, 0.0)
    torch.manual_seed(recipe.seed)
    channels = (64, 32, 16, 16)
    network = Unet("resnet18", len(channels), None, decoder_channels=channels, in_channels=len(images[0].bands))
    network.decoder.blocks = nn.ModuleList(map(DecoderBlock, network.decoder.blocks))
    return images, network.to(memory_format=torch.channels_last)


def recipe_of(way: Way, scene: Scene, arguments: argparse.Namespace) -> FineTune:
    """Return the job that trains in one way."""
    recipe = FineTune(
        rasters=(scene.raster,),
        roads=scene.roads,
        aoi=scene.scored,
        base_model=str(STARTER_PATH) if arguments.start == "starter" else "",
        batch_size=BATCH,
        accumulation=way.batch // BATCH,
        steps=arguments.chips // way.batch,
        chip_px=arguments.chip_px,
        optimizer=way.optimizer,
        frozen_stages=0,
        precision=arguments.precision,
        seed=way.seed,
        **scene.options,
    )
    if way.rule == RULE:
        return recipe
    wanted = USUAL_RATES[way.optimizer] * (way.batch / BATCH) ** POWERS[way.rule]
    return replace(recipe, learning_rate=wanted / peak_rate(replace(recipe, learning_rate=1.0)))


def read_images(job: FineTune, resolution_m: float) -> list[LabeledImage]:
    """Return the labeled images as the job reads them; the same blocks are held out whatever the seed."""
    drawing = read_drawing(job.roads, job.aoi, job)
    images = read_labeled_images(job.rasters, drawing, resolution_m, (), (), Reporter())
    images = split_for_validation(with_common_scaling(images), job.validation_share, 256, 0)
    return [ignore_edges(image, EDGE_M) for image in images]


def show_course(course: Course) -> None:
    way = course.way
    step = course.steps_to(course.best_f1)
    print(f"{way.optimizer:9} {way.batch:6} {way.rule:>13} {way.seed:5} {course.rate:9.3g} {course.best_f1:8.3f} "
          f"({step * way.batch:.0f}){' diverged' if course.has_diverged else f' {course.points[-1][1]:8.3f}'}",
          flush=True)  # fmt: skip


def show_table(courses: list[Course], share: float) -> None:
    """Print steps, chips and best F1 of each way; cells hold one number for each seed."""
    best = {course.way.seed: course.best_f1 for course in courses if course.way == replace(
        course.way, optimizer="adamw", batch=BATCH, rule=RULE)}  # fmt: skip
    targets = {seed: share * f1 for seed, f1 in best.items()}
    print(f"\nTarget F1: {cell(f'{target:.3f}' for target in targets.values())}; before the first step "
          f"{courses[0].points[0][1]:.3f}\n")  # fmt: skip
    print("| optimizer | batch | rate follows | rate | steps to the target | chips | best F1 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for first in courses:
        way = first.way
        if way.seed == next(iter(targets)):
            seeds = [course for course in courses if replace(course.way, seed=way.seed) == way]
            steps = [course.steps_to(targets[course.way.seed]) for course in seeds]
            print(f"| {way.optimizer} | {way.batch} | {way.rule if way.batch > BATCH else '-'} | {first.rate:.3g} "
                  f"| {cell(f'{step:g}' if math.isfinite(step) else 'not reached' for step in steps)} "
                  f"| {cell(f'{step * way.batch:g}' if math.isfinite(step) else '-' for step in steps)} "
                  f"| {cell(f'{course.best_f1:.3f}' for course in seeds)} |")  # fmt: skip


def cell(texts: Iterable[str]) -> str:
    return ", ".join(texts)


if __name__ == "__main__":
    main()
