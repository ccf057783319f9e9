"""The Processing algorithms, in toolbox order. No module here imports another but this one."""

from . import network, profiling, roads, training
from .createlabellayers import CreateLabelLayers
from .openstreetmap import GetOsmData
from .reportproblem import ReportProblem
from .setupruntime import SetUpRuntime

ALGORITHMS = (
    SetUpRuntime,
    profiling.Profile,
    profiling.CompareProfiles,
    ReportProblem,
    CreateLabelLayers,
    training.FineTune,
    training.Evaluate,
    training.SuggestLabels,
    training.ExportChips,
    training.ExportModel,
    training.Quantize,
    training.MergeModels,
    training.MakeScene,
    roads.Segment,
    roads.Vectorize,
    roads.ExtractRoads,
    roads.MapRegion,
    GetOsmData,
    network.CleanNetwork,
    network.ScoreNetwork,
    network.SampleAccuracy,
    network.CheckAccuracy,
    network.ExportNetwork,
    network.CompareNetworks,
    network.RoadStatus,
    network.ApplyReview,
    network.MakeChallenge,
    network.ExportChanges,
)
