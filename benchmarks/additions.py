"""What each addition to the scenes brings: the starter trained some steps with it, beside a control without any.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/additions.py`. Every run starts from the starter
and trains as scripts/starter does on scenes and real ground: the control on scenes without additions, the others with
the same seed and real ground on scenes with one of them, or with all. Each is scored on held-out real ground (squares
of Massachusetts and Dubai, tiles without roads) and on held-out scenes that hold its addition, on which the control is
scored, too. Real ground that is not there is said to be absent and done without; on scenes alone a model drifts away
from real ground. Shares of false and missed road are of the length of center lines, the false area is a share of all.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from training_core.system import processor

processor.prepare_process()

import torch

from scripts.starter.held_out import BANDS, SCENES, ground_images, scene_images
from scripts.starter.pretrain import Run, held_out_ground, learned_ground
from scripts.starter.real_ground import DUBAI, MASSACHUSETTS, ROADLESS, Ground
from scripts.starter.recipe import ON_GROUND, Recipe
from scripts.starter.threshold import TOLERANCE_M, drawn_images
from scripts.starter.worlds import make_worlds
from training_core.extraction.thinning import thin
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.labels.labeled_images import LabeledImage
from training_core.models.engines import NativeEngine, choose_precision
from training_core.models.model_file import load_model
from training_core.scenes.plan.additions import KINDS, NO_ADDITIONS, Additions
from training_core.segmentation.inference import Predictor
from training_core.segmentation.pixel_metrics import RelaxedCounts, relaxed_matches

STARTER = ROOT / "resources" / "starter" / "roads.safetensors"
GROUND = ROOT.parent / "shared" / "data" / "real"
UNTRAINED, CONTROL, ALL = "untrained", "control", "all"
ALL_OF_SHARE = 0.4  # of each kind where all are added
# The average of the weights must follow within a few steps, and the rate is that of the end of the starter's training.
AVERAGING, LEARNING_RATE, WARM_UP_SHARE = 0.98, 1e-4, 0.1


@dataclass(frozen=True)
class Score:
    """What a model gets wrong on some images.

    Parameters
    ----------
    false, missed : float
        False center lines as a share of those predicted, and missed ones of the true.
    f1 : float
        Relaxed F1.
    area : float
        Share of the known pixels that are predicted and false.
    """

    false: float
    missed: float
    f1: float
    area: float


Scores = dict[str, Score]


def main() -> None:
    """Train and score each run, then print the mean differences from the control."""
    arguments = parsed()
    torch.set_num_threads(arguments.threads)
    engine = NativeEngine(choose_precision(arguments.precision, print))
    grounds = learned_ground(arguments.ground) if arguments.ground.is_dir() else {}
    real = real_images(arguments)
    runs: dict[tuple[str, int], Scores] = {}
    network, described = load_model(str(STARTER))
    starter = Predictor(engine.prepare_inference(network), engine, BANDS)
    for seed in arguments.seeds:
        made = {name: held_out_scenes(arguments, name, seed) for name in arguments.additions if name != CONTROL}
        runs[UNTRAINED, seed] = scored(starter, real, made, described.threshold)
        show(UNTRAINED, seed, runs[UNTRAINED, seed])
        for name in dict.fromkeys([CONTROL, *arguments.additions]):
            seen = made if name == CONTROL else {name: made[name]}
            with tempfile.TemporaryDirectory() as folder:
                recipe = recipe_with(arguments, name, seed, grounds)
                run = Run(recipe, Path(folder) / "run.checkpoint", str(STARTER), grounds, {}, engine)
                run.to_the_end()
            print(f"{run.elapsed_s / max(1, run.step):.1f} s a step")
            with run.trainer.validating(BANDS) as predictor:
                runs[name, seed] = scored(predictor, real, seen, described.threshold)
            show(name, seed, runs[name, seed])
    for name in arguments.additions:
        show_difference(name, arguments.seeds, runs)


def parsed() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*KINDS, ALL)
    parser.add_argument(
        "--additions", nargs="+", choices=names, default=names, help="beside the control, always trained"
    )
    parser.add_argument("--share", type=float, default=0.5, help="of the places where an addition can be")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--scenes", type=int, default=24, help="scenes to train on")
    parser.add_argument("--scene-px", type=int, default=ON_GROUND.scene_px)
    parser.add_argument("--held-out-scenes", type=int, default=6, help="scenes of each addition to score on")
    parser.add_argument("--every", type=int, default=1, help="score every n-th square of real ground")
    parser.add_argument("--ground", type=Path, default=GROUND, help="folder of real ground")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("auto", "bf16", "fp32"), default="fp32")
    return parser.parse_args()


def real_images(arguments: argparse.Namespace) -> dict[str, Sequence[LabeledImage]]:
    """Return the held-out squares of real ground by source; say which sources are absent."""
    there: list[Ground] = held_out_ground(arguments.ground)
    roadless = [each for each in there if each.source == ROADLESS]
    resolution_m = ON_GROUND.resolution_m
    images = {**drawn_images(there, resolution_m), **ground_images(roadless, resolution_m)}
    for source in (MASSACHUSETTS, DUBAI, ROADLESS):
        if source not in images:
            print(f"{source} is absent, and left out.")
    return {source: squares[:: arguments.every] for source, squares in images.items()}


def shares_of(name: str, share: float) -> Additions:
    """Return what is added in a run."""
    if name == CONTROL:
        return NO_ADDITIONS
    return Additions(**(dict.fromkeys(KINDS, ALL_OF_SHARE * share) if name == ALL else {name: share}))


def recipe_with(arguments: argparse.Namespace, name: str, seed: int, grounds: Mapping[str, object]) -> Recipe:
    """Return the recipe of a run; runs of one seed differ in what is added to their scenes alone."""
    return replace(
        ON_GROUND,
        steps=arguments.steps,
        schedule_steps=arguments.steps,
        steps_per_world=arguments.steps,
        learning_rate=LEARNING_RATE,
        warm_up_share=WARM_UP_SHARE,
        averaging=AVERAGING,
        scenes=arguments.scenes,
        scene_px=arguments.scene_px,
        additions=shares_of(name, arguments.share),
        ground_shares={source: share for source, share in ON_GROUND.ground_shares.items() if source in grounds},
        validation_steps=0,
        seed=seed,
    )


def held_out_scenes(arguments: argparse.Namespace, name: str, seed: int) -> list[LabeledImage]:
    """Return scenes that hold an addition and that no run trains on."""
    return scene_images(make_worlds(recipe_with(arguments, name, seed, {}), range(-arguments.held_out_scenes, 0)))


def scored(
    predictor: Predictor,
    real: Mapping[str, Sequence[LabeledImage]],
    made: Mapping[str, Sequence[LabeledImage]],
    threshold: float,
) -> Scores:
    """Return a model's scores by source of real ground, and by addition on scenes."""
    found = {
        source: score(predictor, images, TOLERANCE_M.get(source, 3.0), threshold) for source, images in real.items()
    }
    scenes = {f"{SCENES}: {name}": images for name, images in made.items()}
    return found | {name: score(predictor, images, TOLERANCE_M[SCENES], threshold) for name, images in scenes.items()}


def score(predictor: Predictor, images: Sequence[LabeledImage], tolerance_m: float, threshold: float) -> Score:
    """Return what a model gets wrong on images at the ground resolution of the recipe."""
    counts, known = RelaxedCounts(), 0
    predicted = false = true = missed = 0
    for image in images:
        mask = predictor.probability(image.values, image.known) >= threshold
        truth, pixel_m = image.validation, ON_GROUND.resolution_m
        matches = relaxed_matches(mask, truth, tolerance_m, (pixel_m, pixel_m))
        counts += matches.counts()
        known += int((truth != IGNORE).sum())
        found_lines, true_lines = thin(mask) & matches.predicted, thin(truth == ROAD)
        predicted, true = predicted + int(found_lines.sum()), true + int(true_lines.sum())
        false += int((found_lines & ~matches.correct).sum())
        missed += int((true_lines & ~matches.found).sum())
    wrong = counts.predicted - counts.correct
    return Score(false / max(1, predicted), missed / max(1, true), counts.f1, wrong / max(1, known))


def show(name: str, seed: int, scores: Scores) -> None:
    """Print the scores of a run."""
    print(f"\n{name}, seed {seed}\n{'':26}  false  missed  relaxed F1  false area")
    for source, each in scores.items():
        print(f"{source:26} {each.false:6.3f} {each.missed:7.3f} {each.f1:11.3f} {each.area:11.4f}", flush=True)


def show_difference(name: str, seeds: Sequence[int], runs: Mapping[tuple[str, int], Scores]) -> None:
    """Print what a run has more than the control, as the mean over seeds, with the range over them."""
    print(f"\n{name} less {CONTROL}, mean of {len(seeds)} (least to most)")
    for source in runs[name, seeds[0]]:
        parts = []
        for field in ("false", "missed", "f1", "area"):
            apart = [
                getattr(runs[name, seed][source], field) - getattr(runs[CONTROL, seed][source], field) for seed in seeds
            ]
            parts.append(f"{field} {statistics.mean(apart):+.4f} ({min(apart):+.4f} to {max(apart):+.4f})")
        print(f"{source:26} " + ", ".join(parts), flush=True)


if __name__ == "__main__":
    main()
