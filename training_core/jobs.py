"""What a person can ask for: one dataclass a job, each field with its default, unit, range, choices and help.

The command line, the QGIS parameters and the documentation are made from these fields, so each is said here only.
Knows nothing of how a job is done, and only the standard library.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from dataclasses import dataclass
from typing import Any, ClassVar, Optional

from .errors import JobError

FORMAT_VERSION = 1

# What a field holds, where its Python type alone does not tell.
RASTER, RASTERS, VECTOR, MODEL, FIELD, FOLDER, BANDS = "raster", "rasters", "vector", "model", "field", "folder", "bands"
RASTER_OUTPUT, VECTOR_OUTPUT, MODEL_OUTPUT, HTML_OUTPUT = "raster output", "vector output", "model output", "html output"
OUTPUT_KINDS = (RASTER_OUTPUT, VECTOR_OUTPUT, MODEL_OUTPUT, HTML_OUTPUT)


@dataclass(frozen=True)
class Option:
    """What is said of a job's field beside its name, type and default.

    Parameters
    ----------
    label : str
        The few words that stand beside the field in a dialog.
    help : str
        One or two sentences for the person who must decide on a value.
    kind : str
        What the value is, where the type does not tell: one of the constants above.
    unit : str
        Unit of a number.
    minimum, maximum : float, optional
        The range of a number, both ends allowed.
    choices : tuple of str
        The allowed words.
    required : bool
        Whether the job makes no sense without it.
    advanced : bool
        Whether most people never need it.
    """

    label: str
    help: str
    kind: str = ""
    unit: str = ""
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    choices: tuple[str, ...] = ()
    required: bool = False
    advanced: bool = False


def option(default: Any, label: str, help: str, **details: Any) -> Any:  # noqa: A002  # the word people know
    """Return a dataclass field that carries an Option."""
    return dataclasses.field(default=default, metadata={"option": Option(label, help, **details)})


@dataclass(frozen=True)
class OptionField:
    """A job's field with all that is known of it; see Option for the rest."""

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
        """The type of the value, or of each of several values."""
        return typing.get_args(self.type)[0] if self.is_list else self.type


@dataclass(frozen=True)
class Job:
    """What every job can do: check itself, and travel as JSON."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""

    @classmethod
    def option_fields(cls) -> list[OptionField]:
        """Return the job's fields, the common ones first."""
        types = typing.get_type_hints(cls)
        fields = [
            OptionField(field.name, types[field.name], field.default, field.metadata["option"])
            for field in dataclasses.fields(cls)
        ]
        return sorted(fields, key=lambda field: (field.option.advanced, not field.option.required))

    def validate(self) -> None:
        """Raise JobError, naming the field, where a value is missing, of the wrong type, or out of its range."""
        for field in self.option_fields():
            _validate_field(field, getattr(self, field.name))

    def to_json(self) -> str:
        """Return the job as the text of a job file."""
        document = {"job": self.name, "version": FORMAT_VERSION, "options": dataclasses.asdict(self)}
        return json.dumps(document, ensure_ascii=False, indent=1)


def _validate_field(field: OptionField, value: Any) -> None:
    name, option_ = field.name, field.option
    if option_.required and not value:
        raise JobError(f"{option_.label} ({name}) is missing.", "Give it a value.")
    for item in value if field.is_list else (value,):
        if type(item) is not field.item_type:
            raise JobError(f"{option_.label} ({name}) must be of type {field.item_type.__name__}, not {item!r}.")
        if option_.choices and item not in option_.choices:
            raise JobError(f"{option_.label} ({name}) is {item!r}.", f"Choose one of {', '.join(option_.choices)}.")
        too_small = option_.minimum is not None and not item >= option_.minimum
        too_large = option_.maximum is not None and not item <= option_.maximum
        if too_small or too_large:
            raise JobError(f"{option_.label} ({name}) is {item}.", f"Give a value {describe_range(option_)}.")


def describe_range(option_: Option) -> str:
    """Return the range of a number in words, with its unit: 'from 0.1 to 10 m'; empty where there is none."""
    low, high, unit = option_.minimum, option_.maximum, f" {option_.unit}" if option_.unit else ""
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}{unit}"
    if low is not None:
        return f"of at least {low:g}{unit}"
    return "" if high is None else f"of at most {high:g}{unit}"


def from_json(text: str) -> Job:
    """Return the job that a job file's text holds, checked.

    Raises
    ------
    JobError
        The text is no job file of this version, or a field is unknown or has a value it must not have.
    """
    try:
        document = json.loads(text)
        name, version, options = document["job"], document["version"], document["options"]
        job_type = JOBS[name]
        items = dict(options)
    except (ValueError, KeyError, TypeError) as error:
        raise JobError("This is not a RoadSeg job file.", "Write it with the command line or from QGIS.") from error
    if version != FORMAT_VERSION:
        raise JobError(f"The job file has version {version}; this RoadSeg reads version {FORMAT_VERSION}.")
    return from_options(job_type, items)


def from_options(job_type: type[Job], options: dict[str, Any]) -> Job:
    """Return the job with these options, checked; lists become tuples and whole numbers become floats where due."""
    fields = {field.name: field for field in job_type.option_fields()}
    unknown = sorted(set(options) - set(fields))
    if unknown:
        raise JobError(f"The job {job_type.name} has no field {', '.join(unknown)}.", f"It has {', '.join(fields)}.")
    job = job_type(**{name: _coerce(fields[name], value) for name, value in options.items()})
    job.validate()
    return job


def _coerce(field: OptionField, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return float(value) if field.item_type is float and type(value) is int else value


@dataclass(frozen=True)
class ComputeOptions(Job):
    """How to compute: shared by every job that runs a network."""

    engine: str = option(
        "auto",
        "Engine",
        "What runs the network. auto times those that are installed on the shapes at hand and takes the fastest.",
        choices=("auto", "native", "ipex"),
        advanced=True,
    )
    precision: str = option(
        "auto",
        "Precision",
        "Number format of the computation. auto takes bf16 where the processor has a BF16 unit, else fp32.",
        choices=("auto", "bf16", "fp32"),
        advanced=True,
    )
    threads: int = option(
        0,
        "Threads",
        "Processor cores to use; 0 uses all that are there.",
        minimum=0,
        maximum=1024,
        advanced=True,
    )


@dataclass(frozen=True)
class LabelOptions(Job):
    """How drawn roads become labels: shared by training and evaluation."""

    width_m: float = option(
        6.0,
        "Road width",
        "Width given to road lines that have no width of their own. Polygons are used as drawn.",
        unit="m",
        minimum=0.5,
        maximum=100,
    )
    width_field: str = option(
        "",
        "Road width field",
        "Field that holds each road's own width in meters; where it is empty, the road width counts.",
        kind=FIELD,
    )
    sure_field: str = option(
        "",
        "Sure field",
        "Yes/no field; roads where it says no are neither road nor background, but left out of learning and scores.",
        kind=FIELD,
        advanced=True,
    )
    background_m: float = option(
        30.0,
        "Background distance",
        "Without an area of interest, how far from a drawn road the ground is known to be no road. "
        "What lies beyond is left out.",
        unit="m",
        minimum=1,
        maximum=10000,
        advanced=True,
    )


@dataclass(frozen=True)
class FineTune(LabelOptions, ComputeOptions):
    """Teach a network the roads drawn in an image."""

    name: ClassVar[str] = "finetune"
    title: ClassVar[str] = "Fine-tune a model"

    rasters: tuple[str, ...] = option(
        (), "Images", "The images in which the roads are drawn.", kind=RASTERS, required=True
    )
    roads: str = option(
        "", "Drawn roads", "Road center-lines or road polygons drawn on the images.", kind=VECTOR, required=True
    )
    aoi: str = option(
        "",
        "Area of interest",
        "Polygons within which every road is drawn, so that all else in them is known to be no road.",
        kind=VECTOR,
    )
    base_model: str = option("", "Base model", "Model to start from; without one, learning starts fresh.", kind=MODEL)
    minutes: float = option(
        5.0,
        "Time budget",
        "How long to train. More time gives a better model, up to a point.",
        unit="min",
        minimum=0.05,
        maximum=10000,
    )
    model: str = option("", "Model", "Where to write the model.", kind=MODEL_OUTPUT, required=True)
    report: str = option("", "Report", "Where to write the HTML report of the training.", kind=HTML_OUTPUT)
    bands: tuple[int, ...] = option(
        (),
        "Bands",
        "Image bands to learn from, counted from 1; none given means the base model's, or else all but alpha.",
        kind=BANDS,
        minimum=1,
        maximum=65535,
        advanced=True,
    )
    resolution_m: float = option(
        0.0,
        "Ground resolution",
        "Size of a pixel on the ground at which to work; 0 takes the base model's, or else the first image's own.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    chip_px: int = option(
        384,
        "Chip size",
        "Side of the pieces of image that are learned from.",
        unit="px",
        minimum=64,
        maximum=8192,
        advanced=True,
    )
    batch_size: int = option(
        4, "Batch size", "Chips in a training step.", minimum=1, maximum=4096, advanced=True
    )
    learning_rate: float = option(
        0.001, "Learning rate", "Peak step size of the optimizer.", minimum=1e-7, maximum=1, advanced=True
    )
    validation_share: float = option(
        0.2,
        "Validation share",
        "Share of the labeled ground, in blocks, that is kept apart to measure how good the model is.",
        minimum=0.05,
        maximum=0.5,
        advanced=True,
    )
    seed: int = option(
        0, "Seed", "The same job with the same seed draws the same chips.", minimum=0, maximum=2**31 - 1, advanced=True
    )


@dataclass(frozen=True)
class SegmentOptions(ComputeOptions):
    """How an image is worked through: shared by every job that segments."""

    halo: str = option(
        "auto",
        "Halo",
        "Context around each tile in pixels: a number, exact for the very result of the undivided image, or auto.",
        advanced=True,
    )
    tile_px: int = option(
        0,
        "Tile size",
        "Side of the tiles the image is worked through in; 0 fits it to the free memory.",
        unit="px",
        minimum=0,
        maximum=32768,
        advanced=True,
    )
    threshold: float = option(
        0.0,
        "Threshold",
        "Probability from which a pixel is road; 0 takes the one stored in the model.",
        minimum=0,
        maximum=1,
        advanced=True,
    )

    def validate(self) -> None:
        """See Job.validate; also checks the halo, which is a word or a number."""
        super().validate()
        if self.halo not in ("auto", "exact") and not (self.halo.isdecimal() and int(self.halo) <= 4096):
            raise JobError(f"Halo (halo) is {self.halo!r}.", "Give auto, exact, or a number from 0 to 4096 px.")


@dataclass(frozen=True)
class Segment(SegmentOptions):
    """Find road pixels in an image."""

    name: ClassVar[str] = "segment"
    title: ClassVar[str] = "Segment roads"

    raster: str = option("", "Image", "The image to segment.", kind=RASTER)
    rasters: tuple[str, ...] = option(
        (), "Images", "Several images to segment in one job, with the folder for their masks.", kind=RASTERS
    )
    folder: str = option("", "Folder", "Where the masks of several images go, named for them.", kind=FOLDER)
    model: str = option("", "Model", "The model file.", kind=MODEL, required=True)
    aoi: str = option("", "Area of interest", "Polygons to which the work is limited.", kind=VECTOR)
    mask: str = option("", "Road mask", "Where to write the mask: 1 road, 0 other, 255 no data.", kind=RASTER_OUTPUT)
    probability: str = option(
        "", "Road probability", "Where to write the probability: 0 to 254 for 0 to 1, 255 no data.", kind=RASTER_OUTPUT
    )

    def validate(self) -> None:
        """See Job.validate; also wants either one image with an output, or several with a folder."""
        super().validate()
        if bool(self.raster) == bool(self.rasters):
            raise JobError("The image (raster) or several images (rasters) must be given, not both.")
        if self.rasters and not self.folder:
            raise JobError("Several images need a folder (folder) for their masks.")
        if self.raster and not (self.mask or self.probability):
            raise JobError("There is nothing to write.", "Give a road mask (mask) or a road probability (probability).")


@dataclass(frozen=True)
class NetworkOptions(Job):
    """How a mask becomes lines: shared by every job that vectorizes. All lengths are on the ground."""

    min_area_m2: float = option(
        60.0,
        "Smallest patch",
        "Patches of road smaller than this are dropped, and smaller holes in roads filled.",
        unit="m²",
        minimum=0,
        maximum=1e6,
        advanced=True,
    )
    spur_m: float = option(
        10.0,
        "Spur length",
        "Dead ends shorter than this, or than the width of the road they leave, are pruned.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )
    min_length_m: float = option(
        20.0,
        "Shortest component",
        "Connected groups of lines shorter than this in all are dropped.",
        unit="m",
        minimum=0,
        maximum=1e5,
        advanced=True,
    )
    simplify_m: float = option(
        0.5,
        "Simplification",
        "How far a simplified line may lie from the one found.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )


@dataclass(frozen=True)
class Vectorize(NetworkOptions):
    """Turn a road mask or probability into a network of center-lines."""

    name: ClassVar[str] = "vectorize"
    title: ClassVar[str] = "Vectorize roads"

    raster: str = option("", "Road mask or probability", "The raster to vectorize.", kind=RASTER, required=True)
    threshold: float = option(
        0.5,
        "Threshold",
        "Probability from which a pixel is road; a mask needs none.",
        minimum=0.01,
        maximum=0.99,
    )
    roads: str = option("", "Roads", "Where to write the lines.", kind=VECTOR_OUTPUT, required=True)
    nodes: str = option("", "Nodes", "Where to write junctions and ends.", kind=VECTOR_OUTPUT)


@dataclass(frozen=True)
class ExtractRoads(NetworkOptions, SegmentOptions):
    """Segment an image and vectorize the roads in one go."""

    name: ClassVar[str] = "extractroads"
    title: ClassVar[str] = "Extract roads"

    raster: str = option("", "Image", "The image to map roads in.", kind=RASTER, required=True)
    model: str = option("", "Model", "The model file.", kind=MODEL, required=True)
    aoi: str = option("", "Area of interest", "Polygons to which the work is limited.", kind=VECTOR)
    roads: str = option("", "Roads", "Where to write the lines.", kind=VECTOR_OUTPUT, required=True)
    mask: str = option("", "Road mask", "Where to write the mask: 1 road, 0 other, 255 no data.", kind=RASTER_OUTPUT)


@dataclass(frozen=True)
class Evaluate(LabelOptions, SegmentOptions):
    """Score a model against drawn roads."""

    name: ClassVar[str] = "evaluate"
    title: ClassVar[str] = "Evaluate a model"

    rasters: tuple[str, ...] = option((), "Images", "The images to score on.", kind=RASTERS, required=True)
    roads: str = option("", "Drawn roads", "The true roads, as lines or polygons.", kind=VECTOR, required=True)
    aoi: str = option("", "Area of interest", "Polygons within which every road is drawn.", kind=VECTOR)
    model: str = option("", "Model", "The model file.", kind=MODEL, required=True)
    report: str = option("", "Report", "Where to write the HTML report.", kind=HTML_OUTPUT)
    tolerance_m: float = option(
        3.0,
        "Tolerance",
        "How far from a true road a found one may lie, and the other way round, to count in the relaxed scores.",
        unit="m",
        minimum=0,
        maximum=100,
    )


@dataclass(frozen=True)
class MakeScene(Job):
    """Generate an aerial scene with its true roads, for demonstrations and tests."""

    name: ClassVar[str] = "makescene"
    title: ClassVar[str] = "Make a scene"

    raster: str = option("", "Image", "Where to write the image.", kind=RASTER_OUTPUT, required=True)
    roads: str = option("", "Roads", "Where to write the true roads.", kind=VECTOR_OUTPUT, required=True)
    size_px: int = option(1024, "Size", "Side of the square image.", unit="px", minimum=64, maximum=32768)
    seed: int = option(0, "Seed", "The same seed gives the same scene.", minimum=0, maximum=2**31 - 1)


JOBS: dict[str, type[Job]] = {
    job.name: job for job in (FineTune, Segment, Vectorize, ExtractRoads, Evaluate, MakeScene)
}
