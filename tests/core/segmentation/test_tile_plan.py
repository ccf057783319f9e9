"""What fits: tiles, the trial of engines; and what a model takes for a pixel."""

import dataclasses

import pytest
import torch
from affine import Affine
from rasterio.crs import CRS

from training_core.errors import ResourceError
from training_core.geodata.grid import Grid
from training_core.geodata.rasters import Band, ModelInput
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import NativeEngine, OpenvinoEngine
from training_core.segmentation.inference import Predictor
from training_core.segmentation.measured import bytes_per_px
from training_core.segmentation.work_plan import (
    LIBRARY_BYTES,
    MAX_CORE_PX,
    MAX_TRIAL_SHARE,
    MIN_TRIAL_PX,
    ImagePlan,
    plan_tiles,
    trial_size,
)
from training_core.system.tensor_memory import GAPS, Ledger

PLENTY_BYTES, VAST_PX, PASSES = 64 * 10**9, 10**11, 12


def predictor_of(encoder, precision="fp32", bands=1):
    unet = build_network(Architecture(encoder=encoder, in_channels=bands)).eval()
    return Predictor(unet, NativeEngine(precision), tuple(Band(str(number)) for number in range(bands)))


def test_larger_models_and_numbers_and_more_bands_take_more():
    small = predictor_of("resnet18")
    least = bytes_per_px(small)
    assert bytes_per_px(predictor_of("resnet50")) > 1.05 * least
    assert bytes_per_px(predictor_of("resnet18", bands=8)) > least + 7 * 8
    assert bytes_per_px(predictor_of("resnet18", "bf16")) < least
    assert bytes_per_px(dataclasses.replace(small, channels=9)) >= least + 8 * 4
    # Twice as many pixels in each direction: the activations of the largest layers are most of it.
    with torch.inference_mode(), Ledger() as ledger:
        small.engine.forward(small.model, torch.zeros(1, 1, 256, 256))
    assert least == pytest.approx(GAPS * max(ledger.alive) / 256**2, rel=0.35)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_tiles_for_openvino_fit_as_well(precision):
    needed = bytes_per_px(Predictor(None, OpenvinoEngine(precision), (Band("gray"),)))
    tiles = plan_tiles(needed, 64, 10**9)
    assert tiles.core_px >= 512 and needed * tiles.px < 10**9


def test_tiles_grow_with_the_budget_and_shrink_with_the_halo():
    budgets = [int(gb * 1e9) for gb in (0.7, 1, 2, 6, 500)]
    sides = [plan_tiles(900, 128, budget).core_px for budget in budgets]
    assert sides == sorted(sides) and sides[0] < sides[2] and sides[-1] == MAX_CORE_PX
    assert all(side % 32 == 0 for side in sides)
    assert plan_tiles(900, 544, 2 * 10**9).core_px < plan_tiles(900, 32, 2 * 10**9).core_px
    assert plan_tiles(900, 128, 10**9).budget_px == (10**9 - LIBRARY_BYTES) // 900
    assert all(LIBRARY_BYTES + 900 * plan_tiles(900, 128, each).px <= each for each in budgets)
    assert plan_tiles(900, 128, 10**9, asked_px=4096).core_px == 4096


def test_too_little_memory_is_refused_with_what_is_needed():
    with pytest.raises(ResourceError, match=r"smallest tiles need 1\.7 GB of memory, but 0\.2 GB") as refusal:
        plan_tiles(900, 544, 2 * 10**8)
    assert "memory_gb" in refusal.value.remedy and "halo" in refusal.value.remedy


@pytest.mark.parametrize(
    ("size", "core_px", "halo_px", "expected"),
    [((300, 410), 2048, 128, (416, 320)), ((9984, 4992), 512, 0, (512, 512)), ((9984, 4992), 1024, 544, (2080, 2080))],
)
def test_a_tile_has_one_size_and_that_of_a_small_image_is_the_image(size, core_px, halo_px, expected):
    grid = Grid(CRS.from_epsg(32633), Affine(1, 0, 0, 0, -1, 0), *size)
    image = ImagePlan("image.tif", grid, None, ModelInput((), 1.0), grid)
    assert image.tile_size(core_px, halo_px) == expected
    assert trial_size(expected, VAST_PX, PASSES, PLENTY_BYTES, 840) == expected  # where there is much to do


@pytest.mark.parametrize("job_px", [2 * 10**7, 3 * 10**8])
def test_a_trial_costs_a_small_share_of_the_job_and_keeps_the_proportions(job_px):
    height, width = trial_size((4096, 1024), job_px, PASSES, PLENTY_BYTES, 840)
    assert 0.7 * MAX_TRIAL_SHARE * job_px < PASSES * height * width <= MAX_TRIAL_SHARE * job_px
    assert height % 32 == width % 32 == 0 and width / height == pytest.approx(0.25, rel=0.15)


def test_a_small_job_has_no_trial_and_a_trial_fits_into_the_memory():
    least_px = MIN_TRIAL_PX * PASSES / MAX_TRIAL_SHARE
    assert trial_size((2304, 2304), int(0.99 * least_px), PASSES, PLENTY_BYTES, 840) is None
    assert trial_size((2304, 2304), int(1.01 * least_px), PASSES, PLENTY_BYTES, 840) == (256, 256)
    height, width = trial_size((2304, 2304), VAST_PX, PASSES, 10**9, 840)
    assert 256 < width < 2304 and 840 * height * width < 10**9
    assert trial_size((2304, 2304), VAST_PX, PASSES, 10**8, 840) is None
