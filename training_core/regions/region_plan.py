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
from ..geodata.non_roads import area_on
from ..geodata.rasters import Band
from ..geodata.road_classes import to_document
from ..models.model_card import ModelCard
from ..segmentation.work_plan import Results, check_room
from .catalog import Catalog, Problem, Scene
from .index_layer import FAILED, KEPT, WAITING, IndexedScene
from .mask_grid import grid_around, have_same_pixels
from .mosaic import Mosaic, find_mosaics, normalized_bands
from .prediction import Predicting, block_document, content_of, predict_block
from .region_grid import outline_on, region_grid
from .region_roads import MappedScene
from .scene_blocks import MosaicArea, SceneBlock, SceneRasters, assemble, mosaic_area, scene_blocks
from .store import Store, content_key, write_arrays
from .tasks import Document, Task
from .virtual_raster import grid_document

_MASKS = "masks"
# The kind of probability and classes in the store, where the masks have other pixels.
_ON_MODEL_GRID = "model_grid"
# The kind of blocks in the store.
PREDICT = "predict"
# Blocks of a round: at its end, workers wait for the last ones.
_BLOCKS_A_WORKER = 64


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """The work for a scene, each of its blocks with the key of its bytes.

    The bands are those by which the mosaic is normalized. `rasters` are probability and classes on the model's grid,
    and `results` these with a mask on the grid of the masks. Where results have nothing else, both are the same.
    """

    scene: Scene
    mosaic: Mosaic
    bands: tuple[Band, ...]
    area: Optional[MosaicArea]
    blocks: tuple[tuple[SceneBlock, str], ...]
    rasters: SceneRasters
    results: SceneRasters

    @property
    def megapixels(self) -> float:
        """Pixels to predict, in millions."""
        return sum(block.megapixels for block, _ in self.blocks)

    @property
    def is_done(self) -> bool:
        """Whether all rasters exist, made from this very content."""
        return self.rasters.exist and self.results.exist

    @property
    def mapped(self) -> MappedScene:
        """The scene with its results."""
        paths = self.rasters.paths
        return MappedScene(self.scene.name, self.rasters.key, self.rasters.grid, paths.probability, paths.classes)

    def outline_on(self, grid: Grid) -> BaseGeometry:
        """Return the outline of the scene in the CRS of another grid."""
        pixels = outline_on(grid, self.rasters.grid)
        return shapely.transform(pixels, lambda points: np.column_stack(grid.transform @ tuple(points.T)))


@dataclass(frozen=True, eq=False)
class Planner:
    """Makes the tasks of scenes from what all scenes of a job share.

    The masks of all scenes lie on the pixels of a `mask_grid`; None for those of the model's resolution.
    """

    folder: str
    predicting: Predicting
    card: ModelCard
    aoi: Optional[geopandas.GeoDataFrame] = None
    mask_grid: Optional[Grid] = None
    no_road: Optional[geopandas.GeoDataFrame] = None

    def plan(self, mosaic: Mosaic, bands: tuple[Band, ...]) -> list[ScenePlan]:
        """Return the plans of the scenes of a mosaic, without those that have no block."""
        resolution_m, block_px = self.card.resolution_m, self.predicting.block_px
        plans = []
        area = None if self.aoi is None else mosaic_area(mosaic, resolution_m, self.aoi)
        for scene in mosaic.scenes:
            blocks = []
            for block in scene_blocks(mosaic, scene, resolution_m, block_px, area.window if area else None):
                document = block_document(self.predicting, mosaic, scene, block, bands, area)
                blocks.append((block, content_key(content_of(document))))
            grid = mosaic.grid_at(resolution_m).window(*mosaic.window_at(scene, resolution_m))
            if blocks:
                rasters = self._rasters(scene, [key for _, key in blocks], grid)
                plans.append(ScenePlan(scene, mosaic, bands, area, tuple(blocks), *rasters))
        return plans

    def _rasters(self, scene: Scene, keys: list[str], grid: Grid) -> tuple[SceneRasters, SceneRasters]:
        """Return the rasters and the results of a scene whose blocks, on a grid, have some keys."""
        kinds = ("probability", "classes") if self.card.classes else ("probability",)
        masks, store = Path(self.folder) / _MASKS, Store(self.folder)
        results = Results(**{kind: str(masks / f"{scene.name}_{kind}.tif") for kind in ("mask", *kinds)})
        threshold = self.predicting.threshold
        mask_grid = grid if self.mask_grid is None else grid_around(self.mask_grid, scene.grid)
        closed = self._closed(mask_grid)
        # Lines need the classes of all pixels; the results have those of road.
        if have_same_pixels(grid, mask_grid) and not self.card.classes and not closed:
            same = SceneRasters(grid, results, content_key(keys, threshold))
            return same, same
        paths = {kind: str(store.path(_ON_MODEL_GRID, f"{scene.name}_{kind}", ".tif")) for kind in kinds}
        rasters = SceneRasters(grid, Results(**paths), content_key(keys))
        key = content_key(rasters.key, threshold, grid_document(mask_grid), *closed)
        return rasters, SceneRasters(mask_grid, results, key)

    def _closed(self, grid: Grid) -> list[str]:
        """Return the places without a road on a grid, as a list of one hexadecimal WKB; empty without any."""
        area = area_on(self.no_road, grid)
        return [] if area.is_empty else [shapely.to_wkb(area, hex=True)]

    def missing(self, plan: ScenePlan) -> Iterator[Task]:
        """Yield the tasks of a scene's missing blocks; a scene of a single block is mapped by one task."""
        store, name = Store(self.folder), plan.scene.name
        if plan.rasters.exist:
            yield from [self.assembly(plan)] if len(plan.blocks) == 1 else []
            return
        for block, key in plan.blocks:
            raster = block_document(self.predicting, plan.mosaic, plan.scene, block, plan.bands, plan.area)
            document = {"folder": self.folder, "key": key, "block": raster}
            if len(plan.blocks) == 1:
                both = {"predict": document, "assemble": self.assembly(plan).document}
                yield Task(map_scene, both, plan.results.key, block.megapixels, name)
            elif not store.path(PREDICT, key, ".npz").is_file():
                yield Task(predict, document, key, block.megapixels, name)

    def assembly(self, plan: ScenePlan) -> Task:
        """Return the task that assembles a scene from its blocks; see `scene_blocks.assemble`."""
        store = Store(self.folder)
        document = {
            "scene": plan.scene.name,
            "corner": list(plan.mosaic.window_at(plan.scene, self.card.resolution_m)[:2]),
            "blocks": [{**asdict(block), "path": str(store.path(PREDICT, key, ".npz"))} for block, key in plan.blocks],
            "rasters": plan.rasters.to_document(),
            "results": plan.results.to_document(),
            "threshold": self.predicting.threshold,
            "no_road": self._closed(plan.results.grid),
            "classes": to_document(self.card.classes),
        }
        return Task(assemble_scene, document, plan.results.key, scene=plan.scene.name)


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
                mask=plan.results.paths.mask,
                probability=plan.results.paths.probability,
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

    Raises ImageryError if no scene can be mapped. Raises ResourceError if the disk has no room for the masks.
    """
    mosaics = find_mosaics(catalog.scenes, planner.predicting.halo_px, planner.card.resolution_m)
    plans: list[ScenePlan] = []
    problems, outside = list(catalog.problems), len(catalog.outside)
    for number, mosaic in enumerate(mosaics):
        reporter.step(number / len(mosaics), "Planning")
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
    missing = [(path, plan.results.grid) for plan in region.missing for path in plan.results.paths.named().values()]
    check_room((path, grid.width * grid.height) for path, grid in missing)
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
