"""The Processing algorithms, in toolbox order. No module here imports another but this one."""

from .createlabellayers import CreateLabelLayers
from .network import (
    ApplyReview,
    CheckAccuracy,
    CleanNetwork,
    CompareNetworks,
    ExportChanges,
    ExportNetwork,
    MakeChallenge,
    RoadStatus,
    SampleAccuracy,
    ScoreNetwork,
)
from .openstreetmap import GetOsmData
from .profiling import CompareProfiles, Profile
from .reportproblem import ReportProblem
from .roads import ExtractRoads, MapRegion, Segment, Vectorize
from .setupruntime import SetUpRuntime
from .training import Evaluate, ExportChips, ExportModel, FineTune, MakeScene, MergeModels, Quantize, SuggestLabels

ALGORITHMS = (
    SetUpRuntime,
    Profile,
    CompareProfiles,
    ReportProblem,
    CreateLabelLayers,
    FineTune,
    Evaluate,
    SuggestLabels,
    ExportChips,
    ExportModel,
    Quantize,
    MergeModels,
    MakeScene,
    Segment,
    Vectorize,
    ExtractRoads,
    MapRegion,
    GetOsmData,
    CleanNetwork,
    ScoreNetwork,
    SampleAccuracy,
    CheckAccuracy,
    ExportNetwork,
    CompareNetworks,
    RoadStatus,
    ApplyReview,
    MakeChallenge,
    ExportChanges,
)
