"""Cases of a profile: the model and the image to work on, and which tasks are profiled with which engines.

Scope: what a job asks for. Independent of how time is measured.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import rasterio
from torch import nn

from ..errors import JobError
from ..events import Reporter
from ..geodata.model_input import IMAGE, ModelInput, open_for_model
from ..geodata.rasters import Band, choose_bands, open_raster
from ..geodata.tiling import round_up
from ..jobs import ALL, BOTH, INFERENCE, TRAINING, Profile
from ..models import engines
from ..models.architectures import Architecture, build_network
from ..models.loading import load_model
from ..models.onnx_file import OnnxModel
from ..scenes.scene import SCENE_CRS, make_scene
from ..system import processor
from .subjects import Workload

# A scene of this size, and of ground resolutions within this range, in meters; repeated for larger tiles.
_SCENE_PX, _SCENE_SEED, _SCENE_M = 1024, 1, (0.25, 1.0)


@contextmanager
def open_workload(job: Profile, reporter: Reporter) -> Iterator[Workload]:
    """Yield the job's model and image; without an image a generated scene, without a model random weights."""
    loaded = load_model(job.model) if job.model else None
    resolution_m = loaded[1].resolution_m if loaded else _SCENE_M[0]
    with _image_path(job, min(max(resolution_m, _SCENE_M[0]), _SCENE_M[1]), reporter) as path:
        wanted = loaded[1].input if loaded else _all_bands(path)
        with open_for_model(path, wanted) as (image, bands):
            if loaded:
                model, architecture = loaded[0], loaded[1].architecture
            else:
                architecture = Architecture(in_channels=len(bands))
                model = build_network(architecture)
            yield Workload(job, model, architecture, image, bands)


def _all_bands(path: str) -> ModelInput:
    """Return the input of a model that takes all bands of an image, at its own resolution."""
    with open_raster(path) as dataset:
        names = choose_bands(dataset, ()).values()
    return ModelInput(tuple(Band(name, 0.0, 1.0) for name in names), 0.0, IMAGE)


@contextmanager
def _image_path(job: Profile, scene_m: float, reporter: Reporter) -> Iterator[str]:
    """Yield the image's path; a generated scene, of this ground resolution in meters, is a temporary file."""
    if job.raster:
        yield job.raster
        return
    reporter.progress(0, "Painting a scene")
    scene = make_scene(_SCENE_PX, _SCENE_SEED, scene_m)
    side_px = round_up(max(_SCENE_PX, job.tile_px))
    times = -(-side_px // _SCENE_PX)
    pixels = np.tile(scene.image, (1, times, times))[:, :side_px, :side_px]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = str(Path(folder, "generated scene.tif"))
        shape = {"count": len(pixels), "width": side_px, "height": side_px, "dtype": pixels.dtype}
        place = {"crs": SCENE_CRS, "transform": scene.transform, "photometric": "rgb"}
        with rasterio.open(path, "w", driver="GTiff", tiled=True, **shape, **place) as dataset:
            dataset.write(pixels)
        yield path


def cases_of(workload: Workload, reporter: Reporter) -> list[tuple[str, engines.Engine]]:
    """Return what is profiled, in order, each with its engine.

    Raises
    ------
    JobError
        The engine asked for cannot be used, or the model cannot be trained.
    """
    job, model = workload.job, workload.model
    if job.what != INFERENCE and isinstance(model, OnnxModel):
        raise JobError(
            f"{job.model} is an ONNX model, which cannot be trained.",
            f"Choose {INFERENCE} as what to profile (what), or a .safetensors file.",
        )
    cases = []
    for what in (TRAINING, INFERENCE) if job.what == BOTH else (job.what,):
        able = engines.TRAINING if what == TRAINING else engines.engines_for(model)
        for name in _engine_names(job, able, reporter):
            for precision in _precisions(job, model):
                cases.append((what, engines.choose_engine(name, precision, able, log=reporter.log)))
    return cases


def _engine_names(job: Profile, able: Iterable[str], reporter: Reporter) -> list[str]:
    if job.engine != ALL:
        return [next(iter(able)) if job.engine == engines.AUTO else job.engine]
    obstacles = {name: engines.why_not(name) for name in able}
    for name, obstacle in obstacles.items():
        if obstacle and name != engines.NATIVE:
            reporter.warning(f"The engine {name} is not profiled: {obstacle}.")
    return [name for name, obstacle in obstacles.items() if not obstacle]


def _precisions(job: Profile, model: nn.Module | OnnxModel) -> list[str]:
    if isinstance(model, OnnxModel) and model.is_quantized:
        return [engines.INT8]
    if job.precision != ALL:
        return [engines.choose_precision(job.precision, lambda _: None)]
    return [engines.BF16, engines.FP32] if processor.has_bf16_unit() else [engines.FP32]
