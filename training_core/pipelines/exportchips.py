"""The job exportchips: chips of images and their labels in one folder, with the index of a format.

Scope: the order of images and chips. Chips are cut, written and indexed by `training_chips`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union

from ..errors import ImageryError, LabelError
from ..events import Reporter
from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import Image, choose_bands, open_image
from ..geodata.sources import source_name, with_sources
from ..jobs import COCO, ESRI, GEOTIFF, ExportChips
from ..labels.labeled_images import Truth, read_truth, without_labels
from ..labels.training_chips import Bands, Chip, CocoIndex, EsriIndex, StacIndex, cut_chips, write_chip
from ..system.outputs import Outputs

Index = Union[StacIndex, CocoIndex, EsriIndex]
_INDEXES: dict[str, type[Index]] = {GEOTIFF: StacIndex, COCO: CocoIndex, ESRI: EsriIndex}


def run(job: ExportChips, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.ExportChips`. Raises LabelError if no chip has enough labels."""
    with Outputs([*with_sources(job.rasters), *job.masks, job.roads, job.aoi, job.no_road]) as outputs:
        folder = outputs.stage_folder(job.folder)
        index = _INDEXES[job.format]()
        for name in filter(None, ("images", index.masks)):
            (folder / name).mkdir()
        truth = read_truth(job, job.aoi, job.rasters, reporter)
        images: set[str] = set()
        count = road = labeled = 0
        for chip, bands in _chips(job, truth, reporter):
            reporter.check_cancelled()
            file = f"{chip.name}.tif"
            write_chip(chip, bands, folder / "images" / file, folder / index.masks / file if index.masks else None)
            index.add(chip)
            images.add(chip.image)
            count += 1
            road, labeled = road + int((chip.labels == ROAD).sum()), labeled + int((chip.labels != IGNORE).sum())
        if not count:
            raise LabelError(
                f"No chip of {job.chip_px} px has labels on {' or '.join(map(source_name, job.rasters))}.",
                "Check where the labels lie, or give smaller chips (chip_px) or a smaller minimum "
                "of labels (min_labeled).",
            )
        index.write(folder, bands)
    return {
        "folder": job.folder,
        "chips": count,
        "images": len(images),
        "labeled_share": labeled / (count * job.chip_px**2),
        "road_share": road / labeled,
    }


def _chips(job: ExportChips, truth: Truth, reporter: Reporter) -> Iterator[tuple[Chip, Bands]]:
    """Yield the chips of all images, numbered through, with the bands of each image.

    Raises ImageryError if an image cannot be read, or has another number of bands than the first.
    """
    count = 0
    first: tuple[str, ...] = ()
    for number, path in enumerate(job.rasters):
        reporter.progress(number / len(job.rasters), f"Image {number + 1} of {len(job.rasters)}")
        with open_image(path) as dataset:
            names = choose_bands(dataset, ())
            first = first or tuple(names.values())
            if len(names) != len(first):
                raise ImageryError(
                    f"{path} has {len(names)} bands, but {job.rasters[0]} has {len(first)}.",
                    "Export images with the same bands together.",
                )
            colors = tuple(dataset.colorinterp[index - 1] for index in names)
            with Image(dataset, tuple(names), 0.0, job.pixel_m) as image:
                labels = truth.burn(image.grid, path)
                if labels is None:
                    reporter.warning(without_labels(path))
                    continue
                if min(image.grid.width, image.grid.height) < job.chip_px:
                    reporter.warning(f"{path} is smaller than a chip of {job.chip_px} px. It is left out.")
                    continue
                step_px = job.chip_px - job.overlap_px
                for chip in cut_chips(image, labels, job.chip_px, step_px, job.min_labeled, count):
                    count += 1
                    yield chip, Bands(tuple(names.values()), colors, dataset.nodata)
