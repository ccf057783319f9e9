"""Base of all algorithms: group, tags, icon, translation, help, checks of layers, and errors reported to Processing.

Scope: QgsProcessingAlgorithm and its declarations. Independent of single algorithms.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from qgis.core import (
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameterMapLayer,
    QgsProcessingParameterMultipleLayers,
    QgsProcessingParameterRasterLayer,
)
from qgis.PyQt.QtGui import QIcon

from ...training_core.errors import Cancelled, RoadSegError
from ..layers.exchange import raster_path
from ..layers.image_layer import image_layers, is_raster, takes_areas
from ..layers.snapshot import take_source
from ..paths import GROUP_ICONS, page_url
from ..runtime.feedback import cancelling_signals
from ..runtime.run_log import LoggedFeedback, RunLog
from ..translation import tr

# The groups of the toolbox by id; ids of groups and algorithms never change.
GROUPS = {
    "runtime": "Runtime",
    "training": "Training",
    "roads": "Roads",
    "network": "Network",
    "workflows": "Workflows",
}

# Values of parameters or outputs, by name.
Values = dict[str, Any]

if TYPE_CHECKING:  # a part of classes that derive from one of QGIS' algorithms
    _Algorithm = QgsProcessingAlgorithm
else:
    _Algorithm = object


class InToolbox(_Algorithm):
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

    def checkParameterValues(self, parameters: Values, context: QgsProcessingContext) -> tuple[bool, str]:
        """Return whether the values are valid, with a message if not.

        Names and layers come first: QGIS ignores values of misspelled names, and names no layer of another kind.
        """
        known = [each.name() for each in self.parameterDefinitions()]
        unknown = [name for name in parameters if name not in known]
        if unknown:
            return False, f"There is no parameter {', '.join(unknown)}. Choose from {', '.join(known)}."
        layers = self._layers_alone(parameters)
        try:
            self._check_layers(layers, context)
            fine, message = super().checkParameterValues(layers, context)
            if fine:
                self._check(parameters, context)
        except (RoadSegError, QgsProcessingException) as error:
            return False, str(error)
        return fine, message

    def _layers_alone(self, parameters: Values) -> Values:
        """Return the values that QGIS checks."""
        return parameters

    def _check(self, parameters: Values, context: QgsProcessingContext) -> None:
        """Raise RoadSegError if values that QGIS takes are invalid."""

    def _check_layers(self, parameters: Values, context: QgsProcessingContext) -> None:
        """Raise RoadSegError if a layer cannot be opened, or is of another kind than its parameter takes."""
        for definition in self.parameterDefinitions():
            name = definition.name()
            if isinstance(definition, QgsProcessingParameterFeatureSource):
                take_source(self, name, parameters, context)
            elif isinstance(definition, QgsProcessingParameterRasterLayer):
                for layer in image_layers(self, name, parameters, context):
                    raster_path(layer)  # by which the worker reads it
            elif isinstance(definition, QgsProcessingParameterMapLayer) and takes_areas(definition):
                if not is_raster(self, name, parameters, context):
                    take_source(self, name, parameters, context)
            elif isinstance(definition, QgsProcessingParameterMapLayer) or _takes_images(definition):
                image_layers(self, name, parameters, context)

    def processAlgorithm(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> Values:
        """Run the algorithm, and return the outputs' values by name.

        Raises QgsProcessingException if the preparation or the run failed; the message is that of the RoadSegError.
        """
        results, error = self._attempt(parameters, context, feedback)
        if error:
            # QGIS never frees an exception that leaves this method, nor the variables in its traceback: a layer among
            # them stays open, and crashes a process that ends after QGIS.
            del self, parameters, context, feedback
            raise QgsProcessingException(error)
        return results

    def _attempt(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> tuple[Values, str]:
        """Return the outputs' values, and what went wrong."""
        try:
            return self._work(parameters, context, feedback), ""
        except (RoadSegError, QgsProcessingException) as error:
            return {}, str(error)

    @abstractmethod
    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        """Run the algorithm, and return the outputs' values; raise an error that `processAlgorithm` reports."""

    def tr(self, text: str) -> str:
        """Return the text in the user's language."""
        return tr(text)

    def group(self) -> str:
        return self.tr(GROUPS[self.group_id])

    def groupId(self) -> str:
        return self.group_id

    def tags(self) -> list[str]:
        """Return further search terms of the toolbox."""
        return self.tr(self.keywords).split(",")

    def helpUrl(self) -> str:
        """Return the URL of the algorithm's page, which the dialog's help button opens."""
        return page_url(self.name())

    def icon(self) -> QIcon:
        return QIcon(self.svgIconPath())

    def svgIconPath(self) -> str:
        return str(GROUP_ICONS / f"{self.group_id}.svg")


class RoadSegAlgorithm(InToolbox, QgsProcessingAlgorithm):
    """An algorithm of the RoadSeg provider, written in Python.

    Attributes
    ----------
    own_name, title, summary, description : str
        Its id, its name in the toolbox, the tooltip there, and the help.
    is_logged : bool
        Whether its runs replace the log of the last run.
    """

    own_name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    description: ClassVar[str]
    is_logged: ClassVar[bool] = True

    def name(self) -> str:
        return self.own_name

    def displayName(self) -> str:
        return self.tr(self.title)

    def shortDescription(self) -> str:
        return self.tr(self.summary)

    def shortHelpString(self) -> str:
        """Return the help: the description, and the help of the parameters."""
        return help_text(self.tr(self.description), self.parameterDefinitions())

    def createInstance(self) -> "RoadSegAlgorithm":
        return type(self)()

    def _add(self, parameter: QgsProcessingParameterDefinition, help_text: str, advanced: bool = False) -> None:
        self.addParameter(explained(parameter, help_text, advanced))

    def prepareAlgorithm(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> bool:
        """Resolve what belongs to the main thread, such as layers; an error is raised later, by `processAlgorithm`.

        QGIS takes a failed preparation for a cancellation by the user, and would skip the rest of a batch.
        """
        try:
            self._prepare(parameters, context, feedback)
            self._preparation_error = ""
        except (RoadSegError, QgsProcessingException) as error:
            self._preparation_error = str(error)
        return True

    def _attempt(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> tuple[Values, str]:
        """See InToolbox; the run is logged, and one of qgis_process can be canceled by a signal."""
        with cancelling_signals(feedback):
            if not self.is_logged:
                return self._run(parameters, context, feedback)
            with RunLog(f"{self.id()} {parameters}") as log:
                results, error = self._run(parameters, context, LoggedFeedback(log, feedback))
                log.write(f"Error: {error}" if error else "Done.")
            return results, error

    def _run(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> tuple[Values, str]:
        if self._preparation_error:
            return {}, self._preparation_error
        if feedback.isCanceled():
            return {}, str(Cancelled())
        return super()._attempt(parameters, context, feedback)

    def _prepare(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> None:
        """Resolve what belongs to the main thread, such as layers; raise RoadSegError where that cannot be."""


def explained(
    parameter: QgsProcessingParameterDefinition, help_text: str, advanced: bool = False
) -> QgsProcessingParameterDefinition:
    """Return a parameter with its help, folded away with other advanced ones if it is one."""
    parameter.setHelp(help_text)
    if advanced:
        parameter.setFlags(parameter.flags() | QgsProcessingParameterDefinition.Flag.FlagAdvanced)
    return parameter


def _takes_images(definition: QgsProcessingParameterDefinition) -> bool:
    takes_several = isinstance(definition, QgsProcessingParameterMultipleLayers)
    return takes_several and definition.layerType() == QgsProcessing.SourceType.TypeRaster


def help_text(what: str, parameters: Iterable[QgsProcessingParameterDefinition]) -> str:
    """Return the help for the dialog and for qgis_process: a description, and the help of each parameter.

    The short description is left out, as qgis_process shows both.
    """
    return "\n\n".join([what, *(f"{parameter.description()}: {parameter.help()}" for parameter in parameters)])
