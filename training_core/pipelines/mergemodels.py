"""The job mergemodels: the weighted average of models that began from the same base, as a model file.

Scope: the order of the steps. Independent of how weights are averaged and statistics measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from ..errors import JobError
from ..events import Reporter
from ..geodata.rasters import IMAGE, Band
from ..geodata.sources import source_name, with_sources
from ..jobs import MergeModels
from ..labels.training_chips import collect_samples
from ..models.architectures import LIBRARY
from ..models.loading import load_into, load_network, load_weights
from ..models.merging import (
    average_weights,
    check_mergeable,
    common_bands,
    learned_px,
    measure_statistics,
    merged_card,
    rescaled,
)
from ..models.model_card import ModelCard
from ..models.model_file import check_weights, save_model, weights_sha256
from ..system.machine import versions
from ..system.outputs import Outputs
from ..system.work import preload

# Chips of all images together: 17 megapixels at most. On smaller chips the zeros around them change the statistics of
# the deep layers, which then do not fit the tiles of a segmentation (benchmarks/README.md).
CHIPS, CHIP_PX = 64, 512


@dataclass(frozen=True)
class Sources:
    """The models to merge, which fit each other, and a network of their architecture. Their shares add up to 1.

    `learned` counts the labeled pixels that each has learned from; 0 where weights are given and it is unknown.
    """

    model: nn.Module
    paths: list[str]
    cards: list[ModelCard]
    learned: list[int]
    fractions: list[float]


def run(job: MergeModels, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.MergeModels`. Raises ModelFileError if a model cannot be merged with the others."""
    preload(LIBRARY)
    torch.set_num_threads(job.threads or torch.get_num_threads())
    with Outputs([*job.models, *with_sources(job.rasters)]) as outputs:
        path = outputs.stage(job.model)
        sources = _read_sources(job, reporter)
        for source, fraction, px in zip(sources.paths, sources.fractions, sources.learned):
            reporter.log(
                f"{source}: {fraction:.1%} of the merged model" + (f", for {px} labeled pixels." if px else ".")
            )
        bands = common_bands(sources.cards, sources.fractions, sources.paths)
        card = merged_card(sources.cards, sources.fractions, sources.paths, bands, sources.learned)
        model = sources.model
        model.load_state_dict(average_weights(_weighted_models(sources, bands, reporter.part(0.2, 0.4))))
        chips = _measure(model, card, job.rasters, reporter.part(0.4, 0.98))
        measured = {"statistics_of": [source_name(each) for each in job.rasters], "chips": chips}
        card = replace(card, training={**card.training, **measured}, versions=versions())
        check_weights(model.state_dict(), card, job.model)
        save_model(path, model.state_dict(), card)
    return {"model": job.model, "shares": sources.fractions, "threshold": card.threshold, "chips": chips}


def _read_sources(job: MergeModels, reporter: Reporter) -> Sources:
    """Return the models to merge, each checked against the first.

    Raises JobError if the amount of a model's labels is unknown, and no weights are given.
    """
    paths, cards = list(job.models), []
    model, first = load_network(paths[0])
    by_digest: dict[str, str] = {}
    for number, path in enumerate(paths):
        reporter.step(0.2 * number / len(paths), f"Reading model {number + 1} of {len(paths)}")
        weights, card = load_weights(path)
        warning = check_mergeable((paths[0], first), (path, card))
        load_into(model, weights, path)
        digest = weights_sha256(weights)
        if digest in by_digest:
            reporter.warning(f"{path} holds the same weights as {by_digest[digest]}. They count twice.")
        elif warning and number:
            reporter.warning(warning)
        by_digest.setdefault(digest, path)
        cards.append(card)
    learned = [learned_px(card) for card in cards]
    if not job.weights and 0 in learned:
        raise JobError(
            f"{paths[learned.index(0)]} does not say how many labeled pixels it was trained on.",
            "Give a weight for each model (weights).",
        )
    wanted = job.weights or learned
    return Sources(model, paths, cards, learned, [each / sum(wanted) for each in wanted])


def _weighted_models(
    sources: Sources, bands: tuple[Band, ...], reporter: Reporter
) -> Iterator[tuple[float, dict[str, torch.Tensor]]]:
    """Yield each model's fraction and weights, for values normalized alike; one model at a time is in memory."""
    for number, (path, card, fraction) in enumerate(zip(sources.paths, sources.cards, sources.fractions)):
        reporter.step(number / len(sources.paths), "Averaging the weights")
        weights, _ = load_weights(path)
        load_into(sources.model, weights, path)  # which it may not fit any more: somebody else may have written it
        yield fraction, weights if card.scaling == IMAGE else rescaled(weights, card.architecture, card.bands, bands)


def _measure(model: nn.Module, card: ModelCard, rasters: Sequence[str], reporter: Reporter) -> int:
    """Measure the statistics of batch normalization on images; return on how many chips, 0 without images."""
    if not rasters:
        reporter.warning(
            "There are no images, so the batch normalization statistics are averaged, too. They may fit neither the "
            "merged weights nor your images. Give images similar to those that the model will be used on. They need "
            "no drawn roads."
        )
        return 0
    spread = rasters[:: -(-len(rasters) // CHIPS)]
    samples = collect_samples(spread, card.input, CHIPS, CHIP_PX, reporter)
    reporter.progress(0.3, "Measuring batch normalization")
    return measure_statistics(model, [sample.images for sample in samples], reporter.check_cancelled)
