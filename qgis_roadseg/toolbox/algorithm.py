"""Base of all algorithms: group, tags, icon, translation, help, and errors reported to Processing.

Scope: QgsProcessingAlgorithm. Independent of what a single algorithm does.
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

from ...training_core.errors import Cancelled, RoadSegError
from ..documentation import page_url
from ..paths import GROUP_ICONS
from ..runtime.signals import cancelling_signals
from ..translation import tr

# The groups of the toolbox by id; ids of groups and algorithms never change.
GROUPS = {
    "runtime": "Runtime",
    "training": "Training",
    "roads": "Roads",
    "network": "Network",
    "workflows": "Workflows",
}


class InToolbox:
    """Metadata of an algorithm in the toolbox, whether written in Python or made in Model Designer.

    Attributes
    ----------
    group_id : str
        One of GROUPS.
    keywords : str
        Search terms of the toolbox, separated by commas.
    """

    group_id: str
    keywords: str

    def tr(self, text: str) -> str:
        """Return the text in the user's language."""
        return tr(text)

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr(GROUPS[self.group_id])

    def groupId(self) -> str:
        """Return the group's id."""
        return self.group_id

    def tags(self) -> list[str]:
        """Return further search terms of the toolbox."""
        return self.tr(self.keywords).split(",")

    def helpUrl(self) -> str:
        """Return the URL of the algorithm's page, which the dialog's help button opens."""
        return page_url(self.name())

    def icon(self) -> QIcon:
        """Return the group's icon."""
        return QIcon(self.svgIconPath())

    def svgIconPath(self) -> str:
        """Return the path of the icon."""
        return str(GROUP_ICONS / f"{self.group_id}.svg")


class RoadSegAlgorithm(InToolbox, QgsProcessingAlgorithm):
    """An algorithm of the RoadSeg provider, written in Python."""

    def createInstance(self) -> "RoadSegAlgorithm":
        """Return a new instance, as Processing wants one per run."""
        return type(self)()

    def prepareAlgorithm(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> bool:
        """Resolve what belongs to the main thread, such as layers; an error is raised later, by processAlgorithm.

        QGIS takes a failed preparation for a cancellation by the user, and would skip the rest of a batch.

        Parameters
        ----------
        parameters : dict
            The parameter values by name.
        context : QgsProcessingContext
            Processing's context.
        feedback : QgsProcessingFeedback
            Receives progress, log and warnings, and can cancel.

        Returns
        -------
        bool
            Always True.
        """
        try:
            self._prepare(parameters, context, feedback)
            self._preparation_error = ""
        except (RoadSegError, QgsProcessingException) as error:
            self._preparation_error = str(error)
        return True

    def processAlgorithm(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Run the algorithm.

        Parameters
        ----------
        parameters : dict
            The parameter values by name.
        context : QgsProcessingContext
            Processing's context.
        feedback : QgsProcessingFeedback
            Receives progress, log and warnings, and can cancel.

        Returns
        -------
        dict
            The outputs' values by name.

        Raises
        ------
        QgsProcessingException
            The preparation or the run failed; the message is that of the RoadSegError.
        """
        if self._preparation_error:
            raise QgsProcessingException(self._preparation_error)
        try:
            if feedback.isCanceled():
                raise Cancelled()
            with cancelling_signals(feedback):
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
        """Run the algorithm, and return the outputs' values."""


def help_text(what: str, parameters: Iterable[QgsProcessingParameterDefinition]) -> str:
    """Return the help for the dialog and for qgis_process: a description, and the help of each parameter.

    The short description is left out, as qgis_process shows both.
    """
    return "\n\n".join([what, *(f"{parameter.description()}: {parameter.help()}" for parameter in parameters)])
