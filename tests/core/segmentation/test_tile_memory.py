import dataclasses

import pytest
import torch

from training_core.errors import ResourceError
from training_core.geodata.rasters import Band
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import NativeEngine, OpenvinoEngine
from training_core.segmentation import tile_memory
from training_core.segmentation.inference import Predictor


def predictor_of(encoder, precision="fp32", bands=1):
    unet = build_network(Architecture(encoder=encoder, in_channels=bands)).eval()
    return Predictor(unet, NativeEngine(precision), tuple(Band(str(number)) for number in range(bands)))


@pytest.fixture(scope="module")
def small():
    return predictor_of("resnet18")


def test_larger_models_and_numbers_and_more_bands_take_more(small):
    least = tile_memory.bytes_per_px(small)
    assert tile_memory.bytes_per_px(predictor_of("resnet50")) > 1.05 * least
    assert tile_memory.bytes_per_px(predictor_of("resnet18", bands=8)) > least + 7 * 8
    assert tile_memory.bytes_per_px(predictor_of("resnet18", "bf16")) < least
    assert tile_memory.bytes_per_px(dataclasses.replace(small, channels=9)) >= least + 8 * 4


def test_what_is_alive_grows_with_the_pixels_as_estimated(small):
    """Twice as many pixels in each direction: the activations of the largest layers are most of it."""
    estimated = tile_memory.bytes_per_px(small)
    with torch.inference_mode(), tile_memory.Ledger() as ledger:
        small.engine.forward(small.model, torch.zeros(1, 1, 256, 256))
    assert estimated == pytest.approx(tile_memory.GAPS * max(ledger.alive) / 256**2, rel=0.35)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_tiles_for_openvino_fit_as_well(precision):
    predictor = Predictor(None, OpenvinoEngine(precision), (Band("gray"),))
    side = tile_memory.core_px(predictor, 64, 10**9)
    assert side >= 512 and tile_memory.bytes_per_px(predictor) * (side + 128) ** 2 < 10**9


def test_tiles_grow_with_the_budget_and_shrink_with_the_halo(small):
    sides = [tile_memory.core_px(small, 128, int(gb * 1e9)) for gb in (0.7, 1, 2, 6, 500)]
    assert sides == sorted(sides) and sides[0] < sides[2] and sides[-1] == tile_memory.MAX_CORE_PX
    assert all(side % 32 == 0 for side in sides)
    assert tile_memory.core_px(small, 544, 2 * 10**9) < tile_memory.core_px(small, 32, 2 * 10**9)
    assert tile_memory.px(small, 10**9) == (10**9 - tile_memory.LIBRARY_BYTES) // tile_memory.bytes_per_px(small)
    for gb, side in zip((1, 2, 6), sides[1:]):
        assert tile_memory.LIBRARY_BYTES + tile_memory.bytes_per_px(small) * (side + 256) ** 2 <= gb * 1e9


def test_too_little_memory_is_refused_with_what_is_needed(small):
    with pytest.raises(ResourceError, match=r"smallest tiles need \d+\.\d GB of memory, but 0\.2 GB") as refusal:
        tile_memory.core_px(small, 544, 2 * 10**8)
    assert "memory_gb" in refusal.value.remedy and "halo" in refusal.value.remedy


def test_by_default_it_takes_a_quarter_of_what_is_free():
    assert 0 < tile_memory.default_budget_bytes() < 2**45
