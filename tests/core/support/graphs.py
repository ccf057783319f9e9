"""Small graphs with known answers."""

from __future__ import annotations

import numpy as np

from training_core.extraction.skeletons import thin, trace_pixels
from training_core.networks.graph import Graph
from training_core.networks.surroundings import Paths, Surroundings


def trace(skeleton):
    """The graph of a skeleton mask."""
    return trace_pixels(np.argwhere(skeleton)[:, ::-1])


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


def evident(evidence, beside=-4.0, **known):
    """Straight paths, everywhere with the same evidence of road, and with that of all places next to them."""
    probability = 1 / (1 + np.exp(-beside))

    def paths(starts, ends):
        share = np.linspace(0, 1, 11)[:, None]
        points = np.concatenate([start + share * (end - start) for start, end in zip(starts, ends)] or [starts])
        return Paths(points, 11 * np.arange(len(starts) + 1), np.full(len(points), float(evidence)))

    def everywhere(points):
        return np.full(len(points), probability)

    return Surroundings(paths=paths, probability=everywhere, threshold=0.5, **known)
