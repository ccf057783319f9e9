"""An algorithm that is a chain of others, made in Model Designer's format, with the words and names of RoadSeg's own.

Knows how a file in resources/models becomes an algorithm; knows nothing of what it does.
"""

from __future__ import annotations

from typing import Any

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingModelAlgorithm,
    QgsProcessingParameterDefinition,
)

from ..layers.styles import arrive
from ..paths import RESOURCES
from .algorithm import InToolbox, help_text
from .parameters import INPUT

FOLDER = RESOURCES / "models"

# Keys of a model's help, beside the names of its parameters; Model Designer knows the first two.
SUMMARY, DESCRIPTION, KEYWORDS = "SHORT_DESCRIPTION", "ALG_DESC", "KEYWORDS"


def workflow_names() -> list[str]:
    """Return the names of the models that there are."""
    return sorted(path.stem for path in FOLDER.glob("*.model3"))


class WorkflowAlgorithm(InToolbox, QgsProcessingModelAlgorithm):
    """A model of resources/models as an algorithm of RoadSeg.

    Its steps are found where their providers are registered; made before, it lacks its outputs.

    Parameters
    ----------
    name : str
        The id, and the file's name without its ending.
    """

    group_id = "workflows"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.fromFile(str(FOLDER / f"{name}.model3"))
        self.setSourceFilePath("")  # else QGIS would offer to edit what an update of the plugin replaces
        words = self.helpContent()
        self.keywords = words[KEYWORDS]
        outputs = {output.name(): output for output in self.outputDefinitions()}
        for parameter in self.parameterDefinitions():
            output = outputs.get(parameter.name())
            parameter.setDescription(self.tr(parameter.description()))
            if output is not None:
                output.setDescription(parameter.description())
                output.setName(_output_key(parameter))
                parameter.setName(_output_key(parameter))
                parameter.setCreateByDefault(parameter.createByDefault() or bool(parameter.defaultValue()))
            else:
                parameter.setHelp(self.tr(words[parameter.name()]))

    def createInstance(self) -> "WorkflowAlgorithm":
        """Return a new one, as Processing wants one a run."""
        return WorkflowAlgorithm(self._name)

    def canExecute(self) -> tuple[bool, str]:
        """Say whether every step can be run, and what to do where one cannot."""
        able, message = super().canExecute()
        for step in self.childAlgorithms().values():
            if able:
                able, message = step.algorithm().canExecute()
        return able, message

    def prepareAlgorithm(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> bool:
        """Find out what the image is called, while in the thread of the layers."""
        layer = self.parameterAsLayer(parameters, INPUT, context)
        self._made_of = "" if layer is None else layer.name()
        return super().prepareAlgorithm(parameters, context, feedback)

    def processAlgorithm(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Run the steps; what one of them needs from another is made whether or not the person wants it."""
        needed = {each.name(): each.defaultValue() for each in self.destinationParameterDefinitions()}
        wanted = {name: value for name, value in parameters.items() if value is not None}
        filled = {name: value for name, value in needed.items() if value is not None}
        results = super().processAlgorithm({**filled, **wanted}, context, feedback)
        for parameter in self.destinationParameterDefinitions():
            arrive(results.get(parameter.name(), ""), parameter.description(), self._made_of, context)
        return results

    def name(self) -> str:
        """Return the id, which the file is named for."""
        return self._name

    def displayName(self) -> str:
        """Return the name in the toolbox."""
        return self.tr(super().displayName())

    def shortDescription(self) -> str:
        """Return the tooltip in the toolbox."""
        return self.tr(self.helpContent()[SUMMARY])

    def shortHelpString(self) -> str:
        """Return the help, made as that of any of RoadSeg's algorithms."""
        return help_text(self.tr(self.helpContent()[DESCRIPTION]), self.parameterDefinitions())


def _output_key(parameter: QgsProcessingParameterDefinition) -> str:
    """Return the name that the model gives an output; QGIS would make one of its label, which may be translated."""
    return parameter.metadata()["_modelChildOutputName"]
