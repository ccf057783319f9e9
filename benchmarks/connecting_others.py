"""How well networks connect that other libraries make of the same rasters, beside RoadSeg's.

The libraries are installed in a folder of their own, and the rasters are those of `benchmarks/connecting.py`:

    $(make -s runtime-python) -m pip install --target PACKAGES scikit-image sknw neatnet momepy osmnx
    $(make -s runtime-python) benchmarks/connecting_others.py FOLDER PACKAGES

All others begin with the mask at the threshold, scikit-image's skeleton and sknw's graph of it. `pruned` is without
dead ends below 10 m and components below 20 m, and simplified within 0.5 m, as RoadSeg's are; of that, momepy closes
gaps and extends dead ends as far as RoadSeg (24 and 15 m), neatnet simplifies the street network, and OSMnx simplifies
the graph and consolidates junctions within 10 m.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import rasterio
import shapely

from benchmarks.connecting import HEAD, Scores, print_row, scored, scores_of
from benchmarks.connecting_rasters import Case, read_cases
from training_core.jobs import Vectorize

JUNCTION_M = 10.0
USUAL = Vectorize()


def main() -> None:
    """Print a row for each group of rasters and way to vectorize them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("packages")
    parser.add_argument("--groups", nargs="+")
    arguments = parser.parse_args()
    sys.path.append(arguments.packages)
    cases = [case for case in read_cases(arguments.folder) if case.group in (arguments.groups or [case.group])]
    print(HEAD, flush=True)
    for group in dict.fromkeys(case.group for case in cases):
        rasters = [case for case in cases if case.group == group]
        print_row(group, "RoadSeg", f"{len(rasters)} rasters", [scored(case, arguments.folder, {}) for case in rasters])
        for way in WAYS:
            found = [of_other(case, arguments.folder, way) for case in rasters]
            print_row(group, way, f"{len(found)} rasters", found)


def of_other(case: Case, folder: Path, way: str) -> Scores:
    """Score the network that another library makes of a raster."""
    began_s = time.perf_counter()
    with rasterio.open(folder / case.raster) as dataset:
        values, crs = dataset.read(1, masked=True), dataset.crs
        scale = 1.0 if values.max() <= 1 else 254.0
        mask = values.filled(0) / scale >= case.threshold
        lines = WAYS[way](mask, dataset.transform, crs)
    seconds = time.perf_counter() - began_s
    path = folder / "others.gpkg"
    path.unlink(missing_ok=True)
    geopandas.GeoDataFrame(geometry=lines, crs=crs).to_file(path, layer="roads")
    return scores_of(case, folder, path, seconds)


def skeleton(mask: np.ndarray, transform: Any, _: Any) -> np.ndarray:
    """Return the edges of the skeleton's graph: (m,), object."""
    import sknw
    from skimage.morphology import skeletonize

    graph = sknw.build_sknw(skeletonize(mask), multi=True)
    lines = []
    for first, second, edge in graph.edges(data=True):
        pixels = np.vstack([graph.nodes[first]["o"], edge["pts"], graph.nodes[second]["o"]])
        lines.append(shapely.linestrings(np.column_stack(transform @ tuple(pixels[:, ::-1].T + 0.5))))
    return np.array([line for line in lines if line.length > 0], dtype=object)


def pruned(mask: np.ndarray, transform: Any, crs: Any) -> np.ndarray:
    """Return the edges without short dead ends and components, simplified."""
    import momepy
    import networkx

    lines = skeleton(mask, transform, crs)
    graph = graph_of(lines)
    is_spur = [
        line.length < USUAL.spur_m and sorted(min(graph.degree(node), 2) for node in ends_of(line)) == [1, 2]
        for line in lines
    ]
    layer = geopandas.GeoDataFrame(geometry=lines[~np.array(is_spur)], crs=crs)
    lines = momepy.remove_false_nodes(layer).geometry.to_numpy()
    graph, kept = graph_of(lines), np.zeros(len(lines), dtype=bool)
    for nodes in networkx.connected_components(graph):
        numbers = [number for *_, number in graph.subgraph(nodes).edges(keys=True)]
        kept[numbers] = shapely.length(lines[numbers]).sum() >= USUAL.min_length_m
    return shapely.simplify(lines[kept], USUAL.simplify_m)


def graph_of(lines: np.ndarray) -> Any:
    """Return lines as a multigraph of networkx, between their ends, with their numbers as keys."""
    import networkx

    return networkx.MultiGraph((*ends_of(line), number) for number, line in enumerate(lines))


def ends_of(line: shapely.LineString) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return both ends of a line, to a millimeter."""
    first, last = np.round(np.array(line.coords)[[0, -1]], 3)
    return tuple(first), tuple(last)


def by_momepy(mask: np.ndarray, transform: Any, crs: Any) -> np.ndarray:
    """Return the pruned lines with gaps closed and dead ends extended."""
    import momepy

    layer = geopandas.GeoDataFrame(geometry=pruned(mask, transform, crs), crs=crs)
    layer = geopandas.GeoDataFrame(geometry=momepy.close_gaps(layer, USUAL.gap_m), crs=crs)
    return momepy.remove_false_nodes(momepy.extend_lines(layer, USUAL.snap_m)).geometry.to_numpy()


def by_neatnet(mask: np.ndarray, transform: Any, crs: Any) -> np.ndarray:
    """Return the pruned lines as neatnet simplifies them."""
    import neatnet

    layer = geopandas.GeoDataFrame(geometry=pruned(mask, transform, crs), crs=crs)
    try:
        return neatnet.neatify(layer).explode().geometry.to_numpy()
    except (ValueError, KeyError):  # it found too few blocks, or none
        return layer.geometry.to_numpy()


def by_osmnx(mask: np.ndarray, transform: Any, crs: Any) -> np.ndarray:
    """Return the pruned lines as OSMnx simplifies and consolidates them."""
    import networkx
    import osmnx

    graph = networkx.MultiDiGraph(crs=crs)
    numbers: dict[tuple[float, float], int] = {}
    for line in pruned(mask, transform, crs):
        nodes = [numbers.setdefault(point, len(numbers)) for point in map(tuple, np.round(line.coords, 3))]
        for one, other in zip(nodes, nodes[1:]):
            if one != other:
                graph.add_edge(one, other, osmid=0)
                graph.add_edge(other, one, osmid=0)
    for (x, y), number in numbers.items():
        if number in graph:
            graph.nodes[number].update(x=x, y=y)
    for one, other, edge in graph.edges(data=True):
        edge["length"] = np.hypot(*(graph.nodes[one][axis] - graph.nodes[other][axis] for axis in "xy"))
    graph = osmnx.consolidate_intersections(osmnx.simplify_graph(graph), tolerance=JUNCTION_M / 2, dead_ends=True)
    edges = osmnx.graph_to_gdfs(osmnx.convert.to_undirected(graph), nodes=False)
    return edges.explode().geometry.to_numpy()


WAYS = {"sknw": skeleton, "pruned": pruned, "momepy": by_momepy, "neatnet": by_neatnet, "OSMnx": by_osmnx}

if __name__ == "__main__":
    main()
