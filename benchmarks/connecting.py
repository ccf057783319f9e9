"""How well extracted roads connect, each step of extraction switched off in turn.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/connecting.py FOLDER --prepare`, and again without
`--prepare`, which scores what lies in the folder. Preparing trains models and writes, for a scene of each street
plan, the perfect mask and what three models predict: a weak one (from random weights on one scene, half a minute), a
middle one (two minutes), and a good one (the starter); and in the eastern half of each, what the starter predicts when
it has learned the western one (tuned). With the real scenes of shared/data at hand, it adds what a fine-tune
predicts on held-out ground, with three seeds: in Banepa's south after its north-west, and in the eastern half of each
scene after the western one; and what the starter predicts on real ground that its training held out. All of it is by
steps, so that it comes out the same whatever else the machine does. What is there already is kept.

APLS is at a snap distance of 4 m, TOPO its F1, completeness and correctness at 5 m; offset is the mean distance from
lines that are right to the true one. *single* and *several* are of wide roads: the share of places, away from
junctions, where one line runs within the road's width, and where more do. *links* are likely links that were joined,
and *true* those of them that are roads (`scripts/networks/fit.py`). s is the time of extraction. Means over the rasters
of a group.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import shapely
import shapely.ops

from benchmarks.connecting_rasters import Case, prepare, read_cases
from scripts.networks.fit import MIN_ON_LINK, are_roads
from training_core.events import Reporter
from training_core.jobs import ScoreNetwork, Vectorize
from training_core.networks.link_prediction import JOINED
from training_core.pipelines.scorenetwork import run as score_network
from training_core.pipelines.vectorize import run as vectorize

SEED = 100
TOLERANCE_M, SAMPLE_M = 5.0, 2.0
WIDE_M, EVERY_M, AWAY_M = 9.0, 10.0, 25.0
HEAD = (
    f"{'group':14} {'step':20} {'raster':26}   APLS   TOPO  compl.  corr.  offset  single several  links   true      s"
)
# Options that switch a step off.
STEPS = {
    "all steps": {},
    "no hysteresis": {"hysteresis": 1.0},
    "nothing closed": {"close_m": 0.0},
    "spurs kept": {"spur_m": 0.0},
    "not centered": {"center": False},
    "gaps kept": {"gap_m": 0.0},
    "undershoots kept": {"snap_m": 0.0},
    "no likely links": {"likely_gap_m": 0.0},
    "unlikely stubs kept": {"stub_m": 0.0},
    "neither of both": {"likely_gap_m": 0.0, "stub_m": 0.0},
}


@dataclass(frozen=True)
class Scores:
    """The scores of a network; see the module's text."""

    apls: float
    topo: float
    completeness: float
    correctness: float
    offset_m: float
    single: float
    several: float
    links: int
    true_links: int
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--prepare", action="store_true", help="train, and write the rasters")
    parser.add_argument("--seed", type=int, default=SEED, help="of the first scene to prepare")
    parser.add_argument("--groups", nargs="+", help="of rasters; all by default")
    parser.add_argument("--steps", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="for all rows")
    parser.add_argument("--each", action="store_true", help="print a row for each raster")
    arguments = parser.parse_args()
    if arguments.prepare:
        prepare(arguments.folder, arguments.seed, arguments.groups)
        return
    changed = parsed(arguments.set)
    cases = [case for case in read_cases(arguments.folder) if case.group in (arguments.groups or [case.group])]
    print(HEAD, flush=True)
    for group in dict.fromkeys(case.group for case in cases):
        rasters = [case for case in cases if case.group == group]
        for step in arguments.steps:
            found = [scored(case, arguments.folder, {**changed, **STEPS[step]}) for case in rasters]
            if arguments.each:
                for case, scores in zip(rasters, found):
                    print_row(group, step, Path(case.raster).stem, [scores])
            print_row(group, step, f"{len(found)} rasters", found)


def parsed(changed: list[str]) -> dict[str, object]:
    """Return options of `Vectorize` from their text, as the type of each says."""
    usual = Vectorize()
    pairs = (item.split("=", 1) for item in changed)
    return {name: type(getattr(usual, name))(json.loads(text)) for name, text in pairs}


def print_row(group: str, step: str, name: str, found: list[Scores]) -> None:
    columns = (np.array([getattr(each, field.name) for each in found]) for field in fields(Scores))
    known = (column[np.isfinite(column)] for column in columns)
    means = (float(values.mean()) if len(values) else float("nan") for values in known)
    apls, topo, complete, correct, offset_m, single, several, links, true_links, seconds = means
    numbers = f"{apls:6.3f} {topo:6.3f} {complete:7.3f} {correct:6.3f} {offset_m:7.2f} {single:7.3f} {several:7.3f}"
    print(f"{group:14} {step:20} {name:26} {numbers} {links:6.1f} {true_links:6.1f} {seconds:6.2f}", flush=True)


def scored(case: Case, folder: Path, options: dict[str, object]) -> Scores:
    """Vectorize a raster, and score the network."""
    lines, links = str(folder / "found.gpkg"), str(folder / "links.gpkg")
    began_s = time.perf_counter()
    job = Vectorize(raster=str(folder / case.raster), threshold=case.threshold, roads=lines, links=links)
    vectorize(replace(job, **options), Reporter())
    seconds = time.perf_counter() - began_s
    truth, aoi = str(folder / case.truth), str(folder / case.aoi) if case.aoi else ""
    found = geopandas.read_file(lines, layer="roads")
    if found.empty:
        return Scores(0.0, 0.0, 0.0, 0.0, float("nan"), float("nan"), float("nan"), 0, 0, seconds)
    job = ScoreNetwork(truth=truth, proposal=str(lines), aoi=aoi, truth_bridge_field=case.bridge_field)
    scores = score_network(job, Reporter())
    apls, topo, matched = scores["apls"]["score"], scores["topo"]["f1"], scores["lines"]
    true = geopandas.read_file(truth).to_crs(found.estimate_utm_crs())
    considered = geopandas.read_file(links, layer="links").to_crs(true.crs)
    joined = considered[considered["outcome"] == JOINED]
    true_links = are_roads(joined.geometry.to_numpy(), true.geometry.to_numpy(), MIN_ON_LINK).sum()
    true = true.clip(geopandas.read_file(aoi).to_crs(true.crs)) if aoi else true
    found = found.to_crs(true.crs)
    shares = apls, topo, matched["completeness"], matched["correctness"]
    along = along_wide_roads(found, true)
    return Scores(*shares, offset_m(found, true), *along, len(joined), int(true_links), seconds)


def offset_m(found: geopandas.GeoDataFrame, true: geopandas.GeoDataFrame) -> float:
    """Return the mean distance in meters from found lines to true ones, of what lies within the tolerance."""
    dense = shapely.points(shapely.get_coordinates(shapely.segmentize(found.geometry.to_numpy(), SAMPLE_M)))
    tree = shapely.STRtree(true.geometry.to_numpy())
    _, distance_m = tree.query_nearest(dense, max_distance=TOLERANCE_M, return_distance=True, all_matches=False)
    return float(distance_m.mean()) if len(distance_m) else float("nan")


def along_wide_roads(found: geopandas.GeoDataFrame, true: geopandas.GeoDataFrame) -> tuple[float, float]:
    """Return the shares of places along wide true roads where one line runs, and where several do; NaN without any."""
    true = true.explode(ignore_index=True)
    wide = np.flatnonzero(true["width_m"] >= WIDE_M) if "width_m" in true else np.zeros(0, dtype=int)
    lines, all_true = found.geometry.to_numpy(), shapely.STRtree(true.geometry.to_numpy())
    counts = []
    for road, half_m in zip(true.geometry.iloc[wide], true["width_m"].iloc[wide] / 2 if len(wide) else ()):
        for along_m in np.arange(AWAY_M, road.length - AWAY_M, EVERY_M):
            around = shapely.ops.substring(road, along_m - AWAY_M, along_m + AWAY_M)
            if len(all_true.query(around, predicate="intersects")) == 1:
                (x, y), (next_x, next_y) = (road.interpolate(each).coords[0] for each in (along_m - 1, along_m + 1))
                middle, aside = np.array([x + next_x, y + next_y]) / 2, half_m * np.array([y - next_y, next_x - x]) / 2
                across = shapely.LineString([middle - aside, middle + aside])
                counts.append(shapely.intersects(lines, across).sum())
    counts = np.array(counts)
    return (float((counts == 1).mean()), float((counts > 1).mean())) if len(counts) else (float("nan"), float("nan"))


if __name__ == "__main__":
    main()
