"""The job that exports training data: chips of images with their labels, for other programs.

Scope: the fields and their texts. Independent of the formats; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import FOLDER_OUTPUT, RASTERS, VECTOR, option
from .shared import MaskOptions

GEOTIFF, COCO, ESRI = "geotiff", "coco", "esri"


@dataclass(frozen=True)
class ExportChips(MaskOptions):
    """Export training chips: parts of images with their labels, in a format on which other programs can train.

    Cuts the labeled parts of the images into square chips of one size. The labels are 1 for road, 0 for background and
    255 for unknown, taken from drawn roads or label masks. RoadSeg reads all formats back as images and label masks.
    """

    name: ClassVar[str] = "exportchips"
    title: ClassVar[str] = "Export training chips"

    rasters: tuple[str, ...] = option((), "Images", "Images to cut chips from.", kind=RASTERS, required=True)
    aoi: str = option("", "Area of interest", "Polygons in which every road is drawn.", kind=VECTOR)
    folder: str = option("", "Folder", "Folder to write. It must be new or empty.", kind=FOLDER_OUTPUT, required=True)
    format: str = option(
        GEOTIFF,
        "Format",
        "Layout of the folder. geotiff contains images, masks and a STAC index. coco contains images, and polygons of "
        "their roads in annotations.json. esri contains images and labels in the layout of classified tiles that "
        "ArcGIS exports.",
        choices=(GEOTIFF, COCO, ESRI),
    )
    chip_px: int = option(256, "Chip size", "Side of a chip.", unit="px", within=(32, 4096))
    overlap_px: int = option(
        0, "Overlap", "Number of pixels that neighboring chips share.", unit="px", within=(0, 4064)
    )
    min_labeled: float = option(
        0.0,
        "Minimum labeled fraction",
        "Chips with a smaller labeled fraction are left out. 1 leaves out all chips with unknown pixels. 0 leaves out "
        "only chips without labels.",
        within=(0, 1),
    )

    def _check_together(self) -> None:
        super()._check_together()
        self._require_labels()
        if self.overlap_px >= self.chip_px:
            raise JobError(
                f"Chips of {self.chip_px} px (chip_px) cannot share {self.overlap_px} px (overlap_px).",
                "Give a smaller overlap.",
            )
