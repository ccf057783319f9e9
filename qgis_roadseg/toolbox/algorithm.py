"""What every RoadSeg algorithm shares in Processing's eyes.

Knows how an algorithm is made anew, grouped, translated, pictured and helped with, and how a refusal is told; knows
nothing of what one does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from qgis.core import (
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingParameterDefinition,
)
from qgis.PyQt.QtGui import QIcon

from ...training_core.errors import RoadSegError
from ..documentation import page_url
from ..paths import GROUP_ICONS
from ..translation import tr

# The groups of the toolbox by their ids, which, like those of the algorithms, stay for ever.
GROUPS = {
    "runtime": "Runtime",
    "training": "Training",
    "roads": "Roads",
    "network": "Network",
    "workflows": "Workflows",
}


class InToolbox:
    """How the toolbox shows what RoadSeg has, whether written in Python or made in Model Designer.

    Attributes
    ----------
    group_id : str
        One of GROUPS.
    keywords : str
        Words, separated by commas, that the toolbox also finds it by.
    """

    group_id: str
    keywords: str

    def tr(self, text: str) -> str:
        """Return the text in the person's language."""
        return tr(text)

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr(GROUPS[self.group_id])

    def groupId(self) -> str:
        """Return the group's id."""
        return self.group_id

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr(self.keywords).split(",")

    def helpUrl(self) -> str:
        """Return the address of the algorithm's page, which the dialog's button opens."""
        return page_url(self.name())

    def icon(self) -> QIcon:
        """Return the group's icon."""
        return QIcon(self.svgIconPath())

    def svgIconPath(self) -> str:
        """Return the icon as a file."""
        return str(GROUP_ICONS / f"{self.group_id}.svg")


class RoadSegAlgorithm(InToolbox, QgsProcessingAlgorithm):
    """An algorithm of the RoadSeg provider, written in Python."""

    def createInstance(self) -> "RoadSegAlgorithm":
        """Return a new one, as Processing wants one a run."""
        return type(self)()

    def prepareAlgorithm(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> bool:
        """Look at what belongs to the main thread; what is wrong there is told when the work begins.

        QGIS takes a preparation that fails for a person who cancels, and would leave out the rest of a batch.
        """
        try:
            self._prepare(parameters, context, feedback)
            self._refusal = ""
        except (RoadSegError, QgsProcessingException) as error:
            self._refusal = str(error)
        return True

    def processAlgorithm(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Do the work, or say why it cannot be done."""
        if self._refusal:
            raise QgsProcessingException(self._refusal)
        try:
            return self._work(parameters, context, feedback)
        except RoadSegError as error:
            raise QgsProcessingException(str(error)) from error

    def _prepare(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """Resolve what belongs to the main thread, such as layers; raise RoadSegError where that cannot be."""

    @abstractmethod
    def _work(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Do what the algorithm is for, and return the outputs' values."""


def help_text(what: str, parameters: Iterable[QgsProcessingParameterDefinition]) -> str:
    """Return the help for the dialog and for qgis_process: what the algorithm does, and what each parameter is.

    The short description is no part of it: it would stand there twice in qgis_process, which shows both.
    """
    return "\n\n".join([what, *(f"{parameter.description()}: {parameter.help()}" for parameter in parameters)])
