"""The Processing algorithms, in toolbox order. One algorithm per file; none imports another."""

from .cleannetwork import CleanNetwork
from .comparenetworks import CompareNetworks
from .compareprofiles import CompareProfiles
from .createlabellayers import CreateLabelLayers
from .evaluate import Evaluate
from .exportchanges import ExportChanges
from .exportchips import ExportChips
from .exportmodel import ExportModel
from .exportnetwork import ExportNetwork
from .extractroads import ExtractRoads
from .finetune import FineTune
from .makechallenge import MakeChallenge
from .makescene import MakeScene
from .mapregion import MapRegion
from .mergemodels import MergeModels
from .profile import Profile
from .quantize import Quantize
from .reportproblem import ReportProblem
from .scorenetwork import ScoreNetwork
from .segment import Segment
from .setupruntime import SetUpRuntime
from .suggestlabels import SuggestLabels
from .vectorize import Vectorize

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
    CleanNetwork,
    ScoreNetwork,
    ExportNetwork,
    CompareNetworks,
    MakeChallenge,
    ExportChanges,
)
