"""Job definitions: one dataclass per job, each field with its default, unit, range, choices and help.

The command line, the QGIS parameters and the documentation are generated from these fields.
Scope: what a job takes, and its JSON form. Independent of how a job is done; standard library only.
"""

from __future__ import annotations

from ..errors import JobError, shown
from .accuracy import CheckAccuracy, SampleAccuracy
from .challenges import ExportChanges, MakeChallenge
from .exchange import COCO, ESRI, GEOTIFF, ExportChips, ExportModel, MergeModels, Quantize
from .json_fields import parse
from .learning import Evaluate, FineTune, Live, MakeScene, SuggestLabels
from .mapping import CleanNetwork, ExtractRoads, MapRegion, Segment, Trace, Vectorize
from .networks import DOUBTFUL_BELOW, METERS_PER_SECOND, CompareNetworks, ExportNetwork, ScoreNetwork
from .openstreetmap import GetOsmData
from .option import (
    AREAS,
    BANDS,
    CHALLENGE,
    CHALLENGE_OUTPUT,
    FIELD,
    FILE_OUTPUTS,
    FOLDER,
    FOLDER_OUTPUT,
    FORMAT_VERSION,
    GEOPACKAGE_OUTPUT,
    GRAPHML_OUTPUT,
    HTML_OUTPUT,
    IMAGENET,
    JSON_OUTPUT,
    MODEL,
    MODEL_OUTPUT,
    MODELS,
    NUMBERS,
    ONNX_OUTPUT,
    OSC_OUTPUT,
    OSM_EXTRACT,
    OSM_OUTPUT,
    OUTPUT_KINDS,
    PROFILE,
    RASTER,
    RASTER_OUTPUT,
    RASTERS,
    STARTER,
    STARTER_RESNET34,
    STARTERS,
    VECTOR,
    VECTOR_OUTPUT,
    Job,
    OptionField,
    describe_range,
    from_options,
    option,
)
from .profiling import ALL, BOTH, INFERENCE, TRAINING, CompareProfiles, Profile
from .recipe import RecipeOptions, StepOptions, has_starter, model_path, with_model_paths
from .review import ApplyReview
from .shared import (
    ACCELERATORS,
    AUTO,
    CPU,
    DEVICE_VARIABLE,
    DEVICES,
    LEFT,
    MEMORY_VARIABLE,
    OPENVINO_DEVICES,
    RIGHT,
    THREADS_VARIABLE,
    UNKNOWN,
    ComputeOptions,
    LabelOptions,
    MaskOptions,
    MaskValueOptions,
    NetworkOptions,
    ProcessOptions,
    SegmentOptions,
)
from .status import RoadStatus

JOBS: dict[str, type[Job]] = {
    job.name: job
    for job in (
        GetOsmData,
        FineTune,
        Segment,
        Vectorize,
        ExtractRoads,
        MapRegion,
        CleanNetwork,
        Evaluate,
        SuggestLabels,
        ScoreNetwork,
        ExportNetwork,
        SampleAccuracy,
        CheckAccuracy,
        CompareNetworks,
        RoadStatus,
        ApplyReview,
        MakeChallenge,
        ExportChanges,
        ExportModel,
        Quantize,
        MergeModels,
        ExportChips,
        MakeScene,
        Profile,
        CompareProfiles,
        Live,
        Trace,
    )
}
# Jobs that a panel runs, and no Processing algorithm: an algorithm ends, and takes no commands.
INTERACTIVE_JOBS: dict[str, type[Job]] = {name: job for name, job in JOBS.items() if job.takes_commands}


def from_json(text: str) -> Job:
    """Return the validated job that the text of a job file holds.

    Raises JobError if the text is not a job file of this version, or a field is unknown or has an invalid value.
    """
    try:
        document = parse(text)
        name, version, options = document["job"], document["version"], document["options"]
        job_type = JOBS[name]
    except (ValueError, KeyError, TypeError) as error:
        raise _no_job_file() from error
    if type(version) is not int or version != FORMAT_VERSION:
        raise JobError(
            f"The job file has version {shown(version)}; this RoadSeg reads version {FORMAT_VERSION}.",
            "Write it with this version of RoadSeg.",
        )
    if not isinstance(options, dict):
        raise _no_job_file()
    return from_options(job_type, options)


def _no_job_file() -> JobError:
    return JobError("This is not a RoadSeg job file.", "Write it with the command line or from QGIS.")
