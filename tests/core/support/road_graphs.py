"""Road networks in meters: by hand, at random, and the real pair of a truth and a proposal."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas
import rasterio
import shapely

from training_core.events import Reporter
from training_core.networks.lines import LineFields, lines_in, make_lines, read_line_layer, shared_plane
from training_core.networks.road_graph import contracted, make_road_graph

TOLERANCE_M = 0.01


def noded(*coordinates, bridges=(), speeds=None, tolerance_m=TOLERANCE_M):
    """The graph of lines, cut where they meet."""
    shapes = np.array([shapely.LineString(line) for line in coordinates], dtype=object)
    return make_road_graph(make_lines(shapes, np.isin(np.arange(len(shapes)), bridges), speeds), tolerance_m)


def roads_of(*coordinates, **details):
    """The graph of lines, contracted."""
    return contracted(noded(*coordinates, **details))


def town(seed, blocks=4, kept=0.8, shift_m=1.0):
    """A noded graph with speeds: a bent grid with gaps, parallel ways, a ring, a loop and a bridge over all."""
    random = np.random.default_rng(seed)
    plan = np.random.default_rng(7).uniform(-25, 25, (blocks + 1, blocks + 1, 2))  # the same for every seed
    corners = np.moveaxis(np.mgrid[: blocks + 1, : blocks + 1], 0, -1) * 90.0 + plan
    corners += random.uniform(-shift_m, shift_m, corners.shape)
    ways = [(corners[i, j], corners[i + 1, j]) for i in range(blocks) for j in range(blocks + 1)]
    ways += [(corners[i, j], corners[i, j + 1]) for i in range(blocks + 1) for j in range(blocks)]
    ways += [(corners[0, 0], corners[0, 0] + [30, 60], corners[0, 1]), (corners[1, 1], corners[2, 2])]
    loop = corners[blocks, blocks] + [(0, 0), (45, 10), (50, 60), (0, 0)]
    ring = np.array([(-90, 0), (-40, 0), (-40, 70), (-90, 0)]) + random.uniform(-1, 1)
    bridge = np.array([corners[0, 0] - [17.3, 11.1], corners[blocks, blocks] + [12.7, 19.9]])
    chosen = [way for way in ways if random.random() < kept]
    coordinates = [*chosen, loop, ring, bridge]
    speeds = random.choice([5.0, 10.0, 20.0], len(coordinates))
    return noded(*coordinates, bridges=[len(coordinates) - 1], speeds=speeds)


def vegas(folder):
    """The layers of the Las Vegas chip: its true roads, and those of a proposal that comes in pixels of the image."""
    truth = read_line_layer(str(folder / "vegas_img0_roads.geojson"), "true roads", LineFields(), Reporter())
    with rasterio.open(folder / "vegas_img0_rgb.tif") as dataset:
        transform, crs = dataset.transform, dataset.crs
    texts = pandas.read_csv(folder / "vegas_img0_proposal_wkt.csv")["WKT_Pix"]
    shapes = shapely.transform(
        shapely.from_wkt(texts), lambda points: np.column_stack(transform @ (points[:, 0], points[:, 1]))
    )
    return truth, geopandas.GeoDataFrame(geometry=shapes, crs=crs.to_wkt())


def graphs_of(*layers, tolerance_m=0.5):
    """The noded graphs of layers in their shared plane."""
    plane = shared_plane(*layers)
    return [make_road_graph(lines_in(plane, layer, LineFields()), tolerance_m) for layer in layers]
