import numpy as np
import pytest

from training_core.errors import JobError, ResourceError
from training_core.jobs import StepOptions
from training_core.learning.training_memory import Footprint, max_bytes
from training_core.learning.whole_images import tiles as image_tiles
from training_core.learning.whole_images.tiles import TilePlan, plan_tiles
from training_core.models.architectures import Architecture
from training_core.models.engines import FP32, NativeEngine
from training_core.system.tensor_memory import GAPS

ARCHITECTURE = Architecture(encoder="resnet18")
HALO_PX = 288
FROZEN = StepOptions(batch_norm="frozen")
BYTES_PER_PX, RECOMPUTING_BYTES_PER_PX, FIXED_BYTES, EXCHANGE_BYTES = 1000, 400, 10**9, 10**8


@pytest.fixture
def room(monkeypatch):
    """Return a function that lets a process have so much memory; a pixel takes the same number of bytes everywhere."""

    def footprint(architecture, engine, recipe, is_recomputing):
        slope = RECOMPUTING_BYTES_PER_PX if is_recomputing else BYTES_PER_PX
        return Footprint(FIXED_BYTES, 0, 0, np.zeros(1), np.array([slope / GAPS]), 0)

    monkeypatch.setattr(image_tiles, "measure_footprint", footprint)
    monkeypatch.setattr(image_tiles, "exchange_bytes", lambda architecture, ranks: EXCHANGE_BYTES * (ranks > 1))
    monkeypatch.setattr(image_tiles, "image_halo_px", lambda architecture: HALO_PX)
    return lambda size: monkeypatch.setattr(image_tiles, "max_bytes", lambda processes: size // processes)


def plan(*shapes, recipe=FROZEN, **others):
    said = []
    chosen = plan_tiles(ARCHITECTURE, NativeEngine(FP32), recipe, shapes or ((2000, 2000),), said.append, **others)
    return chosen, said[0]


def test_the_redundancy_by_hand():
    # 1024 px with padding less two halos are 960 px: two tiles a side, of 480 + 2 x 32 px.
    found = TilePlan(512, 32)
    assert found.redundancy(1000, 1000) == 4 * 544 * 544 / 10**6
    assert found.computed_px(1000, 1000, ranks=3) == 2 * 544 * 544
    assert found.redundancy(100, 50) == 128 * 64 / 5000


def test_where_memory_suffices_an_image_is_one_tile(room):
    room(FIXED_BYTES + 2016 * 2016 * BYTES_PER_PX)
    chosen, said = plan()
    assert chosen.tile_px(2000, 2000) == 2016 * 2016 and not chosen.is_recomputing
    assert chosen.peak_bytes == FIXED_BYTES + 2016 * 2016 * BYTES_PER_PX
    assert "2000 x 2000 px" in said and "1.02 pixels" in said and "5.1 GB" in said


def test_where_memory_is_short_tiles_are_as_large_as_recomputing_allows(room):
    room(FIXED_BYTES + 1400 * 1400 * BYTES_PER_PX)
    kept, _ = plan(recipe=StepOptions(batch_norm="frozen", recompute="no"))
    chosen, said = plan()
    assert chosen.is_recomputing and "recomputing" in said and chosen.redundancy(2000, 2000) < 1.1
    # 2016 px less two halos in two: 736 + 2 x 288 px a side.
    assert not kept.is_recomputing and kept.redundancy(2000, 2000) == 4 * 1312 * 1312 / 2000**2
    assert kept.peak_bytes == FIXED_BYTES + 1312 * 1312 * BYTES_PER_PX


def test_recomputing_must_pay_for_itself(room):
    room(FIXED_BYTES + 9024 * 9024 * RECOMPUTING_BYTES_PER_PX)
    chosen, _ = plan((9000, 9000))
    # Four tiles of 4224 + 2 x 288 px a side: recomputing takes longer than the halos.
    assert not chosen.is_recomputing and chosen.redundancy(9000, 9000) == 4 * 4800 * 4800 / 9000**2
    forced, _ = plan((9000, 9000), recipe=StepOptions(batch_norm="frozen", recompute="yes"))
    assert forced.is_recomputing and forced.redundancy(9000, 9000) == 9024 * 9024 / 9000**2


def test_ranks_share_tiles_and_memory(room):
    room(2 * (FIXED_BYTES + EXCHANGE_BYTES + 2816 * 2816 * BYTES_PER_PX))
    alone, _ = plan((5000, 5000))
    shared, _ = plan((5000, 5000), ranks=2, processes=2)
    assert alone.computed_px(5000, 5000) == 4 * 2816 * 2816  # of 2240 + 2 x 288 px a side
    assert shared.computed_px(5000, 5000, ranks=2) == 2 * 2816 * 2816 and not shared.is_recomputing
    assert shared.peak_bytes == FIXED_BYTES + EXCHANGE_BYTES + 2816 * 2816 * BYTES_PER_PX
    room(2 * (FIXED_BYTES + 5100 * 5100 * BYTES_PER_PX))
    assert plan((5000, 5000))[0].computed_px(5000, 5000) == 5024 * 5024
    # As one tile, all of it would be one rank's.
    assert plan((5000, 5000), ranks=2)[0].computed_px(5000, 5000, ranks=2) < 0.7 * 5024 * 5024


def test_no_tile_of_any_image_is_larger_than_memory(room):
    room(FIXED_BYTES + 1300 * 1300 * RECOMPUTING_BYTES_PER_PX)
    shapes = ((300, 9000), (4000, 4000), (100, 100))
    chosen, _ = plan(*shapes)
    assert max(chosen.tile_px(*shape) for shape in shapes) <= 1300 * 1300
    assert chosen.peak_bytes <= FIXED_BYTES + 1300 * 1300 * RECOMPUTING_BYTES_PER_PX


def test_where_no_tile_fits_the_numbers_are_told(room):
    room(FIXED_BYTES)
    with pytest.raises(ResourceError, match=r"256 px with a halo of 288 px, need 1\.3 GB .* 1\.0 GB are available"):
        plan()


def test_live_batch_normalization_is_refused():
    with pytest.raises(JobError, match="live batch normalization"):
        plan_tiles(ARCHITECTURE, NativeEngine(FP32), StepOptions(), ((2000, 2000),), print)


def test_a_footprint_tells_how_many_pixels_fit():
    footprint = Footprint(100, 20, 3, np.array([50.0, 10.0]), np.array([1.0, 8.0]), 2)
    most_px = footprint.most_px(10_000)
    assert footprint.peak_bytes(1, most_px**0.5) <= 10_000 < footprint.peak_bytes(1, (most_px + 1) ** 0.5)
    assert footprint.most_px(100) == 0


def test_processes_share_the_memory(monkeypatch):
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "3")
    monkeypatch.setattr("training_core.learning.training_memory.available_bytes", lambda: 10**12)
    assert [max_bytes(), max_bytes(3)] == [3 * 10**9, 10**9]
