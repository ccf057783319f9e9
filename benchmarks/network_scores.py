"""Scores of road networks: time and memory of towns of growing size, beside APLS as a plain networkx program has it.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/network_scores.py`. A town is a grid of streets,
100 m apart and bent at random, of which a tenth is missing; its proposal is the same, jittered by a meter or two and
with another tenth missing. The plain program is the tests' oracle, `tests/core/support/plain_apls.py`; it gets the
graphs ready-made, and its score must be the same to 1e-9. Each town runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
DATA = ROOT.parent / "shared" / "data"

STREET_M, BEND_M, MISSING = 100.0, 30.0, 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes-km", type=float, nargs="+", default=[1, 2, 3, 10])
    parser.add_argument("--plain-up-to-km", type=float, default=3, help="beyond, the plain program takes too long")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(**json.loads(arguments.one))))
        return
    print(
        "km | roads km | nodes | control points | pairs | graphs s | APLS s | TOPO s | lines s | GB | plain s | times"
    )
    rows = []
    for size_km in arguments.sizes_km:
        row = in_a_process(size_km=size_km, plain=size_km <= arguments.plain_up_to_km)
        rows.append(row)
        plain = f"{row['plain_s']:.1f} | {row['plain_s'] / row['apls_s']:.0f}" if "plain_s" in row else "- | -"
        print(
            f"{size_km:g} | {row['roads_km']:.0f} | {row['nodes']} | {row['points']} | {row['pairs']:,} | "
            f"{row['graphs_s']:.2f} | {row['apls_s']:.2f} | {row['topo_s']:.2f} | {row['lines_s']:.2f} | "
            f"{row['peak_gb']:.2f} | {plain}",
            flush=True,
        )
    print_growth(rows)
    tell_vegas()


def in_a_process(**options: object) -> dict:
    command = [sys.executable, __file__, "--one", json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def print_growth(rows: list[dict]) -> None:
    """Print how time grows with the number of control points: as which power of it."""
    for small, large in zip(rows, rows[1:]):
        more = math.log(large["points"] / small["points"])
        powers = {name: math.log(large[f"{name}_s"] / small[f"{name}_s"]) / more for name in ("graphs", "apls", "topo")}
        growth = ", ".join(f"{name} {power:.2f}" for name, power in powers.items())
        print(f"from {small['points']} to {large['points']} control points time grows with the power: {growth}")


def measure(size_km: float, plain: bool) -> dict:
    from training_core.system.processor import prepare_process

    prepare_process(threads=1)
    from tests.core.support.plain_apls import plain_apls
    from training_core.comparison.buffer_matching import score_lines
    from training_core.comparison.path_scores import score_apls, score_topo
    from training_core.events import Reporter
    from training_core.networks.road_graph import contracted, make_road_graph

    lines = town(size_km, 0.0, 1), town(size_km, 2.0, 2)
    began_s = time.perf_counter()
    noded = [make_road_graph(each, 0.5) for each in lines]
    pair = [contracted(each) for each in noded]
    row = {"graphs_s": time.perf_counter() - began_s}
    for name, score in (("apls", score_apls), ("topo", score_topo)):
        began_s = time.perf_counter()
        found = score(*pair, Reporter())
        row[f"{name}_s"] = time.perf_counter() - began_s
        row[name] = found.score if name == "apls" else found.f1
        if name == "apls":
            row |= {"points": found.truth_in_proposal.points, "pairs": found.truth_in_proposal.paths}
    began_s = time.perf_counter()
    score_lines(*pair, 5.0)
    row["lines_s"] = time.perf_counter() - began_s
    row["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    row |= {"nodes": len(pair[0].graph.nodes), "roads_km": float(pair[0].length_m.sum()) / 1000}
    if plain:
        began_s = time.perf_counter()
        expected, *_ = plain_apls(*noded)
        row["plain_s"] = time.perf_counter() - began_s
        if abs(expected - row["apls"]) > 1e-9:
            raise SystemExit(f"The plain program has {expected}, RoadSeg {row['apls']}.")
    return row


def town(size_km: float, shift_m: float, seed: int):
    """Return the streets of a town, as Lines."""
    import numpy as np
    import shapely

    from training_core.networks.lines import make_lines

    count = round(size_km * 1000 / STREET_M) + 1
    plan, random = np.random.default_rng(0), np.random.default_rng(seed)
    corners = np.moveaxis(np.mgrid[:count, :count], 0, -1) * STREET_M
    corners = corners + plan.uniform(-BEND_M, BEND_M, corners.shape) + random.uniform(-shift_m, shift_m, corners.shape)
    ways = [(corners[:-1], corners[1:]), (corners[:, :-1], corners[:, 1:])]
    begin, end = (np.concatenate([way[side].reshape(-1, 2) for way in ways]) for side in (0, 1))
    middle = (begin + end) / 2 + plan.uniform(-5, 5, begin.shape)
    kept = (plan.random(len(begin)) >= MISSING) & ((random.random(len(begin)) >= MISSING) | (shift_m == 0))
    return make_lines(shapely.linestrings(np.stack([begin, middle, end], axis=1)[kept]))


def tell_vegas() -> None:
    """Print the scores of the real pair, where it is."""
    if not DATA.is_dir():
        print("Las Vegas: the real data (shared/data) are not here")
        return
    from tests.core.support.road_graphs import graphs_of, vegas
    from training_core.comparison.buffer_matching import score_lines
    from training_core.comparison.path_scores import score_apls, score_topo
    from training_core.events import Reporter
    from training_core.networks.road_graph import contracted

    pair = [contracted(each) for each in graphs_of(*vegas(DATA))]
    for snap_m in (4.0, 10.0):
        found = score_apls(*pair, Reporter(), snap_m=snap_m)
        there, back = found.truth_in_proposal.score, found.proposal_in_truth.score
        print(f"Las Vegas: APLS {found.score:.4f}, harmonic mean of {there:.4f} and {back:.4f}, snap {snap_m:g} m")
    topo, lines = score_topo(*pair, Reporter()), score_lines(*pair, 5.0)
    print(f"Las Vegas: TOPO precision {topo.precision:.4f}, recall {topo.recall:.4f}, F1 {topo.f1:.4f}")
    print(f"Las Vegas: completeness {lines.completeness:.4f}, correctness {lines.correctness:.4f}, "
          f"quality {lines.quality:.4f} within {lines.tolerance_m:g} m")  # fmt: skip


if __name__ == "__main__":
    main()
