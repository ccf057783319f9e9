import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.core.support.rasters import write_raster
from training_core.errors import ImageryError
from training_core.events import Progress, Reporter
from training_core.geodata.model_input import ModelInput, open_for_model
from training_core.geodata.rasters import Band
from training_core.models.architectures import Architecture, build_network
from training_core.segmentation.batch_statistics import BATCH_SIZE, CHIPS, batches, measure_statistics, read_chips

INPUT = ModelInput((Band("band 1", 100.0, 50.0),), 1.0)
RAW = ModelInput((Band("band 1", 0.0, 1.0),), 1.0)


def network():
    torch.manual_seed(0)
    return build_network(Architecture(encoder="resnet18", in_channels=1)).eval()


def noise(path, height=64, width=64, seed=0, **profile):
    values = np.random.default_rng(seed).integers(1, 255, (height, width), dtype=np.uint8)
    return write_raster(path, values, **profile), values


def chips_of(path, side_px=64, wanted=RAW):
    with open_for_model(path, wanted) as (image, bands):
        return list(read_chips(image, bands, side_px))


def test_the_statistics_are_those_of_one_pass_over_the_image(tmp_path):
    path, values = noise(tmp_path / "image.tif")
    model = network()
    model.encoder.bn1.running_mean.fill_(99)  # which must not remain
    assert measure_statistics(model, (path,), INPUT, Reporter(), 64) == 1
    normalized = (torch.from_numpy(values).double() - 100) / 50
    layer = functional.conv2d(normalized[None, None], model.encoder.conv1.weight.double(), stride=2, padding=3)[0]
    torch.testing.assert_close(model.encoder.bn1.running_mean.double(), layer.mean(dim=(1, 2)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.encoder.bn1.running_var.double(), layer.var(dim=(1, 2)), rtol=1e-4, atol=1e-5)
    assert not model.training and model.encoder.bn1.momentum == 0.1


def test_of_several_batches_the_statistics_are_the_mean(tmp_path):
    paths = [noise(tmp_path / f"{seed}.tif", seed=seed)[0] for seed in range(BATCH_SIZE)]
    brighter = np.full((64, 64), 200, dtype=np.uint8)
    paths += [write_raster(tmp_path / f"bright {number}.tif", brighter) for number in range(BATCH_SIZE)]
    halves = []
    for part in (paths[:BATCH_SIZE], paths[BATCH_SIZE:]):
        model = network()
        measure_statistics(model, tuple(part), INPUT, Reporter(), 64)
        halves.append(model.encoder.bn1.running_mean)
    model = network()
    assert measure_statistics(model, tuple(paths), INPUT, Reporter(), 64) == 2 * BATCH_SIZE
    torch.testing.assert_close(model.encoder.bn1.running_mean, sum(halves) / 2)


def test_chips_cover_the_image_and_have_one_size(tmp_path):
    values = np.arange(96 * 160, dtype=np.uint16).reshape(96, 160)
    chips = chips_of(write_raster(tmp_path / "image.tif", values))
    assert [chip.shape for chip in chips] == [(1, 64, 64)] * 6
    assert np.array_equal(np.unique(chips), np.unique(values))


def test_a_small_image_is_one_padded_chip(tmp_path):
    path, values = noise(tmp_path / "image.tif", 20, 40)
    (chip,) = chips_of(path)
    assert chip.shape == (1, 32, 64)
    assert np.array_equal(chip[0, :20, :40], values) and not chip[0, 20:].any() and not chip[0, :, 40:].any()


def test_chips_with_hardly_any_data_are_left_out(tmp_path):
    values = np.random.default_rng(0).integers(1, 255, (64, 192), dtype=np.uint8)
    values[:, 64:128], values[:, 128:150] = 0, 0
    path = write_raster(tmp_path / "image.tif", values, nodata=0)
    assert sorted(chip.max() > 0 for chip in chips_of(path)) == [True, True]


def test_images_without_data_or_of_a_single_deep_pixel_are_named(tmp_path):
    empty = write_raster(tmp_path / "empty.tif", np.zeros((64, 64), dtype=np.uint8), nodata=0)
    tiny, _ = noise(tmp_path / "tiny.tif", 32, 32)
    with pytest.raises(ImageryError, match="empty.tif and .*tiny.tif have hardly any data, or are too small"):
        measure_statistics(network(), (empty, tiny), INPUT, Reporter(), 64)


def test_a_batch_has_chips_of_one_size():
    sizes = [32, 32, 64, 32, 32, 64, 32]
    found = list(batches(np.full((1, side, side), number) for number, side in enumerate(sizes)))
    assert [batch[:, 0, 0, 0].tolist() for batch in found] == [[0, 1, 3, 4], [2, 5], [6]]


def test_however_many_and_large_the_images_the_chips_are_few(tmp_path):
    path, _ = noise(tmp_path / "image.tif", 700, 700)
    told = []
    assert measure_statistics(network(), (path,), INPUT, Reporter(told.append), 64) == CHIPS  # of 121
    assert [event.fraction for event in told if isinstance(event, Progress)][-1] == 1
    small, _ = noise(tmp_path / "small.tif", 64, 64)
    assert measure_statistics(network(), (small,) * 100, INPUT, Reporter(), 64) == 50  # every second one
