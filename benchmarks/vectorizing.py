"""Vectorizing a dense city: time and memory by size, beside scikit-image's thinning alone, and beside sknw.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/vectorizing.py --packages FOLDER`, where FOLDER has
what it is compared with, and the runtime has not:

    $(make -s runtime-python) -m pip install --target FOLDER --no-deps scikit-image lazy-loader sknw numba llvmlite

The city is a generated scene's streets, laid over by themselves turned by a quarter, with ragged sides, and mirrored
again and again. `vectorize` is the whole job, from a compressed GeoTIFF to a GeoPackage; `skeletonize` and `skeletonize
+ sknw` get the mask as an array. Each is measured in processes of its own, in turns; times are the best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

SCENE_PX, SEED = 3000, 3
WAYS = ("vectorize", "skeletonize", "sknw")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes-px", type=int, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packages", default="", help="folder with scikit-image and sknw")
    arguments = parser.parse_args()
    before: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size_px in arguments.sizes_px:
            city = Path(folder) / f"city_{size_px}.tif"
            print(f"{size_px} x {size_px} px, {100 * write_city(city, size_px):.1f} % road")
            told = [in_a_process(way, city, arguments) for _ in range(arguments.rounds) for way in WAYS]
            tell(told, before)


def tell(told: list[dict], before: dict[str, float]) -> None:
    """Print the best time of each way, beside the thinning alone and beside the size before."""
    best = {}
    for way in WAYS:
        ran = [each for each in told if each["way"] == way]
        failed = next((each["failed"] for each in ran if "failed" in each), "")
        if failed:
            print(f"  {way}: skipped ({failed})")
            continue
        best[way] = min(each["seconds"] for each in ran)
        peak_gb = max(each["peak_gb"] for each in ran)
        beside = f", {best[way] / best['skeletonize']:.2f} x skeletonize" if "skeletonize" in best else ""
        growth = f", {best[way] / before[way]:.1f} x the size before" if way in before else ""
        print(f"  {way}: {best[way]:.2f} s{beside}{growth}, peak {peak_gb:.2f} GB, {ran[0]['found']}", flush=True)
    if {"vectorize", "skeletonize"} <= set(best):
        print(f"  vectorize is {best['vectorize'] / best['skeletonize']:.2f} x skeletonize alone", flush=True)
    before.update(best)


def write_city(path: Path, size_px: int) -> float:
    """Write the mask of a city, as `segment` writes masks, and return its share of road."""
    import numpy as np
    import rasterio
    from rasterio.features import rasterize
    from scipy.ndimage import gaussian_filter

    from training_core.scenes.scene import SCENE_CRS, plan_scene

    plan = plan_scene(SCENE_PX, SEED)
    shapes = plan.roads.geometry.buffer(plan.roads.width_m / 2)
    streets = rasterize(shapes, out_shape=(SCENE_PX, SCENE_PX), transform=plan.transform) > 0
    streets |= streets.T
    noise = gaussian_filter(np.random.default_rng(SEED).standard_normal(streets.shape, dtype=np.float32), 1.5)
    ragged = gaussian_filter(streets.astype(np.float32), 1) + noise > 0.5
    more = max(0, size_px - SCENE_PX)
    city = np.pad(ragged, (0, more), mode="symmetric")[:size_px, :size_px].astype(np.uint8)
    profile = {"driver": "GTiff", "width": size_px, "height": size_px, "count": 1, "dtype": "uint8", "nodata": 255}
    storage = {"tiled": True, "blockxsize": 512, "blockysize": 512, "compress": "deflate"}
    with rasterio.open(path, "w", crs=SCENE_CRS, transform=plan.transform, **profile, **storage) as dataset:
        dataset.write(city, 1)
    return float(city.mean())


def in_a_process(way: str, city: Path, arguments: argparse.Namespace) -> dict:
    options = [way, str(city), arguments.packages]
    ran = subprocess.run([sys.executable, __file__, "--measure", *options], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if ran.returncode:
        return {"way": way, "failed": f"ended with {ran.returncode}"}
    return {"way": way, **json.loads(ran.stdout.splitlines()[-1])}


def measure(way: str, city: str, packages: str) -> dict:
    """Do it one way, and return the seconds it took, the peak memory of the process and what was found."""
    sys.path.append(packages)
    try:
        seconds, found = vectorized(city) if way == "vectorize" else skeletonized(city, way == "sknw")
    except Exception as error:  # whatever the other packages raise
        return {"failed": f"{type(error).__name__}: {error}"}
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"seconds": seconds, "peak_gb": int(peak.split()[1]) * 1024 / 1e9, "found": found}


def vectorized(city: str) -> tuple[float, str]:
    from training_core.processor import prepare_process

    prepare_process()  # as the worker does
    from training_core.events import Reporter
    from training_core.jobs import Vectorize
    from training_core.vectorize import run

    with tempfile.TemporaryDirectory() as folder:
        job = Vectorize(raster=city, roads=str(Path(folder) / "roads.gpkg"))
        began_s = time.perf_counter()
        result = run(job, Reporter())
        return time.perf_counter() - began_s, f"{result['count']} lines, {result['length_m'] / 1000:.0f} km"


def skeletonized(city: str, graph: bool) -> tuple[float, str]:
    import rasterio
    from skimage.morphology import skeletonize

    if graph:
        import numpy as np
        import sknw

        sknw.build_sknw(np.eye(9, dtype=np.uint8), multi=True)  # compiles
    with rasterio.open(city) as dataset:
        mask = dataset.read(1) > 0
    began_s = time.perf_counter()
    skeleton = skeletonize(mask)
    if not graph:
        return time.perf_counter() - began_s, f"{int(skeleton.sum())} px"
    network = sknw.build_sknw(skeleton, multi=True)
    return time.perf_counter() - began_s, f"{network.number_of_edges()} edges, {network.number_of_nodes()} nodes"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        main()
