"""Job fields with default, unit, range, choices and help; validation and JSON serialization of jobs.

Scope: the base of all jobs. Independent of any one job; standard library only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
import os
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Optional

from ..errors import JobError, shown
from .file_systems import Identity, identities, impossible_name

FORMAT_VERSION = 1
# No system has longer paths.
MAX_TEXT = 32_767

# Kinds of fields: the meaning of a value beyond its Python type.
RASTER, RASTERS, BANDS = "raster", "rasters", "bands"
NUMBERS = "numbers"
VECTOR, FIELD = "vector", "field"
# Polygons, or a raster mask.
AREAS = "areas"
MODEL, MODELS, FOLDER, PROFILE = "model", "models", "folder", "profile"
# A file of tasks for MapRoulette.
CHALLENGE, CHALLENGE_OUTPUT = "challenge", "challenge output"
# A file of OpenStreetMap as such, not as a layer, which has neither nodes nor versions; and a change of it.
OSM_EXTRACT, OSC_OUTPUT = "osm extract", "osc output"
RASTER_OUTPUT, VECTOR_OUTPUT = "raster output", "vector output"
MODEL_OUTPUT, ONNX_OUTPUT = "model output", "onnx output"
HTML_OUTPUT, JSON_OUTPUT = "html output", "json output"
GRAPHML_OUTPUT, GEOPACKAGE_OUTPUT, OSM_OUTPUT = "graphml output", "geopackage output", "osm output"
# A new folder, in contrast to FOLDER, which may hold files of earlier runs.
FOLDER_OUTPUT = "folder output"
# In place of a model file: the models that are shipped with RoadSeg.
STARTER, STARTER_RESNET34 = STARTERS = "starter", "starter-resnet34"
STARTERS_HELP = f"{STARTER} for the pretrained model that comes with RoadSeg ({STARTER_RESNET34}: on ResNet34)"
# Stands for a base model: an encoder pretrained on ImageNet, fetched from the internet.
IMAGENET = "imagenet"
# Layers come first in a dialog, then their fields, then all else.
_LAYERS = (RASTER, RASTERS, VECTOR, AREAS)
_VECTORS = (VECTOR, AREAS, VECTOR_OUTPUT)
# Shared options, which a dataclass has before its own, but which matter less than those.
_LATE = ("no_road",)
# Files that only the worker writes.
FILE_OUTPUTS = (
    MODEL_OUTPUT, ONNX_OUTPUT, HTML_OUTPUT, JSON_OUTPUT, GRAPHML_OUTPUT, GEOPACKAGE_OUTPUT, OSM_OUTPUT,
    CHALLENGE_OUTPUT, OSC_OUTPUT,
)  # fmt: skip
OUTPUT_KINDS = (RASTER_OUTPUT, VECTOR_OUTPUT, FOLDER_OUTPUT, *FILE_OUTPUTS)


@dataclass(frozen=True)
class Option:
    """Description of a job's field in addition to its name, type and default.

    The label is without the unit. The help is one or two sentences by which users decide on a value. The kind is one of
    those above, or empty where the type suffices. Both ends of the range are included. `usual` is the usual name of a
    layer's field: dialogs preselect it. `needs` is a module, of `errors.PACKAGE_SETS`, without which a value is of no
    use.
    """

    label: str
    help: str = ""
    kind: str = ""
    unit: str = ""
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    choices: tuple[str, ...] = ()
    required: bool = False
    advanced: bool = False
    usual: str = ""
    needs: str = ""

    @property
    def caption(self) -> str:
        """The label with its unit, as shown to users: `Road width (m)`."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class _WithoutHelp:
    """A field that still lacks its help."""

    default: Any
    option: Option

    def help(self, text: str) -> Any:
        """Return the dataclass field."""
        described = dataclasses.replace(self.option, help=text)
        return dataclasses.field(default=self.default, metadata={"option": described})


def option(
    default: Any, label: str, within: tuple[Optional[float], Optional[float]] = (None, None), **details: Any
) -> _WithoutHelp:
    """Begin a dataclass field that carries an Option with a range (`within`) and further attributes of Option.

    width_m: float = option(6.0, "Road width", unit="m", within=(0.5, 100)).help("Width given to road lines.")
    """
    minimum, maximum = within
    return _WithoutHelp(default, Option(label, minimum=minimum, maximum=maximum, **details))


def advanced_option(default: Any, label: str, **details: Any) -> _WithoutHelp:
    """Begin the field of an option that most users never need; see `option`."""
    return option(default, label, advanced=True, **details)


def like(options: type[Job], name: str, default: Any = None) -> Any:
    """Return a dataclass field like that of other options, with another default if one is given."""
    (field,) = (field for field in dataclasses.fields(options) if field.name == name)
    return dataclasses.field(default=field.default if default is None else default, metadata=field.metadata)


@dataclass(frozen=True)
class OptionField:
    """A job's field: name, type, default and Option."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def is_list(self) -> bool:
        """Whether the field takes several values."""
        return typing.get_origin(self.type) is tuple

    @property
    def item_type(self) -> type:
        """The type of the value, or of the items of a list."""
        return typing.get_args(self.type)[0] if self.is_list else self.type


@dataclass(frozen=True)
class Job:
    """Base of all jobs: fields with options, validation, JSON serialization."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    # Whether the client sends it commands while it runs, as lines of standard input.
    takes_commands: ClassVar[bool] = False

    @classmethod
    def summary(cls) -> str:
        """Return the first paragraph of the docstring: what the job does, in a sentence."""
        return _paragraphs(cls)[0]

    @classmethod
    def description(cls) -> str:
        """Return the rest of the docstring, one line per paragraph, or an empty text."""
        return "\n".join(_paragraphs(cls)[1:])

    @classmethod
    @functools.cache  # since resolving the types takes a millisecond, and a run of QGIS asks dozens of times
    def option_fields(cls) -> tuple[OptionField, ...]:
        """Return the job's fields in dialog order: required ones, layers, layer fields, others; advanced ones last."""
        types = typing.get_type_hints(cls)
        fields = [
            OptionField(field.name, types[field.name], field.default, field.metadata["option"])
            for field in dataclasses.fields(cls)
        ]
        return tuple(sorted(fields, key=_dialog_order))

    def validate(self) -> None:
        """Check every field, that outputs have possible names and are different files, and that all fields fit.

        Raises JobError if a value is missing, of the wrong type, or out of range, or does not fit another one.
        """
        for field in self.option_fields():
            _validate_field(field, getattr(self, field.name))
        self._check_outputs()
        self._check_together()

    def _check_together(self) -> None:
        """Raise JobError if valid values do not fit each other, or have another form than their type demands."""

    def _check_outputs(self) -> None:
        """Raise JobError if a name is impossible, or two outputs are the same file, which only vector layers may be."""
        taken: dict[Identity, OptionField] = {}
        for field in self.option_fields():
            path = getattr(self, field.name)
            if field.option.kind not in OUTPUT_KINDS or not path:
                continue
            impossible = impossible_name(path)
            if impossible:
                raise JobError(
                    f"{field.option.label} ({field.name}) is {shown(path)}, but Windows allows no file named "
                    f"{shown(impossible)}.",
                    'Choose a name without < > : " | ? * that does not end in a dot or space and is not a device '
                    "such as CON or NUL.",
                )
            for identity in identities(Path(os.path.normcase(path))):
                other = taken.setdefault(identity, field)
                if other is not field and {other.option.kind, field.option.kind} != {VECTOR_OUTPUT}:
                    both = " and ".join(f"{each.option.label} ({each.name})" for each in (other, field))
                    raise JobError(f"{both} are the same file, {path}.", "Give each a file of its own.")

    def packages(self) -> list[str]:
        """Return the modules that this job imports and others do not; see `errors.PACKAGE_SETS`."""
        fields = [field for field in self.option_fields() if getattr(self, field.name)]
        found = [field.option.needs for field in fields if field.option.needs]
        layers = [getattr(self, field.name).lower() for field in fields if field.option.kind in _VECTORS]
        return found + ["pyarrow"] * any(path.endswith("parquet") for path in layers)

    def to_json(self) -> str:
        """Return the job as the text of a job file, in ASCII, so that paths that are not valid UTF-8 survive."""
        document = {"job": self.name, "version": FORMAT_VERSION, "options": dataclasses.asdict(self)}
        return json.dumps(document, indent=1)


def _paragraphs(job_type: type[Job]) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in str(inspect.getdoc(job_type)).split("\n\n")]


def _dialog_order(field: OptionField) -> tuple[bool, ...]:
    option_ = field.option
    is_no_layer, is_no_field = option_.kind not in _LAYERS, option_.kind != FIELD
    return option_.advanced, not option_.required, is_no_layer, is_no_field, field.name in _LATE


def _validate_field(field: OptionField, value: Any) -> None:
    name, option_ = field.name, field.option
    if field.is_list and not isinstance(value, tuple):
        raise JobError(
            f"{option_.label} ({name}) must be a list, not {shown(value)}.", "Give its values in brackets: [...]."
        )
    if option_.required and (not value or (field.is_list and "" in value)):
        raise JobError(f"{option_.label} ({name}) is missing.", "Give a value.")
    for item in value if field.is_list else (value,):
        _validate_item(field, item)


def _validate_item(field: OptionField, item: Any) -> None:
    name, option_ = field.name, field.option
    if type(item) is not field.item_type:
        kind = _TYPE_WORDS[field.item_type]
        raise JobError(
            f"{option_.label} ({name}) must be of type {field.item_type.__name__}, not {shown(item)}.", f"Give {kind}."
        )
    if option_.choices and item not in option_.choices:
        raise JobError(
            f"{option_.label} ({name}) cannot be {shown(item)}.", f"Choose one of {', '.join(option_.choices)}."
        )
    if isinstance(item, str) and not _is_text(item):
        raise JobError(
            f"{option_.label} ({name}) is too long, or has characters that paths cannot have: {shown(item)}.",
            f"Give at most {MAX_TEXT} characters, none of them null.",
        )
    too_small = option_.minimum is not None and not item >= option_.minimum
    too_large = option_.maximum is not None and not item <= option_.maximum
    if too_small or too_large:
        raise JobError(f"{option_.label} ({name}) cannot be {shown(item)}.", f"Give a value {describe_range(option_)}.")


_TYPE_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _is_text(item: str) -> bool:
    """Whether a path may have this text: without null, and with surrogates only for bytes invalid in UTF-8 (PEP 383).

    os.fsencode would accept all surrogates on Windows.
    """
    return len(item) <= MAX_TEXT and not any(
        char == "\0" or "\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff" for char in item
    )


def describe_range(option_: Option) -> str:
    """Return the range of a number with its unit, such as 'from 0.1 to 10 m', or an empty text."""
    low, high, unit = option_.minimum, option_.maximum, f" {option_.unit}" if option_.unit else ""
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}{unit}"
    if low is not None:
        return f"of at least {low:g}{unit}"
    return "" if high is None else f"of at most {high:g}{unit}"


def from_options(job_type: type[Job], options: dict[str, Any]) -> Job:
    """Return the validated job with these options; lists become tuples, and integers become floats where expected.

    Raises JobError if an option is unknown, missing, of the wrong type, or out of range.
    """
    fields = {field.name: field for field in job_type.option_fields()}
    unknown = sorted(set(options) - set(fields))
    if unknown:
        names = ", ".join(shown(name)[1:-1] for name in unknown[:5])
        raise JobError(f"The job {job_type.name} has no field {names}.", f"Choose from {', '.join(fields)}.")
    job = job_type(**{name: _coerce(fields[name], value) for name, value in options.items()})
    job.validate()
    return job


def _coerce(field: OptionField, value: Any) -> Any:
    if field.is_list and isinstance(value, (list, tuple)):
        return tuple(_coerce_item(field, item) for item in value)
    return _coerce_item(field, value)


def _coerce_item(field: OptionField, value: Any) -> Any:
    if field.item_type is float and type(value) is int:
        with contextlib.suppress(OverflowError):
            return float(value)
    return value
