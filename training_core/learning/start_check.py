"""Comparison with the base model on held-out blocks: of the labels before the first step, of the result at the end.

Displaced labels, and labels that contradict the base model, end a training before it has learned them.

Scope: a training before and after its steps. Independent of how scores and offsets are measured.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Optional

from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import reaches
from ..geodata.rasters import MODEL
from ..jobs import IMAGENET
from ..labels.label_offset import direction
from .history import Trained
from .setup import Setup, predictor_of
from .start_comparison import label_shift, relaxed_f1
from .training_loop import Training
from .validation import Validation

# Labels contradict a start that ranks labeled road so far below other ground (area under the ROC curve). Nothing was
# learned below this fraction of the possible gain over taking everything for road.
CONTRADICTION, MIN_LEARNED = 0.35, 0.1
_REDRAW = "Check that all roads of the labeled area are drawn, and nothing else; draw more, elsewhere."
_MOVE = "Move the drawn roads onto the images (move_roads), or check the coordinate systems."
# Where they cannot be moved, or have been.
_ALIGN = "Correct the labels, or label more ground: with little labeled road, an offset may be chance."
_KEPT = "The base model is kept unchanged"


@dataclass(frozen=True)
class StartCheck:
    """The validation of the base model, and why the labels do not fit it, "" where they do.

    There is no validation where the base model does not know all bands and classes.
    """

    found: Optional[Validation] = None
    misfit: str = ""


def check_labels(setup: Setup, training: Training, reporter: Reporter) -> StartCheck:
    """Validate the base model before the first step, and end the training with it if the labels do not fit it."""
    start, card = setup.start, setup.start.card
    if not start.knows_roads or card is None:
        return StartCheck()
    bands = card.bands if card.scaling == MODEL else setup.images[0].bands
    count, limit_s = training.affordable_blocks()
    seen = [
        dataclasses.replace(block, image=dataclasses.replace(block.image, bands=bands))
        for block in training.blocks[:count]
    ]
    predictor = predictor_of(setup, start.base_weights)
    found = training.validated(predictor, seen, limit_s, "validation of the base model")
    blocks = training.blocks[: found.blocks]
    masks = [reaches(each, card.threshold) for each in found.probability]
    shift = label_shift(blocks, found.probability)
    score = f"The base model's relaxed F1 on {found.blocks} held-out blocks is {relaxed_f1(blocks, masks):.3f}"
    if any(shift):
        offset = _offset(blocks[0].image.grid, shift)
        remedy = _ALIGN if setup.job.masks or setup.job.move_roads else _MOVE
        why = f"{_KEPT}, and nothing is learned, since the labels seem to lie {offset} of the roads that it sees."
        misfit = f"{why} {score}, and {relaxed_f1(blocks, masks, shift):.3f} with the labels moved back. {remedy}"
    # Only a model that was validated may deny the labels.
    elif "f1" in card.metrics and found.confusion.ranking() < CONTRADICTION:
        why = f"{_KEPT}, and nothing is learned, since the labels contradict what it sees. {score}."
        misfit = f"{why} {_REDRAW} For images of another kind, choose another base model ({IMAGENET})."
    else:
        reporter.log(f"{score}.")
        return StartCheck(found)
    _keep_start(setup, training, found, misfit, reporter)
    training.end()
    return StartCheck(found, misfit)


def start_if_better(setup: Setup, training: Training, start: StartCheck, result: Validation, reporter: Reporter) -> str:
    """Replace the best weights by the base model's if these find held-out roads better; return why, or nothing."""
    card, found = setup.start.card, start.found
    if card is None or found is None:
        return ""
    blocks = training.blocks[: min(found.blocks, result.blocks)]
    before, after, anything = (
        relaxed_f1(blocks, [reaches(each, threshold) for each in of.probability])
        for of, threshold in ((found, card.threshold), (result, training.best.threshold), (found, 0.0))
    )
    compared = (
        f"Relaxed F1 on {len(blocks)} held-out blocks is {before:.3f} for the base model and {after:.3f} for the "
        "fine-tuned one."
    )
    # Little more than all ground taken for road is nothing.
    if before < after and after - anything > MIN_LEARNED * (1 - anything):
        reporter.log(compared)
        return ""
    baseline = f"All ground taken for road would score {anything:.3f}."
    why = f"{_KEPT}, since nothing was gained. {compared} {baseline} {_REDRAW}"
    _keep_start(setup, training, found, why, reporter)
    return why


def _keep_start(setup: Setup, training: Training, found: Validation, why: str, reporter: Reporter) -> None:
    """Make the base model's weights the outcome, and tell why."""
    assert setup.start.card is not None
    threshold = setup.start.card.threshold
    scores = found.confusion.scores(threshold)
    training.best_so_far = Trained(setup.start.base_weights, found.confusion, threshold, scores)
    training.history.notes.append(why)
    reporter.warning(why)


def _offset(grid: Grid, shift: tuple[int, int]) -> str:
    """Return the distance and direction on the ground of an offset in rows and columns."""
    ground = grid.metric_transform
    east_m, north_m = ground.a * shift[1] + ground.b * shift[0], ground.d * shift[1] + ground.e * shift[0]
    return f"about {math.hypot(east_m, north_m):.0f} m to the {direction(east_m, north_m)}"
