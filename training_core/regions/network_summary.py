"""Summary of a region's network, made while it is written: counts, and kilometers by scene.

Scope: lines that come part by part. Independent of how they are extracted, written or drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import geopandas
import numpy as np
import shapely

from ..extraction.sanity_checks import is_too_dense
from .region_plan import RegionPlan


class NetworkSummary:
    """Numbers of a network.

    Parameters
    ----------
    see : callable
        Called with the lines of each part, (n,), object.

    Attributes
    ----------
    count : int
        Number of lines.
    components : int
        Number of connected components.
    scene_m : dict of str to float
        Length of road by name of the scene.
    """

    def __init__(self, region: RegionPlan, see: Callable[[np.ndarray], None]) -> None:
        self.count, self.length_m, self.components = 0, 0.0, 0
        self.scene_m: dict[str, float] = {}
        self._region, self._see = region, see
        self._outlines = {plan.scene.name: region.outline(plan) for plan in region.plans}

    def noted(self, tables: Iterable[geopandas.GeoDataFrame]) -> Iterator[geopandas.GeoDataFrame]:
        """Yield tables of lines, and count them; a line belongs to all scenes that show its middle."""
        names, tree = list(self._outlines), shapely.STRtree(list(self._outlines.values()))
        for table in tables:
            if len(table):
                lines, lengths_m = table.geometry.to_numpy(), table["length_m"].to_numpy()
                self.count += len(table)
                self.length_m += float(lengths_m.sum())
                self.components = max(self.components, int(table["component"].max()))
                self._see(lines)
                middles = shapely.line_interpolate_point(lines, 0.5, normalized=True)
                line, scene = tree.query(middles, predicate="intersects")
                for number, length_m in zip(scene.tolist(), lengths_m[line].tolist()):
                    self.scene_m[names[number]] = self.scene_m.get(names[number], 0.0) + length_m
            yield table

    def noisy_scenes(self) -> list[str]:
        """Return the names of scenes with more roads than any town has."""
        grid = self._region.grid
        return [
            name
            for name, outline in self._outlines.items()
            if is_too_dense(self.scene_m.get(name, 0.0) / 1000, grid.to_metric(outline).area / 1e6)
        ]
