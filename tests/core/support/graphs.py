"""Small graphs with known answers."""

from __future__ import annotations

import numpy as np

from training_core.extraction.thinning import thin
from training_core.extraction.tracing import trace
from training_core.networks.graph import Graph


def traced(size, *strokes):
    """The graph of strokes one pixel wide, each a pair of slices or indices of rows and columns."""
    mask = np.zeros(size, dtype=bool)
    for stroke in strokes:
        mask[stroke] = True
    return trace(thin(mask))


def lines(*coordinates):
    """A graph of lines that meet where their ends are the same."""
    points = np.concatenate([np.array(line, dtype=float) for line in coordinates])
    offsets = np.cumsum([0] + [len(line) for line in coordinates])
    ends = np.column_stack([offsets[:-1], offsets[1:] - 1])
    nodes, numbers = np.unique(points[ends.ravel()], axis=0, return_inverse=True)
    return Graph(nodes, numbers.reshape(-1, 2), points, offsets)
