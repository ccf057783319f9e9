"""The Processing provider: RoadSeg's place in the toolbox.

Scope: registration of algorithms and workflows. Independent of single algorithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qgis.core import QgsProcessingAlgorithm, QgsProcessingProvider
from qgis.PyQt.QtCore import pyqtSignal
from qgis.PyQt.QtGui import QIcon

from ..paths import ICON
from .workflow_algorithm import FOLDER, WorkflowAlgorithm


def make_algorithms(types: Sequence[type[QgsProcessingAlgorithm]]) -> Iterator[QgsProcessingAlgorithm]:
    """Yield an instance of each type of algorithm, and after these the workflows.

    A workflow has no outputs unless the algorithms of its steps are registered before it is made.
    """
    for algorithm in types:
        yield algorithm()
    yield from map(WorkflowAlgorithm, sorted(path.stem for path in FOLDER.glob("*.model3")))


class RoadSegProvider(QgsProcessingProvider):
    """RoadSeg in the toolbox."""

    runtime_ready = pyqtSignal()  # Set up runtime has succeeded
    packages_missing = pyqtSignal(str, str)  # a job has asked for a set of packages: why, and which

    def __init__(self, types: Sequence[type[QgsProcessingAlgorithm]]) -> None:
        super().__init__()
        self._types = types

    def loadAlgorithms(self) -> None:
        """Add every algorithm, with or without a runtime."""
        for algorithm in make_algorithms(self._types):
            self.addAlgorithm(algorithm)

    def id(self) -> str:
        """Return the id that stands before the colon: roadseg:segment."""
        return "roadseg"

    def name(self) -> str:
        return "RoadSeg"

    def icon(self) -> QIcon:
        return QIcon(str(ICON))

    def svgIconPath(self) -> str:
        return str(ICON)

    def supportedOutputRasterLayerExtensions(self) -> list[str]:
        """Return the only raster format that the worker writes."""
        return ["tif"]

    def defaultRasterFileExtension(self) -> str:
        """Return the extension of temporary rasters."""
        return "tif"
