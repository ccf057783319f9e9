import pytest
from affine import Affine
from rasterio.crs import CRS

from training_core.geodata.grid import Grid
from training_core.geodata.model_input import ModelInput
from training_core.geodata.tiling import tile_grid
from training_core.models.engines import ENGINES, TRIAL_STEPS
from training_core.segmentation.tile_memory import MAX_TRIAL_SHARE, MIN_TRIAL_PX, trial_size
from training_core.segmentation.work_plan import ImagePlan

INPUT = ModelInput((), 1.0)
PLENTY_BYTES, VAST_PX = 64 * 10**9, 10**11


def image(width, height):
    return ImagePlan("image.tif", Grid(CRS.from_epsg(32633), Affine(1, 0, 0, 0, -1, 0), width, height), None, INPUT)


@pytest.mark.parametrize(("core_px", "halo_px"), [(2048, 128), (1024, 544), (512, 0)])
def test_where_there_is_much_to_do_it_is_the_tile(core_px, halo_px):
    first = next(tile_grid(9984, 4992, core_px, halo_px))
    _column, _row, width, height = first.read_window
    size = trial_size(image(9984, 4992), core_px, halo_px, VAST_PX, PLENTY_BYTES)
    assert size == (-(-height // 32) * 32, -(-width // 32) * 32)


def test_of_a_small_image_among_many_it_is_the_image():
    assert trial_size(image(300, 410), 2048, 128, VAST_PX, PLENTY_BYTES) == (416, 320)


@pytest.mark.parametrize("job_px", [2 * 10**7, 10**8, 3 * 10**8])
def test_a_trial_costs_a_small_share_of_the_job(job_px):
    height, width = trial_size(image(20000, 20000), 2048, 128, job_px, PLENTY_BYTES)
    steps = (TRIAL_STEPS + 1) * len(ENGINES)
    assert 0.7 * MAX_TRIAL_SHARE * job_px < steps * height * width <= MAX_TRIAL_SHARE * job_px
    assert height % 32 == width % 32 == 0


def test_a_smaller_one_has_the_proportions_of_the_tile():
    height, width = trial_size(image(1024, 4096), 4096, 0, 3 * 10**8, PLENTY_BYTES)
    assert width / height == pytest.approx(0.25, rel=0.15)


def test_a_small_job_has_no_trial():
    least_px = MIN_TRIAL_PX * (TRIAL_STEPS + 1) * len(ENGINES) / MAX_TRIAL_SHARE
    assert trial_size(image(4096, 4096), 2048, 128, int(0.99 * least_px), PLENTY_BYTES) is None
    assert trial_size(image(4096, 4096), 2048, 128, int(1.01 * least_px), PLENTY_BYTES) == (256, 256)


def test_it_fits_into_the_memory():
    height, width = trial_size(image(20000, 20000), 2048, 128, VAST_PX, 10**9)
    assert 256 < width < 2304 and 420 * height * width < 10**9
    assert trial_size(image(20000, 20000), 2048, 128, VAST_PX, 10**8) is None
