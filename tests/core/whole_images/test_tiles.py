import numpy as np
import pytest

from training_core.errors import JobError, ResourceError
from training_core.jobs import StepOptions
from training_core.learning.plan import Footprint, room_for
from training_core.models.architectures import Architecture
from training_core.models.engines import FP32, NativeEngine
from training_core.system.tensor_memory import GAPS
from training_core.whole_images import tiles as image_tiles
from training_core.whole_images.tiles import TilePlan, choose_tiles, plan_tiles

HALO_PX = 288
BYTES_PER_PX, RECOMPUTING_BYTES_PER_PX, FIXED_BYTES = 1000, 400, 10**9
# A pixel takes the same number of bytes everywhere.
KEPT, RECOMPUTED = (
    Footprint(FIXED_BYTES, 0, 0, np.zeros(1), np.array([slope / GAPS]), 0)
    for slope in (BYTES_PER_PX, RECOMPUTING_BYTES_PER_PX)
)
BOTH = {False: KEPT, True: RECOMPUTED}


def choose(most_px, *shapes, slope=BYTES_PER_PX, footprints=BOTH, ranks=1):
    """Return the tiles, and whether they recompute, where memory suffices for `most_px` pixels of so many bytes."""
    return choose_tiles(HALO_PX, footprints, shapes or ((2000, 2000),), FIXED_BYTES + most_px * slope, ranks)


def test_the_redundancy_by_hand():
    # 1024 px with padding less two halos are 960 px: two tiles a side, of 480 + 2 x 32 px.
    found = TilePlan(512, 32)
    assert found.redundancy(1000, 1000) == 4 * 544 * 544 / 10**6
    assert found.computed_px(1000, 1000, ranks=3) == 2 * 544 * 544
    assert found.redundancy(100, 50) == 128 * 64 / 5000


def test_an_image_is_one_tile_where_memory_suffices():
    chosen, is_recomputing = choose(2016 * 2016)
    assert chosen.tile_px(2000, 2000) == 2016 * 2016 and not is_recomputing


def test_tiles_are_as_large_as_recomputing_allows_where_memory_is_short():
    chosen, is_recomputing = choose(1400 * 1400)
    assert is_recomputing and chosen.redundancy(2000, 2000) < 1.1
    # 2016 px less two halos in two: 736 + 2 x 288 px a side.
    chosen, is_recomputing = choose(1400 * 1400, footprints={False: KEPT})
    assert not is_recomputing and chosen.redundancy(2000, 2000) == 4 * 1312 * 1312 / 2000**2


def test_recomputing_must_pay_for_itself():
    chosen, is_recomputing = choose(9024 * 9024, (9000, 9000), slope=RECOMPUTING_BYTES_PER_PX)
    # Four tiles of 4224 + 2 x 288 px a side: recomputing takes longer than the halos.
    assert not is_recomputing and chosen.redundancy(9000, 9000) == 4 * 4800 * 4800 / 9000**2
    forced, _ = choose(9024 * 9024, (9000, 9000), slope=RECOMPUTING_BYTES_PER_PX, footprints={True: RECOMPUTED})
    assert forced.redundancy(9000, 9000) == 9024 * 9024 / 9000**2


def test_ranks_share_tiles():
    assert choose(5100 * 5100, (5000, 5000))[0].computed_px(5000, 5000) == 5024 * 5024
    # As one tile, all of it would be one rank's.
    shared, _ = choose(5100 * 5100, (5000, 5000), ranks=2)
    assert shared.computed_px(5000, 5000, ranks=2) < 0.7 * 5024 * 5024


def test_no_tile_of_any_image_is_larger_than_memory():
    shapes = ((300, 9000), (4000, 4000), (100, 100))
    chosen, _ = choose(1300 * 1300, *shapes, slope=RECOMPUTING_BYTES_PER_PX)
    assert max(chosen.tile_px(*shape) for shape in shapes) <= 1300 * 1300


def test_a_refusal_tells_the_numbers():
    with pytest.raises(ResourceError, match=r"256 px with a halo of 288 px, need 1\.3 GB .* 1\.0 GB are available"):
        choose(0)


def test_the_plan_tells_the_largest_image_and_counts_the_exchange_of_gradients(monkeypatch):
    monkeypatch.setattr(image_tiles, "measure_footprint", lambda *arguments: BOTH[arguments[-1]])
    architecture, frozen = Architecture(encoder="resnet18"), StepOptions(batch_norm="frozen")
    room = room_for(architecture, ranks=2)
    plan = plan_tiles(architecture, NativeEngine(FP32), frozen, [(2000, 2000), (50, 50)], room)
    tiles = TilePlan(**plan.layout)
    assert f"{tiles.redundancy(2000, 2000):.2f} pixels" in str(plan) and f"{tiles.halo_px} px" in str(plan)
    slope = RECOMPUTING_BYTES_PER_PX if plan.is_recomputing else BYTES_PER_PX
    assert plan.peak_bytes == pytest.approx(FIXED_BYTES + room.exchange_bytes + tiles.tile_px(2000, 2000) * slope)
    with pytest.raises(JobError, match="live batch normalization"):
        plan_tiles(architecture, NativeEngine(FP32), StepOptions(), [(2000, 2000)], room)
