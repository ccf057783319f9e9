"""Generate the Model Designer files of resources/models from RoadSeg's algorithms, with their labels and helps.

Scope: the steps of each model and how they are chained. Independent of what the steps do; not shipped.
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
        Its id; the part behind the colon names the step, unless it is named.
    given : mapping of str to str
        Its parameters mapped to the model's; the last step that takes one defines its label and help.
    handed_on : mapping of str to tuple
        Its parameters that take a result of an earlier step: (step, result).
    results : mapping of str to str
        The model's outputs mapped to its own.
    named : str
        Name of the step where an algorithm is run twice.
    """

    algorithm: str
    given: Mapping[str, str]
    handed_on: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    named: str = ""

    @property
    def name(self) -> str:
        """Name of the step."""
        return self.named or self.algorithm.partition(":")[2]


@dataclass(frozen=True)
class Model:
    """A chain of steps with its texts.

    Parameters
    ----------
    title, summary, description, keywords : str
        Name in the toolbox, tooltip, help, and search terms.
    steps : tuple of Step
        In execution order.
    parameters : tuple of str
        The model's parameters, in order.
    required : tuple of str
        Parameters that are optional in their step, but not in the model.
    labels : mapping of str to str
        Labels of parameters and outputs that differ from those of their steps.
    helps : mapping of str to str
        Helps of parameters that differ from those of their steps.
    defaults : mapping of str to float
        Defaults of numbers that differ from those of their steps.
    """

    title: str
    summary: str
    description: str
    keywords: str
    steps: tuple[Step, ...]
    parameters: tuple[str, ...]
    required: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    helps: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, float] = field(default_factory=dict)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_CHALLENGE = Step(
    "roadseg:makechallenge", {}, {"INPUT": ("comparenetworks", "OUTPUT")}, results={"CHALLENGE": "OUTPUT"}
)

_REVIEWED = {"INPUT": "ROADS", **_same("REVIEW", "OTHER_REVIEW")}

MODELS = {
    "maproads": Model(
        "Map roads with a model",
        "Map the roads in an image with a model: Segment roads, then Vectorize roads.",
        "Does the same as Extract roads in two steps, so that the road probability is kept as a layer. If roads are "
        "missing or false, vectorize the probability again with another threshold. This is much faster than "
        "segmenting again. Use Extract roads for a model that predicts road classes.",
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
        "Train on roads drawn in a part of an image, and map the whole image: Fine-tune a model, then Extract roads.",
        "Draw every road in a small area, outline that area, and map the rest of the image. The model is kept for "
        "similar images. The report shows its validation scores.",
        "train,learn,model,map,network,center-line,centerline,deep learning,workflow,road",
        (
            Step(
                "roadseg:finetune",
                _same("INPUT", "ROADS", "AOI", "WIDTH_FIELD", "MINUTES", "WIDTH_M", "BASE_MODEL"),
                results=_same("MODEL", "REPORT"),
            ),
            Step("roadseg:extractroads", _same("INPUT", "EXTENT"), {"MODEL": ("finetune", "MODEL")}, _same("OUTPUT")),
        ),
        ("INPUT", "ROADS", "AOI", "WIDTH_FIELD", "MINUTES", "WIDTH_M", "BASE_MODEL", "EXTENT"),
        helps={"EXTENT": "Rectangle to map. A layer that is not a file, such as a web map, needs an extent."},
    ),
    "learnfromreview": Model(
        "Learn from the review",
        "Teach a model the answers of a review, and extract the other roads anew: Apply a review, Fine-tune a model, "
        "Extract roads, then Apply a review again.",
        "The model learns from reviewed and drawn lines as roads, and from rejected ones as background. The roads that "
        "it then extracts replace all unjudged lines. Judged lines stay as they are, and rejected "
        "stretches stay empty. Repeat this with the resulting roads, their review, and the model. Give the earlier "
        "review as the other one, so that stretches that were rejected in it stay empty, too.",
        "review,active learning,verdict,accept,reject,improve,fine-tune,train,extract,deep learning,workflow,road",
        (
            Step("roadseg:applyreview", _REVIEWED, named="labels"),
            Step(
                "roadseg:finetune",
                _same("INPUT", "BASE_MODEL", "MINUTES"),
                {"ROADS": ("labels", "DRAWN"), "AOI": ("labels", "AOI")},
                _same("MODEL", "REPORT"),
            ),
            Step("roadseg:extractroads", _same("INPUT", "EXTENT"), {"MODEL": ("finetune", "MODEL")}),
            Step("roadseg:applyreview", _REVIEWED, {"EXTRACTED_ANEW": ("extractroads", "OUTPUT")}, _same("OUTPUT")),
        ),
        ("INPUT", "ROADS", "REVIEW", "OTHER_REVIEW", "BASE_MODEL", "MINUTES", "EXTENT"),
        helps={"EXTENT": "Rectangle to map. A layer that is not a file, such as a web map, needs an extent."},
        defaults={"MINUTES": 1.5},
    ),
    "updateosm": Model(
        "Update OSM: find new and lost roads",
        "Extract the roads of a new image, and compare them with a road layer: Extract roads, then Compare road "
        "networks.",
        "Takes the roads of OpenStreetMap, or any other roads, and a newer image. Each stretch within the extent is "
        "classified as intact, displaced, lost or new. Lost roads may only be hidden, for example under trees. Check "
        "the image before you edit a map.",
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
            _CHALLENGE,
        ),
        ("INPUT", "MODEL", "BEFORE", "EXTENT", "TOLERANCE_M", "DISPLACED_M"),
        required=("EXTENT",),
        helps={"EXTENT": "Extent of the image, in which roads are extracted and compared."},
        labels={"CHALLENGE": "MapRoulette challenge"},
    ),
    "changedroads": Model(
        "Find changes after an event",
        "Extract the roads of an image before an event and of an image after it, and compare them: Extract roads "
        "twice, then Compare road networks.",
        "Takes two images, for example before and after a flood or an earthquake, and one model for both. Each "
        "stretch within the extent is classified as intact, displaced, lost or new. The offset between the images is "
        "removed. Places that are cut off or have longer routes are found. A road that one image does not show may "
        "only be hidden, for example under clouds or trees. Check lost roads against the image after.",
        "disaster,damage,flood,earthquake,before,after,change,lost,blocked,access,deep learning,workflow,road",
        (
            Step("native:extenttolayer", {"INPUT": "EXTENT"}),
            Step(
                "roadseg:extractroads",
                {"INPUT": "IMAGE_BEFORE", **_same("MODEL", "EXTENT")},
                results={"ROADS_BEFORE": "OUTPUT"},
                named="before",
            ),
            Step(
                "roadseg:extractroads",
                _same("INPUT", "MODEL", "EXTENT"),
                results={"ROADS_AFTER": "OUTPUT"},
                named="after",
            ),
            Step(
                "roadseg:comparenetworks",
                _same("PLACES", "ORIGINS", "TOLERANCE_M", "DISPLACED_M"),
                {"BEFORE": ("before", "OUTPUT"), "INPUT": ("after", "OUTPUT"), "AOI": ("extenttolayer", "OUTPUT")},
                _same("OUTPUT", "REACHED", "REPORT"),
            ),
            _CHALLENGE,
        ),
        ("INPUT", "IMAGE_BEFORE", "MODEL", "EXTENT", "PLACES", "ORIGINS", "TOLERANCE_M", "DISPLACED_M"),
        required=("EXTENT",),
        helps={"EXTENT": "Extent in which roads are extracted and compared. Both images must show it."},
        labels={
            "IMAGE_BEFORE": "Image before",
            "INPUT": "Image after",
            "ROADS_BEFORE": "Roads before",
            "ROADS_AFTER": "Roads after",
            "CHALLENGE": "MapRoulette challenge",
        },
    ),
}


def make_model(name: str) -> QgsProcessingModelAlgorithm:
    """Return a model of the registered algorithms, which must be in English."""
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
    """Return the definition of a model's parameter, a copy of that of its step."""
    step = [step for step in plan.steps if parameter in step.given.values()][-1]
    own = next(name for name, given in step.given.items() if given == parameter)
    definition = _algorithm(step).parameterDefinition(own).clone()
    definition.setName(parameter)
    definition.setDescription(plan.labels.get(parameter, definition.description()))
    if parameter in plan.required:
        definition.setFlags(definition.flags() & ~_FLAGS.FlagOptional)
    if parameter in plan.defaults:
        definition.setDefaultValue(plan.defaults[parameter])
    if parameter in plan.helps:
        definition.setHelp(plan.helps[parameter])
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
    label = plan.labels.get(name, _algorithm(step).parameterDefinition(own).description())
    output = QgsProcessingModelOutput(name, label)
    output.setDescription(label)
    output.setChildId(step.name)
    output.setChildOutputName(own)
    if any((step.name, own) in later.handed_on.values() for later in plan.steps):
        output.setDefaultValue(QgsProcessing.TEMPORARY_OUTPUT)  # so that the later step always finds it
    output.setPosition(place + QPointF(220, 60))
    return output


def _algorithm(step: Step) -> QgsProcessingAlgorithm:
    return QgsApplication.processingRegistry().algorithmById(step.algorithm)


def write_models() -> None:
    """Write all model files, and remove those of models that no longer exist."""
    FOLDER.mkdir(exist_ok=True)
    for name in MODELS:
        path = FOLDER / f"{name}.model3"
        make_model(name).toFile(str(path))
        path.write_text(ElementTree.canonicalize(from_file=path), "utf-8")  # Qt orders attributes at random
    for old in {path.stem for path in FOLDER.glob("*.model3")} - set(MODELS):
        (FOLDER / f"{old}.model3").unlink()
