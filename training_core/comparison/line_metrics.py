"""Length-based scores of a road network: completeness, correctness, quality; relaxed precision, recall and F1.

Scope: lines in meters and distances between them. Independent of paths along them (see `apls`).

The buffer of a straight segment is convex, so the part of another straight segment inside it is one interval, which is
computed exactly, without approximating buffers by polygons.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import harmonic_mean

from ..networks.buffer_matching import near
from ..networks.road_graph import RoadGraph


@dataclass(frozen=True)
class LineScores:
    """How much of the truth is found, and how much of what is found is true, within a tolerance.

    Completeness, correctness and quality are defined by Heipke, Mayer, Wiedemann and Jamet, "Evaluation of automatic
    road extraction", International Archives of Photogrammetry and Remote Sensing 32 (1997). Completeness is also the
    relaxed recall, and correctness the relaxed precision, of Mnih and Hinton, "Learning to detect roads in
    high-resolution aerial images", ECCV 2010, on center-lines: the limit of counting points along the lines as their
    spacing goes to 0.

    Parameters
    ----------
    truth_m, found_m : float
        Length of the truth, and of the part of it within the tolerance of the proposal.
    proposal_m, true_m : float
        Length of the proposal, and of the part of it within the tolerance of the truth.
    """

    tolerance_m: float
    truth_m: float
    found_m: float
    proposal_m: float
    true_m: float

    @property
    def completeness(self) -> float:
        """Share of the true length that is found: the relaxed recall."""
        return self.found_m / self.truth_m if self.truth_m else 0.0

    @property
    def correctness(self) -> float:
        """Share of the proposed length that is true: the relaxed precision."""
        return self.true_m / self.proposal_m if self.proposal_m else 0.0

    @property
    def quality(self) -> float:
        """Length-based IoU: correct length, divided by proposed and missed length together."""
        everything_m = self.proposal_m + self.truth_m - self.found_m
        return self.true_m / everything_m if everything_m else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of relaxed precision and recall."""
        return float(harmonic_mean([self.correctness, self.completeness]))


def score_lines(truth: RoadGraph, proposal: RoadGraph, tolerance_m: float) -> LineScores:
    """Return how much of each of two networks lies within a tolerance of the other."""
    truth_m, proposal_m = (float(roads.length_m.sum()) for roads in (truth, proposal))
    found_m, true_m = (near(*pair, tolerance_m).length_m for pair in ((truth, proposal), (proposal, truth)))
    # Rounding must not make more than all of it near.
    return LineScores(tolerance_m, truth_m, min(found_m, truth_m), proposal_m, min(true_m, proposal_m))
