"""What fine-tuning brings elsewhere: models between the starter and the fine-tuned one, on drawn and on other ground.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/carry_over.py --minutes 5`. Weights are
interpolated (Wortsman et al., 2022, Robust fine-tuning of zero-shot models): share 0 is the starter, 1 the fine-tuned
model. It learns the western half of Banepa's northwest, and is scored on that half (drawn), on the eastern one, and in
another part of the town (south): relaxed F1 within 3 m at the model's threshold, and F1 at the best one.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path

from quality import ROOT, Scene, fine_tune, make_scenes, score
from training_core.models.model_file import load_weights, save_model

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
        print(f"{trained.steps} steps\nshare   drawn     east    south", flush=True)
        elsewhere = dataclasses.replace(south, trained=banepa.trained)
        grounds = (dataclasses.replace(banepa, scored=banepa.trained), banepa, elsewhere)
        for share in arguments.shares:
            model = blended(arguments.starter, trained.model, share, folder / "blended.safetensors")
            print(f"{share:5.2f} " + " ".join(relaxed_f1(ground, model) for ground in grounds), flush=True)


def blended(start: str, end: str, share: float, path: Path) -> str:
    """Write the model between two, with the card of the second one, and return its file."""
    (first, _), (second, card) = load_weights(start), load_weights(end)
    weights = {
        name: each if not each.is_floating_point() else first[name].lerp(each, share) for name, each in second.items()
    }
    save_model(path, weights, card)
    return str(path)


def relaxed_f1(ground: Scene, model: str) -> str:
    """Return relaxed F1 at the model's threshold and F1 at the best one, as text."""
    found = score(ground, model)
    return f"{found['relaxed']['f1']:.3f}/{found['best']['f1']:.3f}"


if __name__ == "__main__":
    main()
