"""Makes the models of resources/models from RoadSeg's algorithms, so that each parameter is what its step says it is.

Knows which steps a model has and what they hand on; no part of the plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from qgis.core import (
    QgsApplication,
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingModelAlgorithm,
    QgsProcessingModelChildAlgorithm,
    QgsProcessingModelChildParameterSource,
    QgsProcessingModelOutput,
    QgsProcessingModelParameter,
    QgsProcessingParameterDefinition,
)
from qgis.PyQt.QtCore import QPointF

FOLDER = Path(__file__).resolve().parents[1] / "resources" / "models"

_FLAGS = QgsProcessingParameterDefinition.Flag
_SOURCE = QgsProcessingModelChildParameterSource


@dataclass(frozen=True)
class Step:
    """One algorithm in a model.

    Parameters
    ----------
    algorithm : str
        Its id; what stands behind the colon names the step.
    given : mapping of str to str
        Its parameters that are the model's, by the model's names; the last step that takes one says what it is.
    handed_on : mapping of str to tuple
        Its parameters that are an earlier step's result: the step and the result.
    results : mapping of str to str
        Its results that are the model's, by the model's names.
    """

    algorithm: str
    given: Mapping[str, str]
    handed_on: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the step is called."""
        return self.algorithm.partition(":")[2]


@dataclass(frozen=True)
class Model:
    """A chain of steps, and what a person reads of it.

    Parameters
    ----------
    title, summary, description, keywords : str
        Name in the toolbox, tooltip, help, and other words it is found by.
    steps : tuple of Step
        From first to last.
    parameters : tuple of str
        The model's parameters in their order.
    required : mapping of str to str
        Those that their step could do without, but not the model, with their help there.
    """

    title: str
    summary: str
    description: str
    keywords: str
    steps: tuple[Step, ...]
    parameters: tuple[str, ...]
    required: Mapping[str, str] = field(default_factory=dict)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


MODELS = {
    "maproads": Model(
        "Map roads with a model",
        "Find the roads in an image with a model, and draw them as lines: Segment roads, then Vectorize roads.",
        "Does the same as Extract roads in two steps, so that the probability in between is a layer of its own: where "
        "roads are missing or too many, vectorize it anew with another threshold, which takes far less time than the "
        "image. Use Extract roads for a model that tells classes of roads.",
        "map,network,center-line,centerline,predict,probability,deep learning,workflow,road",
        (
            Step("roadseg:segment", _same("INPUT", "MODEL", "AOI", "EXTENT"), results=_same("PROBABILITY")),
            Step(
                "roadseg:vectorize",
                _same("THRESHOLD"),
                {"INPUT": ("segment", "PROBABILITY")},
                _same("OUTPUT"),
            ),
        ),
        ("INPUT", "MODEL", "AOI", "THRESHOLD", "EXTENT"),
    ),
    "finetuneandmap": Model(
        "Fine-tune and map roads",
        "Learn the roads drawn in a part of an image, and map those of all of it: Fine-tune a model, then Extract "
        "roads.",
        "Draw every road in a small area, outline that area, and have the rest of the image drawn. The model is kept, "
        "for other images of the kind, and the report tells how far to trust it.",
        "train,learn,model,map,network,center-line,centerline,deep learning,workflow,road",
        (
            Step(
                "roadseg:finetune",
                _same("INPUT", "ROADS", "AOI", "WIDTH_FIELD", "MINUTES", "WIDTH_M", "BASE_MODEL"),
                results=_same("MODEL", "REPORT"),
            ),
            Step("roadseg:extractroads", _same("INPUT"), {"MODEL": ("finetune", "MODEL")}, _same("OUTPUT")),
        ),
        ("INPUT", "ROADS", "AOI", "WIDTH_FIELD", "MINUTES", "WIDTH_M", "BASE_MODEL"),
    ),
    "updateosm": Model(
        "Update OSM: what is new or lost",
        "Find the roads in a new image, and compare a layer of roads with them: Extract roads, then Compare road "
        "networks.",
        "Take the roads of OpenStreetMap, or any others, and an image that is newer. Each stretch within the extent is "
        "intact, displaced, lost or new. Lost may also mean hidden, as under trees: look at the image before you "
        "change a map.",
        "openstreetmap,change,difference,compare,missing,update,map,deep learning,workflow,road",
        (
            Step("native:extenttolayer", {"INPUT": "EXTENT"}),
            Step("roadseg:extractroads", _same("INPUT", "MODEL", "EXTENT"), results={"ROADS": "OUTPUT"}),
            Step(
                "roadseg:comparenetworks",
                _same("BEFORE", "TOLERANCE_M", "DISPLACED_M"),
                {"INPUT": ("extractroads", "OUTPUT"), "AOI": ("extenttolayer", "OUTPUT")},
                _same("OUTPUT", "REPORT"),
            ),
        ),
        ("INPUT", "MODEL", "BEFORE", "EXTENT", "TOLERANCE_M", "DISPLACED_M"),
        required={"EXTENT": "Rectangle that the image shows, in which roads are looked for and judged."},
    ),
}


def make_model(name: str) -> QgsProcessingModelAlgorithm:
    """Return a model made of the algorithms that are registered now, which speak English."""
    plan = MODELS[name]
    model = QgsProcessingModelAlgorithm(plan.title, "RoadSeg")
    words = {"SHORT_DESCRIPTION": plan.summary, "ALG_DESC": plan.description, "KEYWORDS": plan.keywords}
    for column, parameter in enumerate(plan.parameters):
        definition = _definition(plan, parameter)
        words[parameter] = definition.help()
        component = QgsProcessingModelParameter(parameter)
        component.setPosition(QPointF(150 + 220 * column, 80))
        model.addModelParameter(definition, component)
    for row, step in enumerate(plan.steps):
        model.addChildAlgorithm(_child(plan, step, QPointF(150 + 220 * row, 220 + 140 * row)))
    model.setParameterOrder(list(plan.parameters))
    model.setHelpContent(words)
    return model


def _definition(plan: Model, parameter: str) -> QgsProcessingParameterDefinition:
    """Return the definition of a model's parameter, as a copy of its step's."""
    step = [step for step in plan.steps if parameter in step.given.values()][-1]
    own = next(name for name, given in step.given.items() if given == parameter)
    definition = _algorithm(step).parameterDefinition(own).clone()
    definition.setName(parameter)
    if parameter in plan.required:
        definition.setFlags(definition.flags() & ~_FLAGS.FlagOptional)
        definition.setHelp(plan.required[parameter])
    return definition


def _child(plan: Model, step: Step, place: QPointF) -> QgsProcessingModelChildAlgorithm:
    child = QgsProcessingModelChildAlgorithm(step.algorithm)
    child.setChildId(step.name)
    child.setDescription(_algorithm(step).displayName())
    child.setPosition(place)
    for own, parameter in step.given.items():
        child.addParameterSources(own, [_SOURCE.fromModelParameter(parameter)])
    for own, (earlier, result) in step.handed_on.items():
        child.addParameterSources(own, [_SOURCE.fromChildOutput(earlier, result)])
    child.setModelOutputs({name: _output(plan, step, name, place) for name in step.results})
    return child


def _output(plan: Model, step: Step, name: str, place: QPointF) -> QgsProcessingModelOutput:
    own = step.results[name]
    label = _algorithm(step).parameterDefinition(own).description()
    output = QgsProcessingModelOutput(name, label)
    output.setDescription(label)
    output.setChildId(step.name)
    output.setChildOutputName(own)
    if any((step.name, own) in later.handed_on.values() for later in plan.steps):
        output.setDefaultValue(QgsProcessing.TEMPORARY_OUTPUT)  # so that it is there, wanted or not
    output.setPosition(place + QPointF(220, 60))
    return output


def _algorithm(step: Step) -> QgsProcessingAlgorithm:
    return QgsApplication.processingRegistry().algorithmById(step.algorithm)


def write_models() -> None:
    """Write every model's file anew, and remove those of models that are no more."""
    FOLDER.mkdir(exist_ok=True)
    for name in MODELS:
        path = FOLDER / f"{name}.model3"
        make_model(name).toFile(str(path))
        path.write_text(
            ElementTree.canonicalize(from_file=path), "utf-8"
        )  # Qt's order of attributes is another each time
    for old in {path.stem for path in FOLDER.glob("*.model3")} - set(MODELS):
        (FOLDER / f"{old}.model3").unlink()
