"""Regions of many scenes: measured on this machine with one and two workers, and projected to many.

Run with the runtime's Python, with the requirement set fleet: `$(make -s runtime-python) benchmarks/region_scale.py`.
Generated scenes (six pictures, repeated side by side as a city of 1,352 scenes of 1300 px) are mapped by the job
mapregion: once by this process with all cores, once by two processes with a half of them each. Printed are the pace,
and the share of the workers' time that they were not busy with scenes, which is what dividing and sharing out costs.

From what was measured, or was given with --costs, follows how long a country of 150,000 km² at 0.5 m takes with 1 to
1,000 such workers, what limits each stretch of the curve, and a plot.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import rasterio
from affine import Affine

from training_core.scenes.scene import SCENE_CRS, make_scene
from training_core.system import processor

LAYOUTS = ("mixed", "grid", "organic", "radial", "suburb", "rural")
RESOLUTION_M = 0.3
COUNTRY_KM2, COUNTRY_M = 150_000, 0.5
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# Storage that all workers share: the one figure that is not measured here.
STORAGE_MB_S = 1000.0
BLOCK_PX, PART_PX, MARGIN_PX = 4096, 8192, 512


@dataclass(frozen=True)
class Costs:
    """What the projection is made of.

    Parameters
    ----------
    predict_mp_s, extract_mp_s : float
        Megapixels a second of one worker; those of extraction without margins.
    task_s : float
        Of the scheduler and the leading process for one task.
    read_mb_mp, written_mb_mp : float
        Megabytes of imagery read, and of results written, a megapixel.
    join_s_mp : float
        Of the leading process to join the network, a megapixel.
    """

    predict_mp_s: float
    extract_mp_s: float
    task_s: float
    read_mb_mp: float
    written_mb_mp: float
    join_s_mp: float


def main() -> None:
    """Measure, unless costs are given, and project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=1352)
    parser.add_argument("--size-px", type=int, default=1300)
    parser.add_argument("--folder", type=Path, help="of scenes that are there already")
    parser.add_argument("--model", default="starter")
    parser.add_argument("--halo", default="auto")
    parser.add_argument("--task-ms", type=float, default=1.0, help="of the scheduler for a task")
    parser.add_argument("--costs", type=Path, help="JSON of Costs to project from, in place of measuring")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    print(processor.name(), flush=True)
    if arguments.costs:
        costs = Costs(**json.loads(arguments.costs.read_text()))
    else:
        with tempfile.TemporaryDirectory() as name:
            scenes = arguments.folder or write_scenes(Path(name) / "scenes", arguments)
            for workers in (1, 2):
                costs = measure(scenes, Path(name) / str(workers), workers, arguments)
    print(json.dumps(asdict(costs)))
    project(costs, arguments.plot)


def write_scenes(folder: Path, arguments: argparse.Namespace) -> Path:
    """Write scenes side by side, in as many columns as rows."""
    folder.mkdir()
    side, size_px = int(np.ceil(arguments.scenes**0.5)), arguments.size_px
    pictures = [make_scene(size_px, seed, RESOLUTION_M, layout=layout).image for seed, layout in enumerate(LAYOUTS)]
    profile = {"driver": "GTiff", "width": size_px, "height": size_px, "count": 3, "dtype": "uint8", "crs": SCENE_CRS}
    layout = {"compress": "deflate", "zlevel": 1, "tiled": True, "photometric": "rgb"}
    for number in range(arguments.scenes):
        row, column = divmod(number, side)
        step_m = size_px * RESOLUTION_M
        place = Affine(RESOLUTION_M, 0, 500_000 + column * step_m, 0, -RESOLUTION_M, 5_800_000 - row * step_m)
        path = folder / f"scene_{row:03}_{column:03}.tif"
        with rasterio.open(path, "w", transform=place, **profile, **layout) as dataset:
            dataset.write(pictures[(row * 7 + column * 3 + row * column % 5) % len(pictures)])
    return folder


def measure(scenes: Path, folder: Path, workers: int, arguments: argparse.Namespace) -> Costs:
    """Map the scenes, print how it went, and return the costs of one of so many workers."""
    folder.mkdir()
    began_s = time.perf_counter()
    result, stages = run_job(scenes, folder, workers, arguments)
    wall_s = time.perf_counter() - began_s
    megapixels, mapping_s = result["megapixels"], stages["mapping scenes"]
    busy_s = megapixels / np.mean(list(result["throughput"].values()))
    read_mb = sum(path.stat().st_size for path in scenes.glob("*.tif")) / 1e6
    written_mb = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    print(
        f"{workers} workers: {result['done']} scenes, {megapixels:,.0f} megapixels in {wall_s:,.0f} s; "
        + ", ".join(f"{name} {seconds:,.1f} s" for name, seconds in stages.items())
        + f"; {megapixels / mapping_s:.2f} megapixels a second; workers idle {1 - busy_s / workers / mapping_s:.1%}; "
        f"{result['count']:,} lines, {result['length_m'] / 1000:,.1f} km, {result['components']:,} components, "
        f"{result['seam_mismatches']} mismatches",
        flush=True,
    )
    return Costs(
        predict_mp_s=megapixels / busy_s,
        extract_mp_s=megapixels / workers / stages["Extracting roads"],
        task_s=arguments.task_ms / 1000,
        read_mb_mp=read_mb / megapixels,
        written_mb_mp=written_mb / megapixels,
        join_s_mp=stages["Joining the network"] / megapixels,
    )


def run_job(
    scenes: Path, folder: Path, workers: int, arguments: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, float]]:
    """Run the job in a process of its own; return its result, and the seconds between its stages by their messages."""
    command = [
        *(sys.executable, "-m", "training_core", "mapregion", "--events", "--source", str(scenes)),
        *("--folder", str(folder), "--roads", str(folder / "roads.gpkg"), "--workers", str(workers)),
        *("--model", arguments.model, "--halo", arguments.halo),
    ]
    stages: dict[str, float] = {}
    current, since_s, result = "", time.perf_counter(), {}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as job:
        for line in job.stdout:
            event = json.loads(line)
            result = event.get("result", result)
            stage = stage_of(event.get("message", ""))
            if stage and stage != current:
                now_s = time.perf_counter()
                stages[current] = stages.get(current, 0.0) + now_s - since_s
                current, since_s = stage, now_s
    if job.returncode:
        raise SystemExit(f"The job ended with status {job.returncode}.")
    return result, {name: seconds for name, seconds in stages.items() if name}


def stage_of(message: str) -> str:
    """Return the stage that a message of progress belongs to; empty where it says nothing of it."""
    if message.endswith("scenes mapped"):
        return "mapping scenes"
    known = ("Looking at scenes", "Mapping scenes", "Looking at borders", "Extracting roads", "Joining the network")
    found = next((each for each in (*known, "Writing the report") if message.startswith(each)), "")
    return "mapping scenes" if found == "Mapping scenes" else found


def project(costs: Costs, plot: Path | None) -> None:
    """Print how long a country takes, and what limits it; draw it."""
    megapixels = COUNTRY_KM2 / COUNTRY_M**2
    print(f"\n{COUNTRY_KM2:,} km² at {COUNTRY_M} m: {megapixels:,.0f} megapixels, storage of {STORAGE_MB_S:g} MB/s")
    print("workers      hours  limited by")
    hours, parts = [], []
    for workers in WORKERS:
        found = times_s(costs, megapixels, workers)
        hours.append(sum(found.values()) / 3600)
        parts.append(found)
        limit = max(found, key=lambda name: found[name])
        print(f"{workers:7} {hours[-1]:10,.1f}  {limit} ({found[limit] / sum(found.values()):.0%})")
    if plot:
        draw(parts, plot)


def times_s(costs: Costs, megapixels: float, workers: int) -> dict[str, float]:
    """Return the seconds of each phase of a region by what limits it: the slowest of workers, scheduler and storage.

    Workers wait for nobody: each phase takes as long as the scarcest of what it needs. Phases follow each other.
    """
    blocks, parts = megapixels * 1e6 / BLOCK_PX**2, megapixels * 1e6 / PART_PX**2
    margins = ((PART_PX + 2 * MARGIN_PX) / PART_PX) ** 2
    phases = (
        {
            "predicting": megapixels / costs.predict_mp_s / workers,
            "scheduling": 2 * blocks * costs.task_s,
            "storage": megapixels * (costs.read_mb_mp + costs.written_mb_mp) / STORAGE_MB_S,
        },
        {
            "extracting": megapixels / costs.extract_mp_s / workers,
            "scheduling": 2 * parts * costs.task_s,
            "storage": megapixels * margins * costs.written_mb_mp / STORAGE_MB_S,
        },
        {"joining the network": megapixels * costs.join_s_mp},
    )
    found: dict[str, float] = {}
    for phase in phases:
        limit = max(phase, key=lambda name: phase[name])
        found[limit] = found.get(limit, 0.0) + phase[limit]
    return found


def draw(parts: list[dict[str, float]], path: Path) -> None:
    """Draw the hours by number of workers, stacked by what limits each phase."""
    import matplotlib
    from matplotlib.figure import Figure

    names = ("predicting", "extracting", "joining the network", "storage", "scheduling")
    colors = ("#0072b2", "#009e73", "#d55e00", "#e69f00", "#8a9099")
    style = {"svg.fonttype": "none", "svg.hashsalt": "region", "font.family": "sans-serif", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(6.4, 3.4), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(WORKERS, [sum(each.values()) / 3600 for each in parts], color="#1f2933", lw=2, label="all")
        for name, color in zip(names, colors):
            hours = [each.get(name, float("nan")) / 3600 for each in parts]
            if not np.isnan(hours).all():
                axes.plot(WORKERS, hours, color=color, lw=1.3, ls="--", label=name)
        axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="hours")
        axes.set_title(f"{COUNTRY_KM2:,} km² at {COUNTRY_M} m", fontsize=9, loc="left")
        axes.grid(color="#e3e7eb", lw=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
