"""What fine-tuning brings elsewhere: models between the starter and the fine-tuned one, on drawn and on other ground.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/carry_over.py --minutes 5`. Weights are
interpolated (Wortsman et al., 2022, Robust fine-tuning of zero-shot models): share 0 is the starter, 1 the fine-tuned
model. It learns the western half of Banepa's northwest, and is scored on that half (drawn), on the eastern one, and in
another part of the town (south): relaxed F1 within 3 m at the model's threshold, at the starter's, and F1 at the best
one.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path

from benchmarks.quality import ROOT, Scene, fine_tune, make_scenes, score
from training_core.models.loading import load_weights
from training_core.models.model_file import save_model

STARTER = str(ROOT / "resources" / "starter" / "roads.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--starter", default=STARTER)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.4, 0.6, 0.8, 1.0])
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE")
    arguments = parser.parse_args()
    options = dict(item.split("=", 1) for item in arguments.set)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenes = {scene.name: scene for scene in make_scenes(folder)}
        banepa, south = scenes["banepa"], scenes["south"]
        trained = fine_tune(banepa, arguments.minutes, {"base_model": arguments.starter, **options}, folder)
        elsewhere = dataclasses.replace(south, trained=banepa.trained)
        grounds = (dataclasses.replace(banepa, scored=banepa.trained), banepa, elsewhere)
        kept = load_weights(arguments.starter)[1].threshold
        learned = load_weights(trained.model)[1].threshold
        print(f"{trained.steps} steps, threshold {learned:.2f}, of the starter {kept:.2f}")
        print(f"share  {'drawn':18} {'east':18} south", flush=True)
        for share in arguments.shares:
            row = [scores(arguments.starter, trained.model, share, (learned, kept), ground) for ground in grounds]
            print(f"{share:5.2f}  " + "  ".join(row), flush=True)


def scores(start: str, end: str, share: float, thresholds: tuple[float, float], ground: Scene) -> str:
    """Return relaxed F1 of a model between two, at each threshold, and F1 at the best one, as text."""
    with tempfile.TemporaryDirectory() as folder:
        models = [blended(start, end, share, each, Path(folder) / f"{each}.safetensors") for each in thresholds]
        found = [score(ground, model) for model in models]
    relaxed = "/".join(f"{each['relaxed']['f1']:.3f}" for each in found)
    return f"{relaxed} {found[0]['best']['f1']:.3f}"


def blended(start: str, end: str, share: float, threshold: float, path: Path) -> str:
    """Write the model between two, with the card of the second one and a threshold, and return its file."""
    (first, _), (second, card) = load_weights(start), load_weights(end)
    weights = {
        name: each if not each.is_floating_point() else first[name].lerp(each, share) for name, each in second.items()
    }
    save_model(path, weights, dataclasses.replace(card, threshold=threshold))
    return str(path)


if __name__ == "__main__":
    main()
