"""The Processing provider: RoadSeg's place in the toolbox.

Knows which algorithms there are; knows nothing of what they do.
"""

from __future__ import annotations

from qgis.core import QgsProcessingAlgorithm, QgsProcessingProvider
from qgis.PyQt.QtGui import QIcon

from ..algorithms.cleannetwork import CleanNetwork
from ..algorithms.comparenetworks import CompareNetworks
from ..algorithms.createlabellayers import CreateLabelLayers
from ..algorithms.evaluate import Evaluate
from ..algorithms.exportmodel import ExportModel
from ..algorithms.exportnetwork import ExportNetwork
from ..algorithms.extractroads import ExtractRoads
from ..algorithms.finetune import FineTune
from ..algorithms.makescene import MakeScene
from ..algorithms.quantize import Quantize
from ..algorithms.scorenetwork import ScoreNetwork
from ..algorithms.segment import Segment
from ..algorithms.setupruntime import SetUpRuntime
from ..algorithms.suggestlabels import SuggestLabels
from ..algorithms.vectorize import Vectorize
from .model_algorithm import ModelAlgorithm, model_names
from .paths import ICON

ALGORITHMS = (
    SetUpRuntime,
    CreateLabelLayers,
    FineTune,
    Evaluate,
    SuggestLabels,
    ExportModel,
    Quantize,
    MakeScene,
    Segment,
    Vectorize,
    ExtractRoads,
    CleanNetwork,
    ScoreNetwork,
    ExportNetwork,
    CompareNetworks,
)


def make_algorithms() -> list[QgsProcessingAlgorithm]:
    """Return a new one of each algorithm, the models last; these are complete once the provider is registered."""
    return [*(algorithm() for algorithm in ALGORITHMS), *map(ModelAlgorithm, model_names())]


class RoadSegProvider(QgsProcessingProvider):
    """All of RoadSeg's algorithms."""

    def loadAlgorithms(self) -> None:
        """Add every algorithm, whether or not there is a runtime to run it."""
        for algorithm in make_algorithms():
            self.addAlgorithm(algorithm)

    def id(self) -> str:
        """Return the id that stands before the colon: roadseg:segment."""
        return "roadseg"

    def name(self) -> str:
        """Return the name in the toolbox."""
        return "RoadSeg"

    def icon(self) -> QIcon:
        """Return the icon in the toolbox."""
        return QIcon(str(ICON))

    def svgIconPath(self) -> str:
        """Return the icon as a file."""
        return str(ICON)

    def supportedOutputRasterLayerExtensions(self) -> list[str]:
        """Return the one raster format that the worker writes."""
        return ["tif"]

    def defaultRasterFileExtension(self) -> str:
        """Return the extension of a raster that is given no name."""
        return "tif"
