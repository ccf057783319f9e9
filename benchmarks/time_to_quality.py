"""Time to quality: seconds from Run to a model with a given relaxed F1 on a held-out area, by class of processor.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/time_to_quality.py --other ../before`, where
`../before` is another checkout, such as `git worktree add ../before COMMIT` makes. Without options that is a night's
work: `--scenes`, `--starts`, `--classes`, `--seeds` and `--minutes` choose parts of it.

A ladder of time budgets, each a whole run of the job `finetune` by the command line in a process of its own, is climbed
for each seed, this checkout, the other one and the plain script in turns, until the highest target is reached. A model
is scored as quality.py does, at its own threshold on the half that was held out, at full speed. The time to a target is
the wall-clock time, from the start of the process to the finished model, of the shortest budget from which on all
budgets reach it. `--every-budget` climbs to the end, for the wall-clock time of each budget.

Lesser classes of processors are had by limiting the instruction sets that PyTorch's libraries use; cores, caches and
memory are those of this machine. Where a class has no BF16, FP32 is asked for, since earlier checkouts go by the
processor as it is. Scenes are the real ones of quality.py, which need shared/data beside the project, and generated
ones, named by their layout, of the kind that the starter model was trained on. The plain script knows random weights
and FP32 only, and is given its pixels ready-made.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

import rasterio

from benchmarks.quality import DATA, ROOT, Scene, fine_tune, halves, make_scenes, run_core, score, train_plainly
from training_core.jobs import MakeScene

REAL = ("banepa", "vegas", "car_parks")
# The scene that `make demo` makes is the one of the layout mixed.
GENERATED = {"size_px": "2048", "seed": "3"}
TARGETS = {"starter": (0.92, 0.94, 0.95), "random": (0.80, 0.85, 0.90)}
HERE, OTHER, PLAIN = "here", "other", "plain"
# A convolution large enough for oneDNN, which then says what instruction set it uses at most.
ASK = """
import torch
torch.conv2d(torch.zeros(1, 16, 64, 64), torch.zeros(16, 16, 3, 3))
print(torch.backends.cpu.get_cpu_capability())
"""


@dataclass(frozen=True)
class ProcessorClass:
    """A class of processors: limits of the libraries, a part of what oneDNN says it uses then, and the precision."""

    limits: Mapping[str, str]
    shown: str
    precision: str


CLASSES = {
    name: ProcessorClass({"ONEDNN_MAX_CPU_ISA": onednn, "ATEN_CPU_CAPABILITY": aten}, shown, precision)
    for name, onednn, aten, shown, precision in (
        ("avx2", "AVX2", "avx2", "AVX2", "fp32"),
        ("avx512", "AVX512_CORE", "avx512", "AVX-512", "fp32"),
        ("avx512-bf16", "AVX512_CORE_BF16", "avx512", "bfloat16", "auto"),
        ("amx", "AVX512_CORE_AMX", "avx512", "AMX", "auto"),
    )
}


@dataclass(frozen=True)
class Case:
    """What a ladder is climbed for: a scene, a start (starter or random), a class of processors, and who trains."""

    scene: str
    start: str
    processor: str
    who: str


@dataclass(frozen=True)
class Rung:
    """A run of a ladder: its budget, its seconds from the start of the process to the model, and its score."""

    case: Case
    seed: int
    minutes: float
    wall_s: float
    relaxed_f1: float


def main() -> None:
    arguments = parse_arguments()
    rungs: list[Rung] = []
    with tempfile.TemporaryDirectory(prefix="roadseg-time-") as name:
        folder = Path(name)
        classes = show_classes(arguments.classes)
        print("\nscene     start    class        who    seed    min   wall s  1st step s  steps  held out     IoU  "
              "relaxed F1", flush=True)  # fmt: skip
        try:
            for scene in scenes(arguments.scenes, folder):
                for start in arguments.starts:
                    for processor in classes:
                        for seed in arguments.seeds:
                            climb(scene, start, processor, seed, arguments, folder, rungs)
        finally:  # what was measured until somebody stopped it
            for start in arguments.starts:
                show_tables([rung for rung in rungs if rung.case.start == start], TARGETS[start])


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    layouts = next(field for field in MakeScene.option_fields() if field.name == "layout").option.choices
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=["banepa", "vegas", "mixed"], choices=[*REAL, *layouts])
    parser.add_argument("--starts", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--classes", nargs="+", choices=list(CLASSES), help="default: all that this machine can be")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, nargs="+", default=[0.25, 0.5, 1.0, 2.0, 5.0], help="the ladder")
    parser.add_argument("--every-budget", action="store_true", help="go on beyond the highest target")
    parser.add_argument("--other", type=Path, help="folder of another checkout")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain script out")
    parser.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="of the fine-tune, in this checkout alone"
    )
    arguments = parser.parse_args()
    arguments.minutes.sort()
    return arguments


def show_classes(names: Optional[Sequence[str]]) -> list[str]:
    """Print what the libraries use under the limits of each class; return those that this machine can be."""
    able = []
    for name in names or CLASSES:
        limits = CLASSES[name].limits
        asked = [sys.executable, "-c", ASK]
        environment = {**os.environ, **limits, "ONEDNN_VERBOSE": "1"}
        said = subprocess.run(asked, env=environment, check=True, capture_output=True, text=True).stdout
        used = next(line.split("isa:")[1] for line in said.splitlines() if "cpu,isa:" in line)
        is_able = CLASSES[name].shown in used
        if is_able:
            able.append(name)
        print(f"{name}{'' if is_able else ', which this machine is not'}: oneDNN uses {used}, ATen "
              f"{said.splitlines()[-1]}; limited by {' '.join(f'{key}={value}' for key, value in limits.items())}",
              flush=True)  # fmt: skip
    return able


def scenes(names: Sequence[str], folder: Path) -> Iterable[Scene]:
    """Yield scenes by their names."""
    real = {scene.name: scene for scene in make_scenes(folder)} if DATA.exists() else {}
    for name in names:
        if name in REAL and not real:
            raise SystemExit(f"The scene {name} needs {DATA}.")
        yield real[name] if name in REAL else generate(name, folder)


def generate(layout: str, folder: Path) -> Scene:
    """Return a generated scene."""
    raster, roads = str(folder / f"{layout}.tif"), str(folder / f"{layout}_roads.gpkg")
    run_core("makescene", {"raster": raster, "roads": roads, "layout": layout, **GENERATED})
    with rasterio.open(raster) as image:
        return Scene(
            layout, raster, roads, *halves(layout, image.bounds, image.crs, folder), {"width_field": "width_m"}
        )


def climb(
    scene: Scene, start: str, processor: str, seed: int, arguments: argparse.Namespace, folder: Path, rungs: list[Rung]
) -> None:
    """Climb the ladder of one seed, all in turns; each run is added to `rungs` as it ends."""
    climbing = [HERE, *([OTHER] if arguments.other else [])]
    climbing += [PLAIN] if start == "random" and not arguments.no_plain else []
    for number, minutes in enumerate(arguments.minutes):
        # Who begins changes, so that what else the machine does is fair to all.
        for who in climbing[:: -1 if (number + seed) % 2 else 1]:
            rungs.append(run(Case(scene.name, start, processor, who), scene, seed, minutes, arguments, folder))
            if rungs[-1].relaxed_f1 >= max(TARGETS[start]) and not arguments.every_budget:
                climbing = [each for each in climbing if each != who]


def run(case: Case, scene: Scene, seed: int, minutes: float, arguments: argparse.Namespace, folder: Path) -> Rung:
    """Train with one budget, score on the held-out half, and print that."""
    processor = CLASSES[case.processor]
    if case.who == PLAIN:
        trained = train_plainly(scene, minutes, folder, seed, processor.limits)
    else:
        options = {"base_model": "starter" if case.start == "starter" else "", "precision": processor.precision}
        options |= dict(item.split("=", 1) for item in arguments.set) if case.who == HERE else {}
        checkout = ROOT if case.who == HERE else arguments.other.resolve()
        trained = fine_tune(scene, minutes, {**options, "seed": str(seed)}, folder, checkout, processor.limits)
    scores = score(scene, trained.model)
    rung = Rung(case, seed, minutes, trained.wall_s, scores["relaxed"]["f1"])
    first_step = f"{trained.first_step_s:.1f}" if trained.first_step_s else "-"
    share = trained.result.get("validation_share")
    print(f"{case.scene:9} {case.start:8} {case.processor:12} {case.who:6} {seed:4} {minutes:6g} {rung.wall_s:8.1f} "
          f"{first_step:>11} {trained.steps:6} {'-' if share is None else f'{share:.3f}':>9} "
          f"{scores['pixel']['iou']:7.3f} {rung.relaxed_f1:11.3f}", flush=True)  # fmt: skip
    return rung


def show_tables(rungs: list[Rung], targets: Sequence[float]) -> None:
    """Print, over the seeds, the times to the targets and those of each budget, and how both checkouts compare."""
    if not rungs:
        return
    budgets = sorted({rung.minutes for rung in rungs})
    seeds = len({rung.seed for rung in rungs})
    print(f"\nFrom {rungs[0].case.start}: seconds from Run to a model of that relaxed F1, median (least to greatest) "
          f"of {seeds} seed{'s' * (seeds > 1)}; - is not reached, a ratio of 0 not reached here")  # fmt: skip
    show_table(rungs, {f"{target:.2f}": lambda climbed, target=target: time_to(climbed, target) for target in targets})
    print("\nSeconds from Run to the model, by time budget")
    show_table(rungs, {f"{minutes:g} min": lambda climbed, minutes=minutes: wall_s(climbed, minutes)
                       for minutes in budgets})  # fmt: skip


def show_table(rungs: list[Rung], columns: dict[str, Callable[[list[Rung]], float]]) -> None:
    """Print a row for each case; `columns` give the seconds from the runs of one ladder."""
    print(f"{'scene':9} {'class':12} {'who':12} " + " ".join(f"{title:>22}" for title in columns))
    ladders: dict[Case, dict[int, list[Rung]]] = {}
    for rung in rungs:
        ladders.setdefault(rung.case, {}).setdefault(rung.seed, []).append(rung)
    seconds = {case: {seed: [column(climbed) for column in columns.values()] for seed, climbed in by_seed.items()}
               for case, by_seed in ladders.items()}  # fmt: skip
    for case, by_seed in seconds.items():
        show_row(case, case.who, by_seed.values(), 1)
        here = seconds.get(replace(case, who=HERE), {})
        if case.who != HERE:
            ratios = [
                [other / own for other, own in zip(by_seed[seed], here[seed])] for seed in here if seed in by_seed
            ]
            show_row(case, f"{case.who} / here", ratios, 2)


def show_row(case: Case, label: str, by_seed: Iterable[Sequence[float]], digits: int) -> None:
    cells = [spread(values, digits) for values in zip(*by_seed)]
    print(f"{case.scene:9} {case.processor:12} {label:12} " + " ".join(f"{cell:>22}" for cell in cells))


def time_to(climbed: list[Rung], target: float) -> float:
    """Return the seconds of the shortest budget from which on the target is reached; infinite where none is."""
    reached_s = math.inf
    for rung in sorted(climbed, key=lambda rung: -rung.minutes):
        if rung.relaxed_f1 < target:
            break
        reached_s = rung.wall_s
    return reached_s


def wall_s(climbed: list[Rung], minutes: float) -> float:
    """Return the seconds of a budget; NaN where it was not run."""
    return next((rung.wall_s for rung in climbed if rung.minutes == minutes), math.nan)


def spread(values: Sequence[float], digits: int) -> str:
    """Return the median with the least and the greatest of some numbers, infinite ones as -; NaN do not count."""
    known = [value for value in values if not math.isnan(value)]
    if not any(map(math.isfinite, known)):
        return "-"
    middle, least, greatest = (
        f"{value:.{digits}f}" if math.isfinite(value) else "-"
        for value in (statistics.median(known), min(known), max(known))
    )
    return f"{middle} ({least} to {greatest})" if len(known) > 1 else middle


if __name__ == "__main__":
    main()
