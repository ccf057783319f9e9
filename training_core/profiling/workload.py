"""A workload: a model and an image, from which training steps and tiles to segment are made, with any options.

Scope: what a step needs. Independent of how it is measured; files are read by the caller.
"""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasters import Band, Image
from ..geodata.tiling import round_up, tile_grid
from ..jobs import INFERENCE, Profile
from ..jobs.recipe import USUAL_CHIP_PX
from ..labels.labeled_images import LabeledImage
from ..learning.training_memory import plan_memory
from ..models.architectures import Architecture
from ..models.engines import Engine, make_engine
from ..models.onnx_file import OnnxModel
from ..segmentation.inference import Predictor
from .profile import Run
from .subjects import InferenceSteps, Subject, TrainingSteps

# Chips are drawn from a part of the image of so many times their side.
_CHIPS_A_SIDE = 4
# Labels do not change how long a step takes: stripes stand for roads.
_STRIPE_PX, _STRIPES_APART_PX = 8, 40
_TRIAL_WARM_UP, _TRIAL_STEPS = 3, 5


@dataclass(frozen=True)
class Workload:
    """What steps are made from.

    Parameters
    ----------
    job : Profile
        With a number of threads.
    model : Module or OnnxModel
        Copied for each subject.
    image : Image
        Open, at the model's resolution.
    bands : tuple of Band
        How its values are normalized.
    """

    job: Profile
    model: nn.Module | OnnxModel
    architecture: Architecture
    image: Image
    bands: tuple[Band, ...]

    @contextmanager
    def subject(
        self, what: str, engine: Engine, options: Mapping[str, Any], reporter: Reporter
    ) -> Iterator[tuple[Subject, dict[str, Any]]]:
        """Make a subject, and end its data thread at the end.

        Parameters
        ----------
        what : str
            training or inference.
        options : dict
            Options of the job that are changed.

        Yields
        ------
        subject : Subject
        options : dict
            Those of its steps.

        Raises
        ------
        ImageryError
            The image has no data to work on.
        ResourceError
            There is too little memory.
        """
        job = dataclasses.replace(self.job, **options)
        torch.set_num_threads(job.threads)
        make = self._inference if what == INFERENCE else self._training
        subject, settled = make(job, engine, reporter)
        with closing(subject):
            yield subject, settled

    def _training(self, job: Profile, engine: Engine, reporter: Reporter) -> tuple[Subject, dict[str, Any]]:
        grid = self.image.grid
        chip_px = round_up(min(job.chip_px or USUAL_CHIP_PX, max(grid.width, grid.height)))
        memory = plan_memory(self.architecture, engine, job, chip_px, reporter.log)
        model = copy.deepcopy(self.model)
        if memory.is_recomputing:
            from ..models.recompute import recompute_activations  # loads the library of the U-Net

            recompute_activations(model)
        names = ("batch_size", "accumulation", "optimizer", "averaging", "frozen_stages", "batch_norm")
        settled = {name: getattr(job, name) for name in names}
        settled |= {"chip_px": chip_px, "recompute": "yes" if memory.is_recomputing else "no"}
        return TrainingSteps(model, engine, job, [self._labeled(_CHIPS_A_SIDE * chip_px)], chip_px), settled

    def _inference(self, job: Profile, engine: Engine, reporter: Reporter) -> tuple[Subject, dict[str, Any]]:
        grid = self.image.grid
        tiles = list(tile_grid(grid.width, grid.height, round_up(job.tile_px), 0))
        width, height = tiles[0].read_window[2:]
        channels = self.architecture.classes
        prepared = engine.prepare_inference(copy.deepcopy(self.model))
        engine.expect(prepared, (1, len(self.bands), round_up(height), round_up(width)))
        predictor = Predictor(prepared, engine, self.bands, channels=channels, name=job.model)
        size_px = round_up(max(width, height))
        return InferenceSteps(predictor, self.image.read, tiles, size_px), {"tile_px": size_px}

    def _labeled(self, side_px: int) -> LabeledImage:
        """Return the middle of the image with stripes for roads."""
        grid = self.image.grid
        width, height = min(side_px, grid.width), min(side_px, grid.height)
        column, row = (grid.width - width) // 2, (grid.height - height) // 2
        values, known = self.image.read(column, row, width, height)
        if not known.any():
            raise ImageryError(f"{self.image.name} has no data in its middle.", "Choose another image, or none.")
        is_road = np.arange(height)[:, None] % _STRIPES_APART_PX < _STRIPE_PX
        labels = np.where(is_road, ROAD, BACKGROUND).astype(np.uint8) * np.ones((1, width), dtype=np.uint8)
        labels[~known] = IGNORE
        place = Grid(grid.crs, grid.transform, width, height)
        nothing = np.full_like(labels, IGNORE)
        return LabeledImage(self.image.name, place, values, known, labels, nothing, self.bands)

    def image_s(self, run: Run, options: Mapping[str, Any], reporter: Reporter) -> float:
        """Return how long an image of a run takes with some options changed, in seconds, by the fastest of a few steps.

        What else the machine does only makes steps slower.

        Parameters
        ----------
        options : dict
            Options of the job, engine and precision among them.

        Returns
        -------
        float
            For images of another size, in proportion to their pixels.
        """
        rest = {name: value for name, value in options.items() if name not in ("engine", "precision")}
        engine = make_engine(options.get("engine", run.engine), options.get("precision", run.precision))
        times_s: list[float] = []
        with self.subject(run.what, engine, rest, reporter.silent()) as (subject, _):
            for number in range(_TRIAL_WARM_UP + _TRIAL_STEPS):
                reporter.check_cancelled()
                began_s = time.perf_counter()
                subject.step()
                times_s += [time.perf_counter() - began_s] if number >= _TRIAL_WARM_UP else []
            return min(times_s) / subject.batch_size * (run.size_px / subject.size_px) ** 2
