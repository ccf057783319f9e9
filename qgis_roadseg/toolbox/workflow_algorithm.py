"""Workflows: models of Model Designer in resources/models as translated algorithms of the provider.

Scope: loading, translation and naming of models, and checks before their first step. Independent of single models.
"""

from __future__ import annotations

from collections.abc import Collection

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingModelAlgorithm,
    QgsProcessingParameterDefinition,
)

from ...training_core.errors import JobError
from ..layers import exchange
from ..layers.image_layer import image_layers
from ..layers.styles import set_name_and_group
from ..paths import RESOURCES
from .algorithm import InToolbox, Values, help_text
from .image_algorithm import EXTENT
from .output_checks import check_outputs
from .parameters import INPUT
from .rendered_images_algorithm import AOI

FOLDER = RESOURCES / "models"

# Keys of a model's help, besides its parameters' names; Model Designer uses the first two.
SUMMARY, DESCRIPTION, KEYWORDS = "SHORT_DESCRIPTION", "ALG_DESC", "KEYWORDS"

# Outputs that are made on request alone, of steps that always make them.
ON_REQUEST = ("CHALLENGE",)


class WorkflowAlgorithm(InToolbox, QgsProcessingModelAlgorithm):
    """A model of resources/models as an algorithm of RoadSeg.

    The providers of its steps must be registered before it is made, or it lacks its outputs.
    """

    group_id = "workflows"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.fromFile(str(FOLDER / f"{name}.model3"))
        self.setSourceFilePath("")  # else QGIS would offer to edit the file, which an update of the plugin replaces
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
                if parameter.name() in ON_REQUEST:
                    parameter.setFlags(parameter.flags() | QgsProcessingParameterDefinition.Flag.FlagOptional)
                    parameter.setCreateByDefault(False)
            else:
                parameter.setHelp(self.tr(words[parameter.name()]))

    def createInstance(self) -> "WorkflowAlgorithm":
        return WorkflowAlgorithm(self._name)

    def canExecute(self) -> tuple[bool, str]:
        """Return whether every step can be run, with a message and remedy if not."""
        able, message = super().canExecute()
        for step in self.childAlgorithms().values():
            if able:
                able, message = step.algorithm().canExecute()
        return able, message

    def _check(self, parameters: Values, context: QgsProcessingContext) -> None:
        outputs = self.destinationParameterDefinitions()
        if not any(parameters.get(each.name()) for each in outputs):
            names = ", ".join(f"{each.description()} ({each.name()})" for each in outputs)
            raise JobError("There is nothing to write.", f"Give at least one of {names}.")
        check_outputs(self, parameters, context)
        layer = next(iter(image_layers(self, INPUT, parameters, context)), None)
        why_no_file = "" if layer is None else exchange.why_no_file(layer)
        if why_no_file and self._has_step_by_extent() and not parameters.get(EXTENT):
            raise JobError(f"The layer {layer.name()} {why_no_file}, and no extent is given.", "Give one (EXTENT).")

    def _has_step_by_extent(self) -> bool:
        """Whether a step takes an extent and no area of interest."""
        return any(
            EXTENT in sources and AOI not in sources
            for sources in (step.parameterSources() for step in self.childAlgorithms().values())
        )

    def prepareAlgorithm(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> bool:
        """Keep the image's name, in the main thread, and return whether the model can run."""
        layer = self.parameterAsLayer(parameters, INPUT, context)
        self._source_name = "" if layer is None else layer.name()
        return super().prepareAlgorithm(parameters, context, feedback)

    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        """Run the steps that the requested outputs need; return only these, as the others are temporary files."""
        needed = {each.name(): each.defaultValue() for each in self.destinationParameterDefinitions()}
        wanted = {name: value for name, value in parameters.items() if value is not None}
        self._leave_out_steps({name for name, value in wanted.items() if value != ""})
        filled = {name: value for name, value in needed.items() if value is not None}
        results = QgsProcessingModelAlgorithm.processAlgorithm(self, {**filled, **wanted}, context, feedback)
        for parameter in self.destinationParameterDefinitions():
            set_name_and_group(results.get(parameter.name(), ""), parameter.description(), self._source_name, context)
        return {name: value for name, value in results.items() if name not in needed or wanted.get(name)}

    def _leave_out_steps(self, wanted: Collection[str]) -> None:
        """Deactivate the steps of which nothing is wanted, nor handed on to a step of which something is."""
        steps = self.childAlgorithms()
        asked = {name for name, step in steps.items() if not step.modelOutputs().keys().isdisjoint(wanted)}
        needed = asked.union(*map(self.dependsOnChildAlgorithms, asked))
        for name in steps.keys() - needed:
            self.childAlgorithm(name).setActive(False)

    def name(self) -> str:
        """Return the id, which is the file's name."""
        return self._name

    def displayName(self) -> str:
        return self.tr(super().displayName())

    def shortDescription(self) -> str:
        return self.tr(self.helpContent()[SUMMARY])

    def shortHelpString(self) -> str:
        """Return the help, in the form of the other algorithms'."""
        return help_text(self.tr(self.helpContent()[DESCRIPTION]), self.parameterDefinitions())


def _output_key(parameter: QgsProcessingParameterDefinition) -> str:
    """Return the output's name in the model; QGIS derives one from the label, which may be translated."""
    return parameter.metadata()["_modelChildOutputName"]
