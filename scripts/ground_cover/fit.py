"""Fit the classifier of ground cover (`segmentation/ground_cover.py`), and tell its error on what is left out.

With PYTHON as `make -s runtime-python` prints it:

    PYTHON -m scripts.ground_cover.fit REAL_GROUND --confusion benchmarks/results/ground_cover.csv

It takes some minutes. Every third scene and image is left out of the fit of which the error is told. The coefficients
that are written are fitted on all. For REAL_GROUND see `samples.py`.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from scripts.ground_cover.samples import Known, all_known
from training_core.segmentation import ground_cover
from training_core.segmentation.ground_cover import CLASSES, features_of, products

NAMES = ("other", "water", "cloud", "shadow", "canopy")
PIXELS, LEAST, LEFT_OUT, GRAY_FEATURES, DIGITS = 250, 50, 3, 10, 4
# Roads are other: what is said beside it must be likely.
OTHER_WEIGHT = 2.0


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("real", type=Path)
    parser.add_argument("--confusion", type=Path)
    asked = parser.parse_args()
    features, classes, sources, grounds = sampled(asked.real)
    is_left_out = sources % LEFT_OUT == 0
    document, rows = {}, []
    for kind, part in (("color", features), ("gray", features[:, :GRAY_FEATURES])):
        fitted = fit(part[~is_left_out], classes[~is_left_out])
        said = probabilities(part[is_left_out], fitted).argmax(axis=1)
        rows += confusion(kind, said, classes[is_left_out], grounds[is_left_out])
        document[kind] = {name: np.round(values, DIGITS).tolist() for name, values in fit(part, classes).items()}
    path = Path(ground_cover.__file__).with_suffix(".json")
    path.write_text(json.dumps(document) + "\n", encoding="ascii")
    if asked.confusion:
        with asked.confusion.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([("bands", "ground", "class", "pixels", "recall", "precision", *NAMES), *rows])


def sampled(real: Path) -> tuple[np.ndarray, ...]:
    """Return features (n, features), classes, numbers of sources and names of grounds (n,) of sampled pixels."""
    rng, numbers, parts = np.random.default_rng(1), {}, []
    for known in all_known(real):
        number = numbers.setdefault(known.source, len(numbers))
        features, usable = _features(known)
        for each in CLASSES:
            at = np.flatnonzero((known.classes == each) & usable)
            if len(at) >= LEAST:
                at = rng.choice(at, min(len(at), PIXELS), replace=False)
                ground = known.source.split("/")[0].split(" ")[0].removesuffix("_more")
                parts.append((features[:, at].T, *(np.full(len(at), value) for value in (each, number, ground))))
    return tuple(map(np.concatenate, zip(*parts)))


def _features(known: Known) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of an image, (features, pixels), and where it is neither white nor black, as without data."""
    values = known.values
    usable = (values.min(axis=0) < 255) & (values.max(axis=0) > 0)
    mean, std = values.mean(axis=0)[usable].mean(), np.mean([band[usable].std() for band in values])
    features = features_of(values, float(mean), float(std))
    return features.reshape(len(features), -1), usable


def fit(features: np.ndarray, classes: np.ndarray) -> dict[str, np.ndarray]:
    """Return means and deviations of features, and the coefficients, (terms, classes)."""
    mean, std = features.mean(axis=0), features.std(axis=0)
    weight = np.where(classes == 0, OTHER_WEIGHT, 1.0) / np.bincount(classes)[classes] * len(classes) / len(CLASSES)
    model = LogisticRegression(C=0.1, max_iter=500, fit_intercept=False)
    model.fit(products((features - mean) / std), classes, weight)
    return {"mean": mean, "std": std, "coefficients": model.coef_.T}


def probabilities(features: np.ndarray, fitted: dict[str, np.ndarray]) -> np.ndarray:
    """Return what orders the classes of features as their probabilities do: (n, classes)."""
    return products((features - fitted["mean"]) / fitted["std"]) @ fitted["coefficients"]


def confusion(bands: str, said: np.ndarray, true: np.ndarray, grounds: np.ndarray) -> list[tuple[object, ...]]:
    """Return and print rows: bands, ground, class, pixels, recall, precision, and pixels by what is said."""
    rows = []
    for ground in ("all", *np.unique(grounds)):
        here = np.ones(len(true), bool) if ground == "all" else grounds == ground
        counts = np.zeros((len(CLASSES), len(CLASSES)), dtype=int)
        np.add.at(counts, (true[here], said[here]), 1)
        for each in CLASSES:
            total, right = counts[each].sum(), counts[each, each]
            if total:
                precision = right / max(1, counts[:, each].sum())
                scores = (f"{right / total:.3f}", f"{precision:.3f}")
                rows.append((bands, ground, NAMES[each], total, *scores, *counts[each]))
                print(*rows[-1], sep="\t")
    return rows


if __name__ == "__main__":
    main()
