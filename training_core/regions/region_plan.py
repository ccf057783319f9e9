"""The plan of a region: what is to be done for each scene, what is there already, and what cannot be mapped.

Scope: scenes, mosaics and the region's grid. Independent of who does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.grid import Grid
from .catalog import Catalog, Problem
from .index_layer import FAILED, KEPT, WAITING, IndexedScene
from .mosaic import Mosaic, normalized_bands
from .network_tasks import MappedScene
from .region_grid import outline_on, region_grid
from .scene_tasks import Planner, ScenePlan


@dataclass(frozen=True, eq=False)
class RegionPlan:
    """What is to be done for a region.

    Parameters
    ----------
    plans : tuple of ScenePlan
        Of all scenes that can be mapped.
    kept : frozenset of str
        Names of those whose results are there.
    problems : tuple of Problem
        Scenes that cannot be mapped.
    outside : int
        Number of scenes outside of the area of interest.
    grid : Grid
        Of the region.
    """

    planner: Planner
    plans: tuple[ScenePlan, ...]
    kept: frozenset[str]
    problems: tuple[Problem, ...]
    outside: int
    grid: Grid

    @property
    def missing(self) -> list[ScenePlan]:
        """Those that are to be mapped."""
        return [plan for plan in self.plans if plan.scene.name not in self.kept]

    def mapped(self, plan: ScenePlan) -> MappedScene:
        """Return a scene whose results are there."""
        results, grid = plan.results, plan.grid(self.planner.card.resolution_m)
        return MappedScene(plan.scene.name, plan.key, grid, results.probability, results.classes)

    def outline(self, plan: ScenePlan) -> BaseGeometry:
        """Return the outline of a scene in the CRS of the region."""
        pixels = outline_on(self.grid, plan.grid(self.planner.card.resolution_m))
        return shapely.transform(pixels, lambda points: np.column_stack(self.grid.transform @ tuple(points.T)))

    def indexed(self) -> list[IndexedScene]:
        """Return all scenes as the index has them before the work begins."""
        failed = [IndexedScene(each.name, each.path, None, FAILED, each.reason) for each in self.problems]
        return [
            *(
                IndexedScene(
                    plan.scene.name,
                    plan.scene.path,
                    self.outline(plan),
                    KEPT if plan.scene.name in self.kept else WAITING,
                    blocks=len(plan.blocks),
                    megapixels=plan.megapixels,
                    mask=plan.results.mask,
                    probability=plan.results.probability,
                )
                for plan in self.plans
            ),
            *failed,
        ]


def plan_region(catalog: Catalog, mosaics: Sequence[Mosaic], planner: Planner, reporter: Reporter) -> RegionPlan:
    """Return what is to be done for the scenes of a catalog.

    Parameters
    ----------
    mosaics : sequence of Mosaic
        Of its scenes.

    Raises
    ------
    ImageryError
        No scene can be mapped.
    """
    plans: list[ScenePlan] = []
    problems, outside = list(catalog.problems), len(catalog.outside)
    for number, mosaic in enumerate(mosaics):
        reporter.check_cancelled()
        reporter.progress(number / len(mosaics), "Planning")
        try:
            bands, _ = normalized_bands(mosaic, planner.card.input)
        except ImageryError as error:
            reasons = (error.code, error.message, error.remedy)
            problems += [Problem(scene.path, scene.name, *reasons) for scene in mosaic.scenes]
            continue
        found = planner.plan(mosaic, bands)
        plans += found
        outside += len(mosaic.scenes) - len(found)
    if not plans:
        raise nothing_to_map(problems)
    kept = frozenset(plan.scene.name for plan in plans if plan.is_done)
    grids = [mosaic.grid_at(planner.card.resolution_m) for mosaic in dict.fromkeys(plan.mosaic for plan in plans)]
    reporter.log(
        f"{len(plans):,} scenes in {len(grids):,} mosaics, {sum(plan.megapixels for plan in plans):,.1f} megapixels, "
        f"blocks of at most {planner.block_px} px." + (f" {len(kept):,} scenes are there already." if kept else "")
    )
    return RegionPlan(planner, tuple(plans), kept, tuple(problems), outside, region_grid(grids))


def nothing_to_map(problems: Sequence[Problem]) -> ImageryError:
    """Return the error that no scene can be mapped, with the first reason."""
    if not problems:
        return ImageryError(
            "No scene lies in the area of interest.", "Check the coordinate systems of both, or choose other scenes."
        )
    more = f" None of {len(problems):,} scenes can be mapped." if len(problems) > 1 else ""
    return ImageryError(problems[0].reason + more, problems[0].remedy)
