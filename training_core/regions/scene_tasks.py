"""Tasks that map scenes: the blocks of each to predict, and its result rasters to assemble.

Scope: which work there is, under which names, and what of it is done. Independent of who does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import geopandas

from ..geodata.grid import Grid
from ..geodata.rasters import Band
from ..models.model_card import ModelCard
from ..segmentation.work_plan import Results
from .catalog import Scene
from .mosaic import Mosaic
from .prediction import Predicting, block_document, content_of
from .scene_assembly import assembly_document, is_assembled
from .scene_blocks import Block, MosaicArea, mosaic_area, scene_blocks
from .store import Store, content_key
from .tasks import Task
from .work import ASSEMBLE, MAP, PREDICT

_MASKS = "masks"
# Blocks of a round: at its end, workers wait for the last ones.
_BLOCKS_A_WORKER = 64


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """What is to be done for a scene.

    Parameters
    ----------
    mosaic : Mosaic
        The one that the scene belongs to.
    bands : tuple of Band
        How that is normalized.
    area : MosaicArea, optional
        The area of interest on it.
    blocks : tuple of (Block, str)
        The scene's, each with the key of its bytes.
    results : Results
        The files to write.
    key : str
        From what content they are made.
    """

    scene: Scene
    mosaic: Mosaic
    bands: tuple[Band, ...]
    area: Optional[MosaicArea]
    blocks: tuple[tuple[Block, str], ...]
    results: Results
    key: str

    @property
    def megapixels(self) -> float:
        """Pixels to predict, in millions."""
        return sum(block.megapixels for block, _ in self.blocks)

    @property
    def is_done(self) -> bool:
        """Whether the result rasters are there, made from this very content."""
        return all(is_assembled(path, self.key) for path in self.results.named().values())

    def grid(self, resolution_m: float) -> Grid:
        """Return the grid of the result rasters, at a ground resolution in meters."""
        return self.mosaic.grid_at(resolution_m).window(*self.mosaic.window_at(self.scene, resolution_m))


@dataclass(frozen=True, eq=False)
class Planner:
    """What all scenes of a job have in common.

    Parameters
    ----------
    folder : str
        Of the job.
    block_px : int
        Largest side of a block in pixels.
    aoi : GeoDataFrame, optional
        The area of interest; None for none.
    """

    folder: str
    predicting: Predicting
    card: ModelCard
    block_px: int
    aoi: Optional[geopandas.GeoDataFrame] = None

    @property
    def store(self) -> Store:
        """The results in the folder."""
        return Store(self.folder)

    def plan(self, mosaic: Mosaic, bands: tuple[Band, ...]) -> list[ScenePlan]:
        """Return what is to be done for the scenes of a mosaic; one that no block shows is left out.

        Parameters
        ----------
        bands : tuple of Band
            How it is normalized.
        """
        resolution_m = self.card.resolution_m
        area = None if self.aoi is None else mosaic_area(mosaic, resolution_m, self.aoi)
        plans = []
        for scene in mosaic.scenes:
            found = scene_blocks(mosaic, scene, resolution_m, self.block_px, area.window if area else None)
            blocks = tuple((block, self._block_key(mosaic, scene, block, bands, area)) for block in found)
            results = self._results(scene.name)
            key = content_key([block for _, block in blocks], self.predicting.threshold, [*results.named()])
            if blocks:
                plans.append(ScenePlan(scene, mosaic, bands, area, blocks, results, key))
        return plans

    def _block_key(
        self, mosaic: Mosaic, scene: Scene, block: Block, bands: tuple[Band, ...], area: Optional[MosaicArea]
    ) -> str:
        return content_key(content_of(block_document(self.predicting, mosaic, scene, block, bands, area)))

    def _results(self, name: str) -> Results:
        folder = Path(self.folder) / _MASKS
        classes = str(folder / f"{name}_classes.tif") if self.card.classes else ""
        return Results(str(folder / f"{name}_mask.tif"), str(folder / f"{name}_probability.tif"), classes)

    def missing(self, plan: ScenePlan) -> Iterator[Task]:
        """Yield the tasks of the blocks of a scene that are missing; a scene of a single block is mapped by one."""
        name = plan.scene.name
        if len(plan.blocks) == 1:
            (block, key), *_ = plan.blocks
            document = {"predict": self._predict(plan, block, key), "assemble": self._assemble(plan)}
            yield Task(plan.key, MAP, document, block.megapixels, name)
            return
        for block, key in plan.blocks:
            if not self.store.has(PREDICT, key, ".tif"):
                yield Task(key, PREDICT, self._predict(plan, block, key), block.megapixels, name)

    def assembly(self, plan: ScenePlan) -> Task:
        """Return the task that assembles a scene from its blocks."""
        return Task(plan.key, ASSEMBLE, self._assemble(plan), scene=plan.scene.name)

    def _predict(self, plan: ScenePlan, block: Block, key: str) -> dict[str, Any]:
        document = block_document(self.predicting, plan.mosaic, plan.scene, block, plan.bands, plan.area)
        return {"folder": self.folder, "key": key, "resolution_m": self.card.resolution_m, "block": document}

    def _assemble(self, plan: ScenePlan) -> dict[str, Any]:
        blocks = [(block, str(self.store.path(PREDICT, key, ".tif"))) for block, key in plan.blocks]
        return assembly_document(
            plan.mosaic,
            plan.scene,
            self.card.resolution_m,
            blocks,
            plan.results,
            plan.key,
            self.predicting.threshold,
            self.card.classes,
        )


def rounds(plans: Sequence[ScenePlan], workers: int) -> Iterator[list[ScenePlan]]:
    """Yield scenes in groups, each of enough blocks to keep workers busy; results appear group by group."""
    group: list[ScenePlan] = []
    blocks = 0
    for plan in plans:
        group.append(plan)
        blocks += len(plan.blocks)
        if blocks >= _BLOCKS_A_WORKER * workers:
            yield group
            group, blocks = [], 0
    if group:
        yield group
