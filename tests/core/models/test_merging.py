from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from training_core.errors import ImageryError, ModelFileError
from training_core.geodata.rasters import IMAGE, Band
from training_core.geodata.road_classes import RoadClass
from training_core.models.architectures import NARROW_DECODER_CHANNELS, Architecture, build_network
from training_core.models.merging import (
    BATCH_SIZE,
    average_weights,
    check_mergeable,
    common_bands,
    learned_px,
    measure_statistics,
    merged_card,
)
from training_core.models.model_card import ModelCard

BANDS = (Band("red", 80.0, 40.0), Band("nir", 300.0, 100.0))
BASE = {"base_model": "base.safetensors", "base_sha256": "ab" * 32}
CARD = ModelCard(Architecture(encoder="resnet18", in_channels=2), BANDS, 0.5, training=BASE)


def constant(value, count):
    return {"weight": torch.full((2, 3), value), "count": torch.tensor(count)}


def test_the_average_of_constants_is_their_weighted_mean():
    merged = average_weights([(0.25, constant(1.0, 7)), (0.75, constant(3.0, 5))])
    assert merged["weight"].tolist() == [[2.5] * 3] * 2  # 0.25 * 1 + 0.75 * 3
    assert merged["weight"].dtype == torch.float32 and merged["count"] == torch.tensor(7)


@pytest.mark.parametrize(
    ("training", "expected_px"),
    [
        ({"labeled_px": 1000, "steps": 2, "batch_size": 2, "accumulation": 1}, 1000),
        ({"labeled_px": 10**6, "steps": 2, "batch_size": 2, "accumulation": 1}, 4096),  # four chips of 32 x 32
        ({"labeled_px": 10**6, "steps": 2, "batch_size": 2, "accumulation": 3}, 12288),
        ({"labeled_px": 10**6}, 10**6),
        ({"labeled_px": 10**6, "steps": "all"}, 10**6),
        ({}, 0),
        ({"labeled_px": -5}, 0),
        ({"labeled_px": True}, 0),
        ({"labeled_px": 1.5}, 0),
        ({"labeled_px": 10**400}, 0),
    ],
)
def test_a_model_weighs_what_it_can_have_seen(training, expected_px):
    assert learned_px(replace(CARD, chip_px=32, training=training)) == expected_px


def refusal(**changes):
    with pytest.raises(ModelFileError) as refused:
        check_mergeable(("west.safetensors", CARD), ("east.safetensors", replace(CARD, **changes)))
    assert refused.value.remedy
    return refused.value.message


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("encoders differ ('resnet18'; 'resnet34')", {"architecture": Architecture(encoder="resnet34", in_channels=2)}),
        ("decoders differ ((256, 128, 64, 32, 16); (128, 64, 48, 32, 16))",
         {"architecture": replace(CARD.architecture, decoder_channels=NARROW_DECODER_CHANNELS)}),
        ("bands differ (('red', 'nir'); ('nir', 'red'))", {"bands": BANDS[::-1]}),
        ("classes differ ([]; ['track 20 km/h'])", {"classes": (RoadClass("track", 20.0),)}),
        ("normalizations differ ('model'; 'image')", {"scaling": IMAGE}),
        ("ground resolutions differ (0.5 m; 0.6 m)", {"resolution_m": 0.6}),
        ("base models differ ('base.safetensors' abababababab; 'base.safetensors' cdcdcdcdcdcd)",
         {"training": {**BASE, "base_sha256": "cd" * 32}}),
        ("base models differ ('base.safetensors' abababababab; 'b.safetensors')",
         {"training": {"base_model": "b.safetensors"}}),
    ],
)  # fmt: skip
def test_models_that_differ_are_both_named_with_what_differs(what, changes):
    message = refusal(**changes)
    assert "west.safetensors and east.safetensors" in message and what in message


@pytest.mark.parametrize("training", [{}, {"base_model": ""}, {"base_model": "", "base_sha256": ""}, {"base_model": 3}])
def test_a_model_from_random_weights_has_nothing_in_common_with_others(training):
    message = refusal(training=training)
    assert "east.safetensors" in message and "random weights" in message and "west" not in message


def test_a_base_counts_by_its_weights_and_not_by_its_name():
    renamed = replace(CARD, training={**BASE, "base_model": "copy.safetensors"}, resolution_m=0.505, threshold=0.9)
    assert check_mergeable(("a", CARD), ("b", renamed)) == ""


def test_of_an_older_model_the_bases_name_must_do():
    warning = check_mergeable(("a", CARD), ("b", replace(CARD, training={"base_model": "base.safetensors"})))
    assert "older version" in warning and "base.safetensors" in warning


def test_the_common_normalization_is_that_of_all_images_together():
    random = np.random.default_rng(0)
    west, east = random.normal(80, 40, 300), random.normal(120, 25, 100)
    cards = [replace(CARD, bands=(Band("red", float(each.mean()), float(each.std())),)) for each in (west, east)]
    both = np.concatenate([west, east])
    (band,) = common_bands(cards, [0.75, 0.25], ["west", "east"])
    assert (band.name, band.mean, band.std) == ("red", pytest.approx(both.mean()), pytest.approx(both.std()))


def test_values_of_another_kind_are_refused_unless_each_image_is_normalized_by_itself():
    bits = [CARD, replace(CARD, bands=(Band("red", 20000.0, 9000.0), BANDS[1]))]
    with pytest.raises(ModelFileError, match="band 'red': 80 ± 40 in west.safetensors, 2e\\+04 ± 9000 in east"):
        common_bands(bits, [0.5, 0.5], ["west.safetensors", "east.safetensors"])
    bits = [replace(card, scaling=IMAGE) for card in bits]
    assert common_bands(bits, [0.5, 0.5], ["west", "east"])[0].mean == 10040  # (80 + 20000) / 2


def test_the_merged_card_says_whence_it_came_and_claims_no_score():
    west = replace(CARD, threshold=0.4, halo_px=64, chip_px=96, metrics={"f1": 0.7}, license="CC0-1.0",
                   training={**BASE, "images": ["b.tif", "a.tif"], "steps": 40, "notes": ["short"]})  # fmt: skip
    east = replace(CARD, threshold=0.6, halo_px=96, training={**BASE, "images": ["a.tif", 3], "steps": [1]})
    shares, paths = [0.25, 0.75], ["x/west.safetensors", "x/east.safetensors"]
    card = merged_card([west, east], shares, paths, BANDS, [100, 300])
    assert card.threshold == pytest.approx(0.55)  # 0.25 * 0.4 + 0.75 * 0.6
    assert (card.halo_px, card.chip_px, card.metrics, card.license) == (96, 512, {}, "")
    assert card.training["merged"] == [
        {"model": "west.safetensors", "share": 0.25, "labeled_px": 100, "steps": 40},
        {"model": "east.safetensors", "share": 0.75, "labeled_px": 300, "steps": 0},
    ]
    assert card.training["images"] == ["a.tif", "b.tif"] and card.training["labeled_px"] == 400
    assert {key: card.training[key] for key in BASE} == BASE
    assert "not validated" in card.training["notes"][0]
    by_image = [replace(west, threshold_by_image=True, halo_px=0), replace(east, threshold_by_image=True)]
    assert [merged_card([by_image[0], other], shares, paths, BANDS, [1, 1]).threshold_by_image
            for other in (by_image[1], east)] == [True, False]  # fmt: skip
    assert merged_card(by_image, shares, paths, BANDS, [1, 1]).halo_px == 0  # where one is unknown


def test_whom_the_models_name_is_named_once_and_nothing_else():
    training = [{"attribution": {"lines": "© A"}}, {"attribution": {"lines": "© A", "images": "B", "other": 3}}, {}]
    cards = [replace(CARD, training=each) for each in training]
    card = merged_card(cards, [0.3, 0.3, 0.4], ["a", "b", "c"], BANDS, [1, 1, 1])
    assert card.attribution == {"lines": "© A", "images": "B"}
    assert replace(CARD, training={"attribution": ["© A"]}).attribution == {}


def test_statistics_are_the_means_over_batches_that_show_several_images():
    model = build_network(Architecture(encoder="resnet18", in_channels=1)).eval()
    model.encoder.bn1.running_mean.fill_(99)  # which must not remain
    random = np.random.default_rng(0)
    dark, bright = ([random.normal(mean, 1, (1, 1, 64, 64)).astype(np.float32) for _ in range(BATCH_SIZE)]
                    for mean in (0, 5))  # fmt: skip
    tiny = np.zeros((1, 1, 32, 32), np.float32)
    checks = []
    assert measure_statistics(model, [*dark, tiny, *bright], lambda: checks.append(1)) == 2 * BATCH_SIZE
    assert len(checks) == 2 and not model.training and model.encoder.bn1.momentum == 0.1
    layers = [
        functional.conv2d(torch.from_numpy(np.concatenate(batch)), model.encoder.conv1.weight, stride=2, padding=3)
        for batch in ([*dark, *bright][first::2] for first in (0, 1))
    ]
    mean, variance = (
        sum(parts) / 2 for parts in zip(*((each.mean((0, 2, 3)), each.var((0, 2, 3))) for each in layers))
    )
    torch.testing.assert_close(model.encoder.bn1.running_mean, mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(model.encoder.bn1.running_var, variance, rtol=1e-4, atol=1e-4)
    with pytest.raises(ImageryError, match="too small"):
        measure_statistics(model, [tiny], lambda: None)
