"""The plan of a region: the tasks of each scene, the results that exist, and the scenes that cannot be mapped.

Scope: which work there is, under which names, and the functions that do the work on scenes. Independent of who calls
them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.rasters import Band
from ..geodata.road_classes import to_document
from ..models.model_card import ModelCard
from ..segmentation.work_plan import Results
from .catalog import Catalog, Problem, Scene
from .index_layer import FAILED, KEPT, WAITING, IndexedScene
from .mosaic import Mosaic, find_mosaics, normalized_bands
from .prediction import Predicting, block_document, content_of, predict_block
from .region_grid import outline_on, region_grid
from .region_roads import MappedScene
from .scene_blocks import MosaicArea, SceneBlock, assemble, is_assembled, mosaic_area, scene_blocks
from .store import Store, content_key, write_arrays
from .tasks import Document, Task
from .virtual_raster import grid_document

_MASKS = "masks"
# The kind of blocks in the store.
PREDICT = "predict"
# Blocks of a round: at its end, workers wait for the last ones.
_BLOCKS_A_WORKER = 64


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """The work for a scene, each of its blocks with the key of its bytes.

    The bands are those by which the mosaic is normalized. The grid is that of the results. The key of the plan is made
    from their content.
    """

    scene: Scene
    mosaic: Mosaic
    bands: tuple[Band, ...]
    area: Optional[MosaicArea]
    blocks: tuple[tuple[SceneBlock, str], ...]
    grid: Grid
    results: Results
    key: str

    @property
    def megapixels(self) -> float:
        """Pixels to predict, in millions."""
        return sum(block.megapixels for block, _ in self.blocks)

    @property
    def is_done(self) -> bool:
        """Whether the result rasters exist, made from this very content."""
        return all(is_assembled(path, self.key) for path in self.results.named().values())

    @property
    def mapped(self) -> MappedScene:
        """The scene with its results."""
        return MappedScene(self.scene.name, self.key, self.grid, self.results.probability, self.results.classes)

    def outline_on(self, grid: Grid) -> BaseGeometry:
        """Return the outline of the results in the CRS of another grid."""
        pixels = outline_on(grid, self.grid)
        return shapely.transform(pixels, lambda points: np.column_stack(grid.transform @ tuple(points.T)))


@dataclass(frozen=True, eq=False)
class Planner:
    """Makes the tasks of scenes from what all scenes of a job share."""

    folder: str
    predicting: Predicting
    card: ModelCard
    aoi: Optional[geopandas.GeoDataFrame] = None

    def plan(self, mosaic: Mosaic, bands: tuple[Band, ...]) -> list[ScenePlan]:
        """Return the plans of the scenes of a mosaic, without those that have no block."""
        resolution_m, block_px = self.card.resolution_m, self.predicting.block_px
        masks, plans = Path(self.folder) / _MASKS, []
        area = None if self.aoi is None else mosaic_area(mosaic, resolution_m, self.aoi)
        for scene in mosaic.scenes:
            blocks = []
            for block in scene_blocks(mosaic, scene, resolution_m, block_px, area.window if area else None):
                document = block_document(self.predicting, mosaic, scene, block, bands, area)
                blocks.append((block, content_key(content_of(document))))
            classes = str(masks / f"{scene.name}_classes.tif") if self.card.classes else ""
            results = Results(
                str(masks / f"{scene.name}_mask.tif"), str(masks / f"{scene.name}_probability.tif"), classes
            )
            key = content_key([key for _, key in blocks], self.predicting.threshold, [*results.named()])
            grid = mosaic.grid_at(resolution_m).window(*mosaic.window_at(scene, resolution_m))
            if blocks:
                plans.append(ScenePlan(scene, mosaic, bands, area, tuple(blocks), grid, results, key))
        return plans

    def missing(self, plan: ScenePlan) -> Iterator[Task]:
        """Yield the tasks of a scene's missing blocks; a scene of a single block is mapped by one task."""
        store, name = Store(self.folder), plan.scene.name
        for block, key in plan.blocks:
            raster = block_document(self.predicting, plan.mosaic, plan.scene, block, plan.bands, plan.area)
            document = {"folder": self.folder, "key": key, "block": raster}
            if len(plan.blocks) == 1:
                both = {"predict": document, "assemble": self.assembly(plan).document}
                yield Task(map_scene, both, plan.key, block.megapixels, name)
            elif not store.has(PREDICT, key, ".npz"):
                yield Task(predict, document, key, block.megapixels, name)

    def assembly(self, plan: ScenePlan) -> Task:
        """Return the task that assembles a scene from its blocks; see `scene_blocks.assemble`."""
        store = Store(self.folder)
        document = {
            "scene": plan.scene.name,
            "grid": grid_document(plan.grid),
            "corner": list(plan.mosaic.window_at(plan.scene, self.card.resolution_m)[:2]),
            "blocks": [{**asdict(block), "path": str(store.path(PREDICT, key, ".npz"))} for block, key in plan.blocks],
            "results": plan.results.named(),
            "key": plan.key,
            "threshold": self.predicting.threshold,
            "classes": to_document(self.card.classes),
        }
        return Task(assemble_scene, document, plan.key, scene=plan.scene.name)


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


@dataclass(frozen=True, eq=False)
class RegionPlan:
    """The work for a region: plans of all scenes that can be mapped, and problems of those that cannot.

    `kept` names the scenes whose results exist. `outside` counts those outside of the area of interest. It prints
    itself for the log.
    """

    planner: Planner
    plans: tuple[ScenePlan, ...]
    kept: frozenset[str]
    problems: tuple[Problem, ...]
    outside: int
    grid: Grid

    @property
    def missing(self) -> list[ScenePlan]:
        """The scenes to map."""
        return [plan for plan in self.plans if plan.scene.name not in self.kept]

    def indexed(self) -> list[IndexedScene]:
        """Return all scenes as the index has them before the work begins."""
        mappable = (
            IndexedScene(
                plan.scene.name,
                plan.scene.path,
                plan.outline_on(self.grid),
                KEPT if plan.scene.name in self.kept else WAITING,
                blocks=len(plan.blocks),
                megapixels=plan.megapixels,
                mask=plan.results.mask,
                probability=plan.results.probability,
            )
            for plan in self.plans
        )
        failed = (IndexedScene(scene.name, scene.path, None, FAILED, scene.reason) for scene in self.problems)
        return [*mappable, *failed]

    def __str__(self) -> str:
        kept = f" {len(self.kept):,} scenes are mapped already." if self.kept else ""
        return (
            f"{len(self.plans):,} scenes in {len({plan.mosaic for plan in self.plans}):,} mosaics, "
            f"{sum(plan.megapixels for plan in self.plans):,.1f} megapixels, blocks of at most "
            f"{self.planner.predicting.block_px} px.{kept}"
        )


def plan_region(catalog: Catalog, planner: Planner, reporter: Reporter) -> RegionPlan:
    """Return the work for the scenes of a catalog, and log it.

    Raises ImageryError if no scene can be mapped.
    """
    mosaics = find_mosaics(catalog.scenes, planner.predicting.halo_px, planner.card.resolution_m)
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
        of_mosaic = planner.plan(mosaic, bands)
        plans += of_mosaic
        outside += len(mosaic.scenes) - len(of_mosaic)
    if not plans:
        raise nothing_to_map(problems)
    kept = frozenset(plan.scene.name for plan in plans if plan.is_done)
    grids = [mosaic.grid_at(planner.card.resolution_m) for mosaic in dict.fromkeys(plan.mosaic for plan in plans)]
    region = RegionPlan(planner, tuple(plans), kept, tuple(problems), outside, region_grid(grids))
    reporter.log(str(region))
    return region


def nothing_to_map(problems: Sequence[Problem]) -> ImageryError:
    """Return the error that no scene can be mapped, with the first reason."""
    if not problems:
        return ImageryError(
            "No scene lies in the area of interest.", "Check the coordinate systems of both, or choose other scenes."
        )
    more = f" None of {len(problems):,} scenes can be mapped." if len(problems) > 1 else ""
    return ImageryError(problems[0].reason + more, problems[0].remedy)


def predict(document: Document) -> Document:
    """Predict a block: `folder`, `key`, and `block` as `prediction.block_document` returns it."""
    found, left_out = predict_block(document["block"])
    Store(document["folder"]).write(PREDICT, document["key"], ".npz", lambda path: write_arrays(path, vars(found)))
    return {"left_out": left_out}


def map_scene(document: Document) -> Document:
    """Predict and assemble a scene of a single block: `predict` and `assemble` are the documents of both."""
    return {**predict(document["predict"]), **assemble_scene(document["assemble"])}


def assemble_scene(document: Document) -> Document:
    """Assemble a scene; see `scene_blocks.assemble`. Its blocks are removed, since the results hold their bytes."""
    result = assemble(document)
    for block in document["blocks"]:
        with contextlib.suppress(OSError):
            Path(block["path"]).unlink()
    return result
