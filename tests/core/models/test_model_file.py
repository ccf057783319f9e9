import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from training_core.errors import ModelFileError
from training_core.geodata.rasters import Band
from training_core.models.model_card import ModelCard
from training_core.models.model_file import load_model, load_weights, save_model
from training_core.models.unet import Architecture, adapt_first_layer, build_unet

CARD = ModelCard(
    architecture=Architecture(encoder="resnet18", in_channels=2),
    bands=(Band("red", 100.0, 30.0), Band("nir", 500.0, 200.0)),
    resolution_m=0.3,
    threshold=0.4,
    metrics={"f1": 0.7},
    license="CC0-1.0",
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "roads.safetensors"
    unet = build_unet(CARD.architecture)
    save_model(path, unet.state_dict(), CARD)
    return path, unet.eval()


def test_what_was_saved_is_loaded(saved):
    path, unet = saved
    loaded, card = load_model(str(path))
    assert card == CARD
    image = torch.randn(1, 2, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(loaded(image), unet(image))


def test_the_header_speaks_stac_mlm(saved):
    from safetensors import safe_open

    with safe_open(saved[0], "pt") as file:
        document = json.loads(file.metadata()["roadseg"])
    assert document["mlm:input"][0]["bands"] == ["red", "nir"]
    assert document["mlm:input"][0]["value_scaling"][1] == {"type": "z-score", "mean": 500.0, "stddev": 200.0}
    assert document["mlm:tasks"] == ["semantic-segmentation"]


def truncated(path, saved):
    path.write_bytes(saved.read_bytes()[:100_000])


def pickled(path, saved):
    torch.save({"weights": torch.zeros(3)}, path)


def text(path, saved):
    path.write_text("hello")


def empty(path, saved):
    path.touch()


def foreign(path, saved):
    save_file({"x": torch.zeros(3)}, path)


def without_a_layer(path, saved):
    weights = load_file(saved)
    weights.pop("segmentation_head.0.bias")
    save_model(path, weights, CARD)


def wrong_shape(path, saved):
    weights = load_file(saved)
    weights["segmentation_head.0.bias"] = torch.zeros(7)
    save_model(path, weights, CARD)


@pytest.mark.parametrize("damage", [truncated, pickled, text, empty, foreign, without_a_layer, wrong_shape])
def test_a_bad_file_is_refused_by_name(tmp_path, saved, damage):
    path = tmp_path / "bad.safetensors"
    damage(path, saved[0])
    with pytest.raises(ModelFileError, match="bad.safetensors"):
        load_model(str(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="missing.safetensors"):
        load_weights(str(tmp_path / "missing.safetensors"))


@pytest.mark.parametrize(
    "part, value",
    [
        ("format", "other"),
        ("roadseg:architecture", {"name": "Unet", "encoder": "os.system", "in_channels": 2, "classes": 1}),
        ("roadseg:architecture", {"name": "Unet", "shell": "rm"}),
        ("roadseg:architecture", {"name": "Unet", "encoder": "resnet18", "in_channels": 3, "classes": 1}),
        ("roadseg:resolution_m", -1),
        ("roadseg:resolution_m", "wide"),
        ("roadseg:threshold", 7),
        ("mlm:input", []),
    ],
)
def test_a_tampered_description_is_refused(tmp_path, saved, part, value):
    path = tmp_path / "bad.safetensors"
    document = {**CARD.to_document(), part: value}
    save_file(load_file(saved[0]), path, metadata={"roadseg": json.dumps(document)})
    with pytest.raises(ModelFileError):
        load_model(str(path))


def test_bands_keep_their_filters_and_new_ones_get_the_mean():
    filters = torch.randn(64, 3, 7, 7)
    adapted = adapt_first_layer(
        {"encoder.conv1.weight": filters}, ("red", "green", "blue"), ("nir", "red", "green", "blue")
    )["encoder.conv1.weight"]
    torch.testing.assert_close(adapted[:, 1:], filters * 3 / 4)
    torch.testing.assert_close(adapted[:, 0], filters.mean(dim=1) * 3 / 4)


@pytest.mark.parametrize("length", range(0, 256, 8))
def test_a_header_of_any_length_is_no_pickle(tmp_path, length):
    card = replace(CARD, training={"note": "x" * length})
    path = tmp_path / "roads.safetensors"
    save_model(path, {"weight": torch.zeros(1)}, card)
    assert load_weights(str(path))[1] == card
