"""The plan of a region: the tasks of each scene, the results that exist, and the scenes that cannot be mapped.

Scope: which work there is, under which names. Independent of who does it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional

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
from .mosaic import Mosaic, normalized_bands
from .network_tasks import MappedScene
from .prediction import Predicting, block_document, content_of, predict_block
from .region_grid import outline_on, region_grid
from .scene_blocks import MosaicArea, SceneBlock, assemble, is_assembled, mosaic_area, scene_blocks, write_block
from .store import Store, content_key
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

    The bands are those by which the mosaic is normalized. The key of the plan is made from the content of its results.
    """

    scene: Scene
    mosaic: Mosaic
    bands: tuple[Band, ...]
    area: Optional[MosaicArea]
    blocks: tuple[tuple[SceneBlock, str], ...]
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


@dataclass(frozen=True, eq=False)
class Planner:
    """Makes the tasks of scenes, with blocks of up to `block_px` a side, from what all scenes of a job share."""

    folder: str
    predicting: Predicting
    card: ModelCard
    block_px: int
    aoi: Optional[geopandas.GeoDataFrame] = None

    def plan(self, mosaic: Mosaic, bands: tuple[Band, ...]) -> list[ScenePlan]:
        """Return the plans of the scenes of a mosaic, without those that have no block."""
        resolution_m = self.card.resolution_m
        area = None if self.aoi is None else mosaic_area(mosaic, resolution_m, self.aoi)
        plans = []
        for scene in mosaic.scenes:
            windows = scene_blocks(mosaic, scene, resolution_m, self.block_px, area.window if area else None)
            documents = (block_document(self.predicting, mosaic, scene, block, bands, area) for block in windows)
            blocks = tuple((block, content_key(content_of(document))) for block, document in zip(windows, documents))
            masks, name = Path(self.folder) / _MASKS, scene.name
            classes = str(masks / f"{name}_classes.tif") if self.card.classes else ""
            results = Results(str(masks / f"{name}_mask.tif"), str(masks / f"{name}_probability.tif"), classes)
            key = content_key([block for _, block in blocks], self.predicting.threshold, [*results.named()])
            if blocks:
                plans.append(ScenePlan(scene, mosaic, bands, area, blocks, results, key))
        return plans

    def grid(self, plan: ScenePlan) -> Grid:
        """Return the grid of a scene's result rasters."""
        resolution_m = self.card.resolution_m
        return plan.mosaic.grid_at(resolution_m).window(*plan.mosaic.window_at(plan.scene, resolution_m))

    def missing(self, plan: ScenePlan) -> Iterator[Task]:
        """Yield the tasks of a scene's missing blocks; a scene of a single block is mapped by one task."""
        name = plan.scene.name
        if len(plan.blocks) == 1:
            (block, key), *_ = plan.blocks
            document = {"predict": self._predict(plan, block, key), "assemble": self.assembly_document(plan)}
            yield Task(map_scene, document, plan.key, block.megapixels, name)
            return
        store = Store(self.folder)
        for block, key in plan.blocks:
            if not store.has(PREDICT, key, ".tif"):
                yield Task(predict, self._predict(plan, block, key), key, block.megapixels, name)

    def assembly(self, plan: ScenePlan) -> Task:
        """Return the task that assembles a scene from its blocks."""
        return Task(assemble_scene, self.assembly_document(plan), plan.key, scene=plan.scene.name)

    def _predict(self, plan: ScenePlan, block: SceneBlock, key: str) -> dict[str, Any]:
        document = block_document(self.predicting, plan.mosaic, plan.scene, block, plan.bands, plan.area)
        return {"folder": self.folder, "key": key, "block": document}

    def assembly_document(self, plan: ScenePlan) -> dict[str, Any]:
        """Return the document of a scene's result rasters, as `scene_blocks.assemble` takes it."""
        store = Store(self.folder)
        return {
            "scene": plan.scene.name,
            "grid": grid_document(self.grid(plan)),
            "corner": list(plan.mosaic.window_at(plan.scene, self.card.resolution_m)[:2]),
            "blocks": [{**asdict(block), "path": str(store.path(PREDICT, key, ".tif"))} for block, key in plan.blocks],
            "results": plan.results.named(),
            "key": plan.key,
            "threshold": self.predicting.threshold,
            "classes": to_document(self.card.classes),
        }


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

    `kept` names the scenes whose results exist. `outside` counts those outside of the area of interest.
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

    def mapped(self, plan: ScenePlan) -> MappedScene:
        """Return a scene with its results."""
        results = plan.results
        return MappedScene(plan.scene.name, plan.key, self.planner.grid(plan), results.probability, results.classes)

    def outline(self, plan: ScenePlan) -> BaseGeometry:
        """Return the outline of a scene in the CRS of the region."""
        pixels = outline_on(self.grid, self.planner.grid(plan))
        return shapely.transform(pixels, lambda points: np.column_stack(self.grid.transform @ tuple(points.T)))

    def indexed(self) -> list[IndexedScene]:
        """Return all scenes as the index has them before the work begins."""
        mappable = (
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
        )
        failed = (IndexedScene(scene.name, scene.path, None, FAILED, scene.reason) for scene in self.problems)
        return [*mappable, *failed]


def plan_region(catalog: Catalog, mosaics: Sequence[Mosaic], planner: Planner, reporter: Reporter) -> RegionPlan:
    """Return the work for the scenes of a catalog, which form these mosaics.

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
        of_mosaic = planner.plan(mosaic, bands)
        plans += of_mosaic
        outside += len(mosaic.scenes) - len(of_mosaic)
    if not plans:
        raise nothing_to_map(problems)
    kept = frozenset(plan.scene.name for plan in plans if plan.is_done)
    grids = [mosaic.grid_at(planner.card.resolution_m) for mosaic in dict.fromkeys(plan.mosaic for plan in plans)]
    reporter.log(
        f"{len(plans):,} scenes in {len(grids):,} mosaics, {sum(plan.megapixels for plan in plans):,.1f} megapixels, "
        f"blocks of at most {planner.block_px} px." + (f" {len(kept):,} scenes are mapped already." if kept else "")
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


def predict(document: Document) -> Document:
    """Predict a block: `folder`, `key`, and `block` as `prediction.block_document` returns it."""
    prediction, grid, left_out = predict_block(document["block"])
    Store(document["folder"]).write(PREDICT, document["key"], ".tif", lambda path: write_block(path, prediction, grid))
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
