"""Algorithms that run a job in the worker, each defined by a few class attributes.

Scope: Processing's life cycle: parameters, preparation in the main thread, work in another, results. Independent of
single jobs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Optional

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeatureSource,
    QgsProcessingFeedback,
    QgsProcessingOutputHtml,
    QgsProcessingOutputNumber,
    QgsProcessingOutputString,
    QgsProcessingOutputVectorLayer,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterFile,
    QgsProcessingUtils,
)

from ...training_core import events, jobs
from ...training_core.errors import OutputError, RoadSegError, missing_set
from ...training_core.jobs import Job, OptionField, from_options
from ...training_core.jobs.fields import describe_renamed
from .. import settings
from ..layers import exchange
from ..layers.image_layer import image_layers, is_raster
from ..layers.results import fill_sinks, open_result, sink_destination
from ..layers.snapshot import take_source
from ..layers.styles import fitting_style, set_name_and_group, set_order, set_style, source_name_of
from ..runtime import runtime
from ..runtime.client import WorkerClient
from ..runtime.locks import working_folder
from . import model_files, presets
from .algorithm import RoadSegAlgorithm, Values
from .output_checks import check_outputs
from .parameters import INPUT, is_plain, make_parameters, parameter_name, read_plain, usual_names


class JobAlgorithm(RoadSegAlgorithm):
    """An algorithm that runs a job in the worker.

    Attributes
    ----------
    renamed : mapping of str to str
        Parameter names by field, where they are not the field's name in capitals.
    created : sequence of str
        Fields of optional outputs that are created by default.
    images_field : str
        The job's field with the images, which the only one of the project is proposed for.
    whole : sequence of str
        Fields of vector layers of which the worker needs all attributes, not only the chosen ones.
    numbers, words : mapping of str to str
        Labels by key of the worker's result; the output's name is the key in capitals, with _ for a dot.
    pages, layers : mapping of str to str
        Labels of HTML files, and of vector files, that the worker writes without a parameter of their own, in a folder
        that it is given; by key of the worker's result, as those above. The layers are loaded where a result is.
    styles : mapping of str to str
        Names of the styles by output field, or by key of `layers`.
    """

    job_type: ClassVar[type[Job]]
    renamed: ClassVar[Mapping[str, str]] = {}
    omitted: ClassVar[Sequence[str]] = ()
    created: ClassVar[Sequence[str]] = ()
    images_field: ClassVar[str] = ""
    whole: ClassVar[Sequence[str]] = ()
    numbers: ClassVar[Mapping[str, str]] = {}
    words: ClassVar[Mapping[str, str]] = {}
    pages: ClassVar[Mapping[str, str]] = {}
    layers: ClassVar[Mapping[str, str]] = {}
    styles: ClassVar[Mapping[str, str]] = {}

    def initAlgorithm(self, config: Any = None) -> None:
        for parameter in self._make_parameters():
            self.addParameter(parameter)
        models_folder = settings.load().models_folder
        for field in self._fields(jobs.MODEL, jobs.MODEL_OUTPUT, jobs.ONNX_OUTPUT):
            self._parameter(field).setGuiDefaultValueOverride(model_files.suggestion(field, models_folder))
        for field in self._fields(jobs.RASTER, jobs.RASTERS):
            if field.name == self.images_field and (image := presets.only_image()):
                self._parameter(field).setGuiDefaultValueOverride([image] if field.is_list else image)
        for key, label in self.numbers.items():
            self.addOutput(QgsProcessingOutputNumber(_output_name(key), self.tr(label)))
        for key, label in self.words.items():
            self.addOutput(QgsProcessingOutputString(_output_name(key), self.tr(label)))
        for key, label in self.pages.items():
            self.addOutput(QgsProcessingOutputHtml(_output_name(key), self.tr(label)))
        for key, label in self.layers.items():
            self.addOutput(QgsProcessingOutputVectorLayer(_output_name(key), self.tr(label)))

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "job_type"):
            cls.own_name, cls.title = cls.job_type.name, cls.job_type.title
            cls.summary, cls.description = cls.job_type.summary(), cls.job_type.description()

    def canExecute(self) -> tuple[bool, str]:
        """Return whether there is a runtime, with a message and remedy if not."""
        try:
            runtime.find()
        except RoadSegError as error:
            return False, str(error)
        return True, ""

    def _check(self, parameters: Values, context: QgsProcessingContext) -> None:
        """Raise RoadSegError if the job's options are invalid together; files that are no layers are opened later."""
        for field in self._fields(jobs.RASTERS):
            self._raster_paths(field, parameters, context)
        options = self._plain_options(parameters, context)
        for field in self._fields():
            if not is_plain(field) and parameters.get(self._name(field)):
                given = f"{field.name} is given"
                options[field.name] = (given,) if field.is_list else given
        from_options(self.job_type, options)
        self._check_destinations(parameters, context)

    def _prepare(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> None:
        """Resolve settings, the runtime, layers and sources."""
        check_outputs(self, parameters, context)  # again, since models do not check the values of their steps
        self._variables = settings.load(feedback.pushWarning).variables()
        self._python = runtime.find()
        areas = self._fields(jobs.AREAS)
        masks = [each for each in areas if is_raster(self, self._name(each), parameters, context)]
        rasters = [*self._fields(jobs.RASTER, jobs.RASTERS), *masks]
        self._rasters = {field.name: self._raster_paths(field, parameters, context) for field in rasters}
        self._vectors = [*self._fields(jobs.VECTOR), *(each for each in areas if each not in masks)]
        self._sources = {
            field.name: take_source(self, self._name(field), parameters, context) for field in self._vectors
        }
        self._source_name = self._name_of_input(parameters, context)
        for name in map(self._name, rasters):
            for layer in image_layers(self, name, self._layers_alone(parameters), context):
                if note := exchange.band_order_note(layer):
                    feedback.pushInfo(note)

    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        with working_folder() as folder:
            return self._do(parameters, context, feedback, folder)

    def _do(
        self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback, folder: Path
    ) -> Values:
        named = partial(self._with_layer_names, folder=str(folder))
        client = WorkerClient(self._python, feedback, variables=self._variables, named=named)
        try:
            files = self._output_files(parameters, context)
            inputs = self._write_inputs(parameters, context, folder, feedback)
            results = {
                field.name: str(folder / f"{field.name}.gpkg")
                for field in self._fields(jobs.VECTOR_OUTPUT)
                if sink_destination(parameters.get(self._name(field)), context).text
            }
            options = {**self._plain_options(parameters, context), **self._rasters, **inputs, **results}
            options.update({name: os.path.abspath(path) for name, path in files.items()})
            answer = client.run(from_options(self.job_type, options))
            layers = {name: open_result(Path(path)) for name, path in results.items()}
            by_parameter = {parameter_name(name, self.renamed): layer for name, layer in layers.items()}
            filled = fill_sinks(self, by_parameter, parameters, context, feedback)
        except RoadSegError as error:
            if missing_set(error) and self.provider() is not None:
                self.provider().packages_missing.emit(str(error), missing_set(error))
            raise QgsProcessingException(named(str(error))) from error
        destinations = {**files, **dict(zip(layers, filled.values()))}
        if answer.get("stopped"):
            message = self.tr("Stopped as requested. The best model so far is in {files}")
            feedback.pushInfo(message.format(files=", ".join(destinations.values())))
        styles = {
            name: fitting_style(style, layers[name]) if name in layers else style
            for name, style in self.styles.items()
            if name in destinations
        }
        for name, destination in destinations.items():
            definition = self.parameterDefinition(parameter_name(name, self.renamed))
            set_name_and_group(destination, definition.description(), self._source_name, context)
            set_order(destination, definition, context)
            if name in styles:
                threshold = answer.get("threshold") if name == "probability" else None
                set_style(destination, styles[name], context, feedback, threshold)
        self._load_layers(answer, destinations.values(), context, feedback)
        if answer.get("partial"):
            feedback.pushWarning(events.describe_failures(answer))
        outputs = {parameter_name(name, self.renamed): path for name, path in destinations.items()}
        keys = (*self.numbers, *self.words, *self.pages, *self.layers)
        return {**outputs, **{_output_name(key): _look_up(answer, key) for key in keys}}

    def _load_layers(
        self,
        answer: Mapping[str, Any],
        destinations: Iterable[str],
        context: QgsProcessingContext,
        feedback: QgsProcessingFeedback,
    ) -> None:
        """Have the layers without a parameter styled, and loaded where one of the results is."""
        loaded = [each for each in destinations if context.willLoadLayerOnCompletion(each)]
        for key, label in self.layers.items():
            path = _look_up(answer, key)
            if not path:
                continue
            if loaded:
                project = context.layerToLoadOnCompletionDetails(loaded[0]).project
                name, caption = _output_name(key), self.tr(label)
                context.addLayerToLoadOnCompletion(
                    path, QgsProcessingContext.LayerDetails(caption, project, name, QgsProcessingUtils.LayerHint.Vector)
                )
                set_name_and_group(path, caption, self._source_name, context)
            if key in self.styles:
                set_style(path, self.styles[key], context, feedback)

    def _name_of_input(self, parameters: Values, context: QgsProcessingContext) -> str:
        """Return the name of the input layer, or of the source of a result; empty if there are several or none."""
        definition = self.parameterDefinition(INPUT)
        if definition is None or definition.type() == QgsProcessingParameterFile.typeName():
            return ""  # QGIS would open any file as a layer
        layer = self.parameterAsLayer(parameters, INPUT, context)
        if layer is not None:
            return source_name_of(layer.name())
        source = next(
            (self._sources[field.name] for field in self._fields(jobs.VECTOR) if self._name(field) == INPUT), None
        )
        return "" if source is None else source_name_of(source.sourceName())

    def _make_parameters(self) -> list[QgsProcessingParameterDefinition]:
        return make_parameters(self._fields(), self.renamed, self.created, self.tr)

    def _fields(self, *kinds: str) -> list[OptionField]:
        """Return the job's fields that have a parameter, of these kinds; of any kind if none is given."""
        fields = [field for field in self.job_type.option_fields() if field.name not in self.omitted]
        return [field for field in fields if not kinds or field.option.kind in kinds]

    def _name(self, field: OptionField) -> str:
        return parameter_name(field.name, self.renamed)

    def _parameter(self, field: OptionField) -> QgsProcessingParameterDefinition:
        return self.parameterDefinition(self._name(field))

    def _plain_options(self, parameters: Values, context: QgsProcessingContext) -> dict[str, Any]:
        return {
            field.name: read_plain(field, self._parameter(field), parameters, context)
            for field in self._fields()
            if is_plain(field)
        }

    def _check_destinations(self, parameters: Values, context: QgsProcessingContext) -> None:
        for field in self._fields(*jobs.OUTPUT_KINDS):
            value = parameters.get(self._name(field))
            if self.provider() is not None:
                fine, message = self.provider().isSupportedOutputValue(value, self._parameter(field), context)
                if not fine:
                    raise OutputError(message, "Give the file another extension.")
        check_outputs(self, parameters, context)

    def _layers_alone(self, parameters: Values) -> Values:
        """Return the values without folders and annotations among rasters: the worker finds what is in them."""
        changed = {}
        for name in map(self._name, self._fields(jobs.RASTERS)):
            given = parameters.get(name)
            files = exchange.training_data(given)
            if files:
                changed[name] = [] if isinstance(given, str) else [each for each in given if each not in files]
        return {**parameters, **changed}

    def _raster_paths(self, field: OptionField, parameters: Values, context: QgsProcessingContext) -> Any:
        name = self._name(field)
        paths = map(exchange.raster_path, image_layers(self, name, self._layers_alone(parameters), context))
        if field.is_list:
            return (*map(os.path.abspath, exchange.training_data(parameters.get(name))), *paths)
        return next(paths, "")

    def _write_inputs(
        self, parameters: Values, context: QgsProcessingContext, folder: Path, feedback: QgsProcessingFeedback
    ) -> dict[str, str]:
        """Write vector inputs to GeoPackages for the worker; return their paths, and names of columns, by field."""
        options = {}
        for field in self._vectors:
            source: Optional[QgsProcessingFeatureSource] = self._sources[field.name]
            if source is None:
                continue
            choices = [
                (other, read_plain(other, self._parameter(other), parameters, context))
                for other in self._fields(jobs.FIELD)
                if self._parameter(other).parentLayerParameterName() == self._name(field)
            ]
            is_extract = exchange.may_be_extract(source)
            # The tag width is rare, and that of each class known.
            unused = [other for other, name in choices if not (name or (is_extract and other.name == "width_field"))]
            self._report_unused(source, unused, feedback)
            path = folder / f"{field.name}.gpkg"
            is_whole = field.name in self.whole or is_extract
            every = exchange.plain_fields(source) if is_whole else []
            columns = dict.fromkeys([*every, *(name for _, name in choices if name)])  # one may have been chosen twice
            stored = exchange.write_source(source, list(columns), path, context, feedback.isCanceled)
            options[field.name] = str(path)
            options.update({other.name: stored.get(name, name) for other, name in choices})
            renamed = describe_renamed(stored)
            if renamed and field.name in self.whole:
                message = self.tr("Fields of {layer} are renamed in the results: {renamed}")
                feedback.pushInfo(message.format(layer=source.sourceName(), renamed=renamed))
        return options

    def _report_unused(
        self, source: QgsProcessingFeatureSource, unused: Iterable[OptionField], feedback: QgsProcessingFeedback
    ) -> None:
        """Report a source's field with the usual name of a parameter that was left empty."""
        for option in unused:
            names, label = usual_names(option), self._parameter(option).description()
            found = [each.name() for each in source.fields() if each.name().lower() in names]
            if found:
                message = self.tr("{layer} has a field {field}. If you want to use it, choose it as {label}.")
                feedback.pushInfo(message.format(layer=source.sourceName(), field=found[0], label=label))

    def _output_files(self, parameters: Values, context: QgsProcessingContext) -> dict[str, str]:
        """Return the paths of the requested outputs that the worker writes itself, by field."""
        paths = {
            field.name: self.parameterAsOutputLayer(parameters, self._name(field), context)
            for field in self._fields(jobs.RASTER_OUTPUT)
        }
        for field in self._fields(jobs.FOLDER_OUTPUT, *jobs.FILE_OUTPUTS):
            paths[field.name] = self.parameterAsFileOutput(parameters, self._name(field), context)
        return {name: path for name, path in paths.items() if path}

    def _with_layer_names(self, message: str, folder: str) -> str:
        for name, source in self._sources.items():
            if source is not None:
                message = message.replace(str(Path(folder, f"{name}.gpkg")), source.sourceName())
        return message


def _output_name(key: str) -> str:
    return key.replace(".", "_").upper()


def _look_up(answer: Mapping[str, Any], key: str) -> Any:
    value: Any = answer
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
