"""A model as one makes it in the Model Designer: a workflow of RoadSeg's, and an algorithm of QGIS' own after it."""

from pathlib import Path

from processing.modeler.ModelerUtils import ModelerUtils
from qgis.core import (
    QgsApplication,
    QgsProcessingModelAlgorithm,
    QgsProcessingModelChildAlgorithm,
    QgsProcessingModelChildParameterSource,
    QgsProcessingModelOutput,
    QgsProcessingModelParameter,
    QgsProcessingParameterFile,
    QgsProcessingParameterRasterLayer,
)

NAME = "Roads as areas"


def keep() -> None:
    """Save the model in the person's folder of models, where the toolbox finds it."""
    model = QgsProcessingModelAlgorithm(NAME, "Mine")
    model.addModelParameter(QgsProcessingParameterRasterLayer("image", "Image"), QgsProcessingModelParameter("image"))
    model.addModelParameter(QgsProcessingParameterFile("model", "Model"), QgsProcessingModelParameter("model"))
    source = QgsProcessingModelChildParameterSource
    workflow = QgsProcessingModelChildAlgorithm("roadseg:maproads")
    workflow.setChildId("workflow")
    workflow.addParameterSources("INPUT", [source.fromModelParameter("image")])
    workflow.addParameterSources("MODEL", [source.fromModelParameter("model")])
    buffer = QgsProcessingModelChildAlgorithm("native:buffer")
    buffer.setChildId("buffer")
    buffer.addParameterSources("INPUT", [source.fromChildOutput("workflow", "OUTPUT")])
    buffer.addParameterSources("DISTANCE", [source.fromStaticValue(3)])
    areas = QgsProcessingModelOutput("Road areas", "Road areas")
    areas.setChildId("buffer")
    areas.setChildOutputName("OUTPUT")
    buffer.setModelOutputs({"Road areas": areas})
    model.addChildAlgorithm(workflow)
    model.addChildAlgorithm(buffer)
    model.updateDestinationParameters()
    folder = Path(ModelerUtils.modelsFolders()[0])
    if not model.toFile(str(folder / "roads_as_areas.model3")):
        raise OSError(f"the model cannot be saved in {folder}")
    QgsApplication.processingRegistry().providerById("model").refreshAlgorithms()
