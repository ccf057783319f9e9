"""From the mask of a dense city to a scored road network: time and memory by size, beside other libraries.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/vectorizing.py --packages FOLDER`, where FOLDER has
the libraries that it is compared with:

    $(make -s runtime-python) -m pip install --target FOLDER --no-deps scikit-image lazy-loader sknw numba llvmlite

The city is a generated scene's streets, overlaid with themselves transposed, with ragged sides, and mirrored
again and again. `vectorize` is the whole job, from a compressed GeoTIFF to a GeoPackage, of the mask, and of a
probability with that mask, which shows faint roads, too; with `--other CHECKOUT` also by another checkout.
`skeletonize` and `sknw`, which thins, too, get the mask as an array. `apls` scores the network that was found, a tenth
of its lines left out, against all of it, and `plain_apls` is the tests' oracle on networkx,
`tests/core/support/plain_apls.py`; both get the graphs as they are. Each is measured in processes of its own, in turns;
times are the best of the rounds. At the end stand the scores of the real pair of Las Vegas, where that is at hand.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.network_scores import tell_vegas

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

SCENE_PX, SEED = 3000, 3
# Each program, and the one that it is compared with.
WAYS = {
    "vectorize, other": "",
    "vectorize": "vectorize, other",
    "vectorize probability, other": "",
    "vectorize probability": "vectorize probability, other",
    "skeletonize": "",
    "sknw": "skeletonize",
    "apls": "",
    "plain_apls": "apls",
}
CERTAIN, STEEPNESS = 254, 6.0  # of probability: the byte for 1, and how it rises across a roadside
MISSING = 0.1  # of the lines of the network that is scored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes-px", type=int, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packages", default="", help="folder with scikit-image and sknw")
    parser.add_argument("--other", type=Path, help="folder of another checkout, to vectorize there as well")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--plain-up-to-px", type=int, default=3000, help="beyond, the plain APLS takes hours")
    arguments = parser.parse_args()
    before: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size_px in arguments.sizes_px:
            city = Path(folder) / f"city_{size_px}.tif"
            print(f"{size_px} x {size_px} px, {100 * write_city(city, size_px):.1f} % road")
            ways = [way for way in WAYS if way in arguments.ways and (arguments.other or not way.endswith("other"))]
            ways = [way for way in ways if way != "plain_apls" or size_px <= arguments.plain_up_to_px]
            runs = [in_a_process(way, city, arguments) for _ in range(arguments.rounds) for way in ways]
            print_best(runs, before)
    tell_vegas()


def print_best(runs: list[dict], before: dict[str, float]) -> None:
    """Print the best time of each program, beside another one and beside the size before."""
    best = {}
    for way in dict.fromkeys(each["way"] for each in runs):
        ran = [each for each in runs if each["way"] == way]
        failed = next((each["failed"] for each in ran if "failed" in each), "")
        if failed:
            print(f"  {way}: skipped ({failed})")
            continue
        best[way] = min(each["seconds"] for each in ran)
        peak_gb = max(each["peak_gb"] for each in ran)
        growth = f", {best[way] / before[way]:.1f} x the size before" if way in before else ""
        print(f"  {way}: {best[way]:.2f} s{growth}, peak {peak_gb:.2f} GB, {ran[0]['found']}", flush=True)
    for way, other in WAYS.items():
        if {way, other} <= set(best):
            print(f"  {way} takes {best[way] / best[other]:.2f} times as long as {other}", flush=True)
    before.update(best)


def write_city(path: Path, size_px: int) -> float:
    """Write the mask of a city, as `segment` writes masks, and its probability; return its share of road."""
    import numpy as np
    import rasterio
    from rasterio.features import rasterize
    from scipy.ndimage import gaussian_filter
    from scipy.special import expit

    from training_core.scenes.scene import SCENE_CRS, plan_scene

    plan = plan_scene(SCENE_PX, SEED, layout="mixed")
    shapes = plan.roads.geometry.buffer(plan.roads.width_m / 2)
    streets = rasterize(shapes, out_shape=(SCENE_PX, SCENE_PX), transform=plan.transform) > 0
    streets |= streets.T
    noise = gaussian_filter(np.random.default_rng(SEED).standard_normal(streets.shape, dtype=np.float32), 1.5)
    ragged = gaussian_filter(streets.astype(np.float32), 1) + noise
    more = max(0, size_px - SCENE_PX)
    ragged = np.pad(ragged, (0, more), mode="symmetric")[:size_px, :size_px]
    profile = {"driver": "GTiff", "width": size_px, "height": size_px, "count": 1, "dtype": "uint8", "nodata": 255}
    storage = {"tiled": True, "blockxsize": 512, "blockysize": 512, "compress": "deflate"}
    place = {"crs": SCENE_CRS, "transform": plan.transform}
    with rasterio.open(path, "w", **place, **profile, **storage) as dataset:
        dataset.write((ragged > 0.5).astype(np.uint8), 1)
    with rasterio.open(probability_of(path), "w", **place, **profile, **storage) as dataset:
        dataset.scales = (1 / CERTAIN,)
        dataset.write(np.rint(CERTAIN * expit(STEEPNESS * (ragged - 0.5))).astype(np.uint8), 1)
    return float((ragged > 0.5).mean())


def probability_of(city: Path) -> Path:
    return city.with_name(f"{city.stem}_probability.tif")


def in_a_process(way: str, city: Path, arguments: argparse.Namespace) -> dict:
    program, _, where = way.partition(", ")
    checkout = arguments.other.resolve() if where else ROOT
    raster = probability_of(city) if program.endswith("probability") else city
    command = [sys.executable, str(checkout / "benchmarks" / "vectorizing.py"), "--measure", program.split()[0]]
    ran = subprocess.run([*command, str(raster), arguments.packages], cwd=checkout, stdout=subprocess.PIPE, text=True)
    if ran.returncode:
        return {"way": way, "failed": f"ended with {ran.returncode}"}
    return {"way": way, **json.loads(ran.stdout.splitlines()[-1])}


def measure(way: str, city: str, packages: str) -> dict:
    """Run one program, and return its time in seconds, the peak memory of the process and what was found."""
    sys.path.append(packages)
    try:
        seconds, found = MEASURED[way](city)
    except Exception as error:  # whatever the other packages raise
        return {"failed": f"{type(error).__name__}: {error}"}
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"seconds": seconds, "peak_gb": int(peak.split()[1]) * 1024 / 1e9, "found": found}


def vectorized(city: str) -> tuple[float, str]:
    from training_core.system.processor import prepare_process

    prepare_process()  # as the worker does
    from training_core.events import Reporter
    from training_core.jobs import Vectorize
    from training_core.pipelines.vectorize import run

    job = Vectorize(raster=city, roads=str(network_of(city)))
    began_s = time.perf_counter()
    result = run(job, Reporter())
    return time.perf_counter() - began_s, f"{result['count']} lines, {result['length_m'] / 1000:.0f} km"


def skeletonized(city: str) -> tuple[float, str]:
    from skimage.morphology import skeletonize

    mask = mask_of(city)
    began_s = time.perf_counter()
    skeleton = skeletonize(mask)
    return time.perf_counter() - began_s, f"{int(skeleton.sum())} px"


def traced_by_sknw(city: str) -> tuple[float, str]:
    import numpy as np
    import sknw
    from skimage.morphology import skeletonize

    sknw.build_sknw(np.eye(9, dtype=np.uint8), multi=True)  # compiles
    mask = mask_of(city)
    began_s = time.perf_counter()
    network = sknw.build_sknw(skeletonize(mask), multi=True)
    return time.perf_counter() - began_s, f"{network.number_of_edges()} edges, {network.number_of_nodes()} nodes"


def scored(city: str) -> tuple[float, str]:
    from training_core.comparison.path_scores import score_apls
    from training_core.events import Reporter
    from training_core.networks.road_graph import contracted

    pair = [contracted(each) for each in network_pair(city)]
    began_s = time.perf_counter()
    found = score_apls(*pair, Reporter())
    there = found.truth_in_proposal
    return time.perf_counter() - began_s, f"{found.score:.9f} from {there.paths:,} paths between {there.points} points"


def scored_plainly(city: str) -> tuple[float, str]:
    from tests.core.support.plain_apls import plain_apls

    pair = network_pair(city)
    began_s = time.perf_counter()
    score, *_ = plain_apls(*pair)
    return time.perf_counter() - began_s, f"{score:.9f}"


def network_of(city: str) -> Path:
    return Path(city).with_suffix(".gpkg")


def mask_of(city: str):
    import rasterio

    with rasterio.open(city) as dataset:
        return dataset.read(1) > 0


def network_pair(city: str):
    """Return the network of a city, and it with some of its lines left out, as noded graphs."""
    import geopandas
    import numpy as np

    from training_core.system.processor import prepare_process

    prepare_process(threads=1)
    from training_core.networks.lines import make_lines
    from training_core.networks.road_graph import make_road_graph

    lines = geopandas.read_file(network_of(city), layer="roads").geometry.to_numpy()
    kept = np.random.default_rng(SEED).random(len(lines)) >= MISSING
    return [make_road_graph(make_lines(each), 0.5) for each in (lines, lines[kept])]


MEASURED = {
    "vectorize": vectorized,
    "skeletonize": skeletonized,
    "sknw": traced_by_sknw,
    "apls": scored,
    "plain_apls": scored_plainly,
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        main()
