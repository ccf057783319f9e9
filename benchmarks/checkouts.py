"""The same jobs in two checkouts, in turns: what a change costs or brings, as the ratio of each pair of runs.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/checkouts.py OTHER --rounds 5`, where OTHER is the
folder of another checkout, such as `git worktree add ../before COMMIT` makes. A generated scene is segmented,
vectorized and trained on for a fixed number of steps from the starter model; the roads found are scored against the
true ones and compared with them, with reports. Each run is a process of its own, whose start and imports count;
wall-clock and processor seconds are the operating system's. Ratios below 1 mean that this checkout is faster. At the
end stands whether both segment alike, pixel by pixel.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import geopandas
import rasterio

ROOT = Path(__file__).resolve().parents[1]


def options(**values: object) -> list[str]:
    """Return options of the command line."""
    return [word for name, value in values.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def run(checkout: Path, job: list[str]) -> tuple[float, float]:
    """Run a job in a checkout; return wall-clock and processor seconds."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "training_core", *job, "--events"]
    done = subprocess.run(command, cwd=checkout, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    wall_s, after = time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{job[0]} failed in {checkout}: {done.stdout.splitlines()[-1:]}\n{done.stderr[-2000:]}")
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(folder: Path, size_px: int) -> None:
    """Make what the jobs take: a scene with its roads, its probability, the roads found in it, places and an area."""
    run(ROOT, ["makescene", *options(raster=folder / "scene.tif", roads=folder / "truth.gpkg", size_px=size_px, seed=4,
                                     layout="mixed")])  # fmt: skip
    probability = folder / "probability.tif"
    run(ROOT, ["segment", *options(raster=folder / "scene.tif", probability=probability)])
    run(ROOT, ["vectorize", *options(raster=probability, roads=folder / "found.gpkg")])
    roads = geopandas.read_file(folder / "truth.gpkg")
    ends = geopandas.GeoDataFrame(geometry=roads.geometry.interpolate(0), crs=roads.crs).drop_duplicates()
    ends.iloc[::20].to_file(folder / "places.gpkg")
    ends.iloc[7::60].to_file(folder / "origins.gpkg")


def jobs(folder: Path, out: Path, steps: int) -> dict[str, list[str]]:
    """Return the options of each job that is measured, with outputs in a folder."""
    scene, probability = folder / "scene.tif", folder / "probability.tif"
    truth, found = folder / "truth.gpkg", folder / "found.gpkg"
    places = {"places": folder / "places.gpkg", "origins": folder / "origins.gpkg"}
    return {
        "segment": ["segment", *options(raster=scene, engine="native", halo=128, mask=out / "mask.tif")],
        "finetune": ["finetune", *options(rasters=scene, roads=truth, steps=steps, engine="native", seed=1,
                                          model=out / "model.safetensors")],
        "vectorize": ["vectorize", *options(raster=probability, roads=out / "roads.gpkg")],
        "scorenetwork": ["scorenetwork", *options(truth=truth, proposal=found, scores=out / "scores.json",
                                                  report=out / "scores.html", errors=out / "errors.gpkg")],
        "comparenetworks": ["comparenetworks", *options(before=truth, after=found, changes=out / "changes.gpkg",
                                                        reached=out / "reached.gpkg", report=out / "changes.html",
                                                        **places)],
    }  # fmt: skip


def main() -> None:
    """Prepare, run all jobs in both checkouts in turns, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size-px", type=int, default=3072)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--jobs", nargs="*", help="only these")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="roadseg-checkouts-") as name:
        folder = Path(name)
        prepare(folder, asked.size_px)
        measured: dict[str, list[tuple[float, ...]]] = {}
        for number in range(asked.rounds):
            order = (asked.other.resolve(), ROOT) if number % 2 else (ROOT, asked.other.resolve())
            for job in asked.jobs or jobs(folder, folder, asked.steps):
                times = {}
                for checkout in order:
                    out = folder / ("here" if checkout == ROOT else "other")
                    out.mkdir(exist_ok=True)
                    times[checkout] = run(checkout, jobs(folder, out, asked.steps)[job])
                measured.setdefault(job, []).append((*times[ROOT], *times[order[0] if order[1] == ROOT else order[1]]))
        print(f"{asked.rounds} rounds, scene of {asked.size_px} px; ratios here / other: median (least to greatest)")
        for job, rows in measured.items():
            here, other = (statistics.median(row[place] for row in rows) for place in (0, 2))
            wall, work = (sorted(row[place] / row[place + 2] for row in rows) for place in (0, 1))
            print(f"{job:16} {here:6.1f} s, other {other:6.1f} s; "
                  + "; ".join(f"{kind} {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
                              for kind, ratios in (("wall", wall), ("processor", work))))  # fmt: skip
        masks = [folder / side / "mask.tif" for side in ("here", "other")]
        if all(mask.exists() for mask in masks):
            here, other = (rasterio.open(mask).read() for mask in masks)
            print("masks:", "equal" if (here == other).all() else "different")


if __name__ == "__main__":
    main()
