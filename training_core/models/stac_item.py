"""The STAC item of an exported model, by which catalogs and other programs find it and learn how to run it.

Scope: the document beside the ONNX file, by STAC 1.1 and its extensions Machine Learning Model (MLM) and File
Info. Independent of how the model is exported.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import onnx

from ..geodata.rasters import IMAGE
from .model_card import MLM_SCHEMA, ModelCard
from .onnx_model import INPUT, OUTPUT

_FILE_SCHEMA = "https://stac-extensions.github.io/file/v2.1.0/schema.json"
_TASKS = ["semantic-segmentation"]
# The model card does not say where its images were taken.
_WORLD_BBOX = [-180, -90, 180, 90]
_WORLD = {"type": "Polygon", "coordinates": [[[-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]]]}
# A multihash tells its function and its length in bytes.
_SHA256, _SHA256_BYTES = 0x12, 32


def stac_item(card: ModelCard, exported: Path, onnx_path: str, item_path: str) -> dict[str, Any]:
    """Return the item of an exported model, which covers the world, at the time of export.

    Parameters
    ----------
    card
        The card of the model.
    exported
        The ONNX file where it lies now.
    onnx_path, item_path
        Where the ONNX file and the item will lie.
    """
    return {
        "type": "Feature",
        "stac_version": "1.1.0",
        "stac_extensions": [MLM_SCHEMA, _FILE_SCHEMA],
        "id": re.sub(r"[^\w.-]+", "-", Path(onnx_path).stem),
        "geometry": _WORLD,
        "bbox": _WORLD_BBOX,
        "properties": _properties(card, onnx.load(str(exported))),
        "links": [],
        "assets": {"model": _asset(exported.read_bytes(), _href(onnx_path, item_path), card)},
    }


def _properties(card: ModelCard, model: onnx.ModelProto) -> dict[str, Any]:
    weights = [tensor for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT]
    parameters = sum(math.prod(tensor.dims) for tensor in weights)
    base = card.training.get("base_model")
    providers = [{"name": source, "description": text} for source, text in card.attribution.items()]
    return {
        "title": "Roads in images",
        "description": f"A model of RoadSeg that finds roads in images with pixels of {card.resolution_m:g} m.",
        "datetime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "keywords": ["road", *_TASKS],
        **({"license": card.license} if card.license else {}),
        **({"providers": providers} if providers else {}),
        "gsd": card.resolution_m,
        "bands": [{"name": name} for name in card.band_names],
        "mlm:name": "RoadSeg roads",
        "mlm:architecture": card.architecture.name,
        "mlm:tasks": _TASKS,
        "mlm:framework": "PyTorch",
        "mlm:pretrained": base != "",  # an empty name stands for random weights
        **({"mlm:pretrained_source": base or None} if isinstance(base, str) else {}),
        "mlm:total_parameters": parameters,
        "mlm:memory_size": parameters * np.dtype(np.float32).itemsize,
        "mlm:batch_size_suggestion": 1,
        "mlm:accelerator": None,
        "mlm:input": [_input(card, _shape(model.graph.input[0]))],
        "mlm:output": [_output(card, _shape(model.graph.output[0]))],
        "mlm:hyperparameters": {
            "encoder": card.architecture.encoder,
            "threshold": card.threshold,
            "halo_px": card.halo_px,
        },
    }


def _input(card: ModelCard, shape: list[int]) -> dict[str, Any]:
    by_image = " RoadSeg normalizes each image by its own mean and deviation instead: do so as well, if you can."
    (image,) = card.to_document()["mlm:input"]
    return {
        **image,
        "name": INPUT,
        "description": "Bands of an image, normalized by mean and deviation of the training images; without data: 0."
        f"{by_image if card.scaling == IMAGE else ''} Height and width are multiples of 32.",
        "input": {**image["input"], "shape": shape},
        "pre_processing_function": None,
    }


def _output(card: ModelCard, shape: list[int]) -> dict[str, Any]:
    of_classes = " The channels after it: probability of each road class, where road is." if card.classes else ""
    by_image = " RoadSeg chooses the threshold by the image, near that." if card.threshold_by_image else ""
    return {
        "name": OUTPUT,
        "description": (
            f"First channel: probability of road, 0 to 1, after the sigmoid.{of_classes} A pixel is road if "
            f"its probability is at least {card.threshold:g}.{by_image}"
        ),
        "tasks": _TASKS,
        "result": {"shape": shape, "dim_order": ["batch", "channel", "height", "width"], "data_type": "float32"},
        "classification:classes": [
            {"value": value, "name": each, "description": each}
            for value, each in enumerate(["background", "road", *(road_class.name for road_class in card.classes)])
        ],
        "post_processing_function": {"format": "gdal-calc", "expression": f"A >= {card.threshold:g}"},
    }


def _shape(value: onnx.ValueInfoProto) -> list[int]:
    """Return the extents of an input or output of a graph; -1 where it takes any."""
    return [extent.dim_value or -1 for extent in value.type.tensor_type.shape.dim]


def _asset(content: bytes, href: str, card: ModelCard) -> dict[str, Any]:
    return {
        "href": href,
        "title": "The model as an ONNX file",
        "type": "application/octet-stream; framework=onnx",
        "roles": ["mlm:model", "mlm:compiled"],
        "bands": [{"name": name} for name in card.band_names],  # STAC wants them here, too
        "mlm:artifact_type": "onnx",
        "file:size": len(content),
        "file:checksum": f"{_SHA256:02x}{_SHA256_BYTES:02x}{hashlib.sha256(content).hexdigest()}",
    }


def _href(onnx_path: str, item_path: str) -> str:
    """Return the address of the ONNX file, relative to the item where both lie on one drive."""
    try:
        relative = Path(os.path.relpath(onnx_path, Path(item_path).parent)).as_posix()
    except ValueError:  # on Windows, of another drive
        return Path(onnx_path).absolute().as_uri()
    return quote(os.fsencode(relative))
