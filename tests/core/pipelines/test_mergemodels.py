from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.core.support.rasters import write_raster
from training_core.errors import ImageryError, JobError, ModelFileError
from training_core.events import Log, Reporter, Warning
from training_core.geodata.rasters import Band
from training_core.jobs import Evaluate, FineTune, MergeModels
from training_core.models.loading import load_network, load_weights
from training_core.models.model_file import save_compact_model, save_model, weights_sha256
from training_core.models.onnx_file import export_onnx, save_onnx
from training_core.pipelines import evaluate, finetune, mergemodels

pytestmark = pytest.mark.usefixtures("enough_memory")

BASE = {"base_model": "model.safetensors", "base_sha256": "ab" * 32}


def office(path, planted, seed, **changes):
    """Write a model that has moved a little from the planted one; return its weights."""
    weights, card = load_weights(planted)
    noise = torch.Generator().manual_seed(seed)
    weights = {
        name: tensor + 0.01 * torch.rand(tensor.shape, generator=noise) if tensor.is_floating_point() else tensor
        for name, tensor in weights.items()
    }
    save_model(path, weights, replace(card, **{"training": {**BASE, "labeled_px": 1000}, **changes}))
    return weights


@pytest.fixture(scope="module")
def offices(planted, tmp_path_factory):
    """Two models, the eastern one from three times as many pixels; do not write there."""
    folder = tmp_path_factory.mktemp("offices")
    paths = [str(folder / f"{name}.safetensors") for name in ("west", "east")]
    office(Path(paths[0]), planted, 1)
    office(Path(paths[1]), planted, 2, training={**BASE, "labeled_px": 3000}, threshold=0.7)
    return tuple(paths)


def merge(folder, models, reporter=None, **options):
    """Merge models; return the result, the weights and the card."""
    path = str(folder / "merged.safetensors")
    job = MergeModels(**{"models": models, "model": path, "threads": 1, **options})
    return mergemodels.run(job, reporter or Reporter()), *load_weights(path)


def warnings_in(told):
    return [event.message for event in told if isinstance(event, Warning)]


def test_a_model_weighs_as_much_as_its_labeled_pixels(offices, tmp_path):
    told = []
    result, merged, card = merge(tmp_path, offices, Reporter(told.append))
    west, east = (load_weights(path)[0] for path in offices)
    for name in ("encoder.conv1.weight", "decoder.blocks.4.conv2.0.weight", "encoder.bn1.running_var"):
        torch.testing.assert_close(merged[name], 0.25 * west[name] + 0.75 * east[name])
    assert result["shares"] == [0.25, 0.75] and card.metrics == {}
    assert result["threshold"] == card.threshold == pytest.approx(0.65)  # 0.25 * 0.5 + 0.75 * 0.7
    assert (result["chips"], card.training["chips"], card.training["statistics_of"]) == (0, 0, [])
    assert ["no images" in text for text in warnings_in(told)] == [True]
    assert any("west.safetensors: 25.0%" in event.message for event in told if isinstance(event, Log))


def test_statistics_are_measured_on_the_images_and_nothing_else_changes(offices, town, tmp_path):
    (tmp_path / "without").mkdir()
    told = []
    result, measured, card = merge(tmp_path, offices, Reporter(told.append), rasters=(town.raster,))
    averaged = merge(tmp_path / "without", offices)[1]
    changed = {name for name in averaged if not torch.equal(averaged[name], measured[name])}
    assert {name.rpartition(".")[2] for name in changed} == {"running_mean", "running_var", "num_batches_tracked"}
    assert result["chips"] == card.training["chips"] == 1 and card.training["statistics_of"] == ["town.tif"]
    assert not warnings_in(told)


def test_a_model_merged_with_itself_stays_and_is_warned_of(offices, tmp_path):
    told = []
    _, merged, _ = merge(tmp_path, (offices[0], offices[0]), Reporter(told.append))
    weights, _ = load_weights(offices[0])
    assert all(torch.equal(merged[name], tensor) for name, tensor in weights.items())
    assert "same weights" in warnings_in(told)[0]


def test_models_of_other_normalizations_are_averaged_as_functions(planted, tmp_path):
    paths = [tmp_path / "dark.safetensors", tmp_path / "bright.safetensors"]
    office(paths[0], planted, 1)
    office(paths[1], planted, 1, bands=tuple(Band(name, 110.0, 50.0) for name in ("red", "green", "blue")))
    _, merged, card = merge(tmp_path, tuple(map(str, paths)))
    values = torch.rand(1, 3, 40, 40) * 255

    def first_layer(path):
        network, card = load_network(str(path))
        normalized = (values - card.bands[0].mean) / card.bands[0].std
        with torch.inference_mode():
            return network.encoder.conv1(normalized)[..., 2:-2, 2:-2] - network.encoder.bn1.running_mean[:, None, None]

    assert (card.bands[0].mean, card.bands[0].std) == pytest.approx((95, (0.5 * (1600 + 2500) + 15**2) ** 0.5))
    expected = (first_layer(paths[0]) + first_layer(paths[1])) / 2
    torch.testing.assert_close(first_layer(tmp_path / "merged.safetensors"), expected, rtol=1e-4, atol=1e-4)
    assert merged.keys() == load_weights(planted)[0].keys()


@pytest.mark.slow
def test_fine_tuned_models_know_their_base_and_merge_and_are_then_evaluated(town, planted, tmp_path):
    recipe = {"steps": 2, "batch_size": 2, "chip_px": 64, "engine": "native", "threads": 1, "precision": "fp32"}
    models = tuple(str(tmp_path / f"{seed}.safetensors") for seed in range(2))
    for seed, model in enumerate(models):
        finetune.run(FineTune(**town.labeled, **recipe, base_model=planted, model=model, seed=seed), Reporter())
    told = []
    result, _, card = merge(tmp_path, models, Reporter(told.append), rasters=(town.raster,))
    assert card.training["base_sha256"] == weights_sha256(load_weights(planted)[0])
    assert result["shares"] == [0.5, 0.5] and not warnings_in(told)
    assert card.training["labeled_px"] == 2 * 2 * 2 * 64**2  # two models, two steps of two chips
    scores = evaluate.run(
        Evaluate(**town.labeled, model=result["model"], engine="native", precision="fp32", threads=1), Reporter()
    )
    assert 0 < scores["pixel"]["f1"] < 1
    (tmp_path / "again").mkdir()
    assert merge(tmp_path / "again", (result["model"], models[0]))[0]["shares"] == pytest.approx([2 / 3, 1 / 3])


def test_the_digest_of_a_base_is_that_of_its_numbers(planted, tmp_path):
    weights, card = load_weights(planted)
    save_compact_model(tmp_path / "compact.safetensors", weights, card)
    compact, _ = load_weights(str(tmp_path / "compact.safetensors"))
    save_model(tmp_path / "expanded.safetensors", compact, replace(card, threshold=0.9))
    expanded, _ = load_weights(str(tmp_path / "expanded.safetensors"))
    assert weights_sha256(compact) == weights_sha256(expanded) != weights_sha256(weights)
    assert weights_sha256(dict(reversed(weights.items()))) == weights_sha256(weights)


def refused(folder, models, kind=ModelFileError, **options):
    with pytest.raises(kind) as error:
        merge(folder, models, **options)
    assert error.value.remedy and not (folder / "merged.safetensors").exists()
    return str(error.value)


def test_what_cannot_be_merged_is_refused_by_name(offices, planted, town, tmp_path):
    other = str(tmp_path / "other.safetensors")
    office(Path(other), planted, 3, training={"base_model": "model.safetensors", "base_sha256": "cd" * 32})
    message = refused(tmp_path, (offices[0], offices[1], other))
    assert offices[0] in message and other in message and "base models" in message
    assert planted in refused(tmp_path, (offices[0], planted))  # it was trained from random weights
    network, card = load_network(offices[0])
    save_onnx(tmp_path / "west.onnx", export_onnx(network), card, 0)
    assert "merged" in refused(tmp_path, (offices[1], str(tmp_path / "west.onnx")))
    assert "nowhere.safetensors" in refused(tmp_path, (offices[0], str(tmp_path / "nowhere.safetensors")))
    pan = write_raster(tmp_path / "pan.tif", torch.zeros(64, 64, dtype=torch.uint8).numpy() + 1)
    assert "pan.tif" in refused(tmp_path, offices, ImageryError, rasters=(pan,))


def test_a_model_that_does_not_say_what_it_learned_from_needs_a_weight(offices, planted, tmp_path):
    path = str(tmp_path / "silent.safetensors")
    office(Path(path), planted, 3, training=BASE)
    assert path in refused(tmp_path, (offices[0], path), JobError)
    assert merge(tmp_path, (offices[0], path), weights=(1.0, 1.0))[0]["shares"] == [0.5, 0.5]


def test_the_same_models_and_images_give_the_same_file(offices, town, tmp_path):
    written = []
    for _ in range(2):
        merge(tmp_path, offices, rasters=(town.raster,))
        written.append((tmp_path / "merged.safetensors").read_bytes())
    assert written[0] == written[1]
