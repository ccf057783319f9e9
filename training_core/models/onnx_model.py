"""An ONNX model as engines take it, and which files are one.

Scope: names and bytes. Independent of the package onnx, which only some runtimes have.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".onnx"
INPUT, OUTPUT = "image", "probability"
# Stands for the names of architecture and encoder, which only the graph could tell.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class OnnxModel:
    """A model as a serialized graph, from batches of normalized images to probability.

    Images may have any size, or are single squares of `side_px`, if that is not 0.
    """

    content: bytes
    is_quantized: bool
    side_px: int = 0


def is_onnx(path: str) -> bool:
    """Whether a file is an ONNX model, by its suffix."""
    return Path(path).suffix.lower() == SUFFIX
