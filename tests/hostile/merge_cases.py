"""Models that do not belong together, and what their cards may say of their training: it is untrusted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from tests.core.support.rasters import write_raster
from tests.hostile.cases import DONE, EITHER, REFUSED, Case, Place
from tests.hostile.model_cases import _document
from tests.hostile.spoiling import VALUES
from training_core.geodata.rasters import MAX_VALUE

JOB = "mergemodels"
# Members of the training's record that a merge reads.
_MEMBERS = ("labeled_px", "steps", "batch_size", "accumulation", "base_model", "base_sha256", "images")


def _merged(change: Callable[[dict[str, Any], dict[str, torch.Tensor]], object], **options: Any) -> Callable[..., Any]:
    """Return a case's function: it changes the document and the weights of a good model, and merges it with another."""

    def spoil(place: Place) -> dict[str, Any]:
        document, weights = _document(place.goods.model), load_file(place.goods.model)
        change(document, weights)
        path = place.bad / "spoilt.safetensors"
        save_file(weights, path, metadata={"roadseg": json.dumps(document)})
        return {"models": [place.goods.sure_model, str(path)], "weights": [], **options}

    return spoil


def _training(key: str, value: Any) -> Callable[..., object]:
    return lambda document, weights: document["roadseg:training"].__setitem__(key, value)


def _member(key: str, value: Any) -> Callable[..., object]:
    return lambda document, weights: document.__setitem__(key, value)


def _scaling(mean: float, std: float) -> Callable[..., object]:
    return lambda document, weights: document["mlm:input"][0]["value_scaling"][0].update(mean=mean, stddev=std)


def _filled(value: float, *endings: str) -> Callable[..., object]:
    return lambda document, weights: [each.fill_(value) for name, each in weights.items() if name.endswith(endings)]


def _image(values: np.ndarray, **profile: Any) -> Callable[[Place], dict[str, Any]]:
    return lambda place: {"rasters": [write_raster(place.bad / "spoilt.tif", values, **profile)]}


def _many(place: Place) -> dict[str, Any]:
    return {"models": [place.goods.model] * 30, "weights": []}


_DIFFERENT = {
    "another base": _training("base_sha256", "cd" * 32),
    "no base": _member("roadseg:training", {"labeled_px": 1}),
    "the base's name is another": _member("roadseg:training", {"labeled_px": 1, "base_model": "other.safetensors"}),
    "no labeled pixels": _member("roadseg:training", {"base_model": "base.safetensors"}),
    "another resolution": _member("roadseg:resolution_m", 2.0),
    "another normalization": _member("roadseg:scaling", "image"),
    "values of another kind": _scaling(30000.0, 9000.0),
    "values as large as can be": _scaling(MAX_VALUE, MAX_VALUE),
    "values as small as can be": _scaling(0.0, 1e-30),
}
_WEIGHTS = {
    "all weights as large as can be": _filled(1e15, "weight"),
    "all weights zero": _filled(0.0, "weight", "bias"),
    "variances zero": _filled(0.0, "running_var"),
    "counts as large as can be": _filled(2**63 - 1, "num_batches_tracked"),
}
_NOISE = np.random.default_rng(0).integers(1, 255, (3, 64, 64), dtype=np.uint8)
CASES = [
    *(Case(f"merging: {what}", JOB, _merged(change), REFUSED, ("spoilt.safetensors",))
      for what, change in _DIFFERENT.items()),
    *(Case(f"merging: {member} is {what}", JOB, _merged(_training(member, value)), EITHER)
      for member in _MEMBERS for what, value in VALUES.items()),
    *(Case(f"merging: {what}", JOB, _merged(change), EITHER) for what, change in _WEIGHTS.items()),
    *(Case(f"merging: {what}, no images", JOB, _merged(change, rasters=[]), EITHER)
      for what, change in _WEIGHTS.items()),
    Case("merging: one model thirty times", JOB, _many, DONE, limit_s=60),
    Case("merging: an image without data", JOB, _image(_NOISE * 0, nodata=0), REFUSED, ("spoilt.tif",)),
    Case("merging: an image of one pixel", JOB, _image(_NOISE[:, :1, :1]), REFUSED, ("spoilt.tif",)),
    Case("merging: an image of other bands", JOB, _image(_NOISE[:1]), REFUSED, ("spoilt.tif",)),
    Case("merging: an image of one value", JOB, _image(_NOISE * 0 + 1), DONE),
    Case("merging: an image of NaN", JOB, _image(np.full((3, 64, 64), np.nan, np.float32)), REFUSED, ("spoilt.tif",)),
    Case("merging: an image of huge values", JOB, _image(np.full((3, 64, 64), 3e38, np.float32)), REFUSED,
         ("spoilt.tif",)),
]  # fmt: skip
