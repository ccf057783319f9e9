import json
import os
import struct
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.core.support.systems import make_pipe
from training_core.errors import ModelFileError
from training_core.geodata.rasters import Band
from training_core.models.architectures import Architecture, adapt_first_layer, build_network
from training_core.models.loading import load_network, load_weights
from training_core.models.model_card import ModelCard, card_from_text
from training_core.models.model_file import save_model

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
    unet = build_network(CARD.architecture)
    save_model(path, unet.state_dict(), CARD)
    return path, unet.eval()


def test_what_was_saved_is_loaded(saved):
    path, unet = saved
    loaded, card = load_network(str(path))
    assert card == CARD
    image = torch.randn(1, 2, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(loaded(image), unet(image))


def test_a_decoder_of_its_own_width_is_loaded(tmp_path):
    card = replace(CARD, architecture=replace(CARD.architecture, decoder_channels=(32, 24, 16, 16, 8)))
    save_model(tmp_path / "narrow.safetensors", build_network(card.architecture).state_dict(), card)
    loaded, found = load_network(str(tmp_path / "narrow.safetensors"))
    assert found == card and loaded.decoder.blocks[0].conv1[0].out_channels == 32


def test_a_file_that_does_not_name_its_decoder_has_the_librarys():
    document = CARD.to_document()
    del document["roadseg:architecture"]["decoder_channels"]
    assert card_from_text(json.dumps(document), "old.safetensors")[0] == CARD


def test_the_name_of_a_base_model_need_not_be_utf_8(tmp_path, saved):
    card = replace(CARD, training={"base_model": os.fsdecode(b"caf\xe9.safetensors")})
    save_model(tmp_path / "a.safetensors", saved[1].state_dict(), card)
    assert load_network(str(tmp_path / "a.safetensors"))[1] == card


def saved_with(**tensors):
    """Return a function that saves a model with other tensors, by the names of their layers; None leaves one out."""

    def write(path, saved):
        weights = {**load_file(saved), **tensors}
        save_model(path, {name: each for name, each in weights.items() if each is not None}, CARD)

    return write


def of_another_type(dtype):
    def write(path, saved):
        weights = load_file(saved)
        name = "decoder.blocks.0.conv1.0.weight"
        weights[name] = weights[name].to(dtype)
        save_file(weights, path, metadata={"roadseg": json.dumps(CARD.to_document())})

    return write


def with_header(header, length=None):
    content = struct.pack("<Q", len(header) if length is None else length) + header
    return lambda path, saved: path.write_bytes(content)


HEAD_BIAS = "segmentation_head.0.bias"
HEADERS = {"of a dictionary": (b"{}",), "of a list": (b"[]",), "of nested lists": (b"[" * 100_000,),
           "of nested objects": (b'{"a":' * 50_000,), "of 10 MB": (b"{" + b" " * 10_000_001,),
           "of no text": (b"\xff" * 9,), "of 2^63 bytes": (b"{", 2**63),
           "of 2^64 - 1 bytes": (b"{", 2**64 - 1)}  # fmt: skip
DAMAGES = {
    "truncated": lambda path, saved: path.write_bytes(saved.read_bytes()[:100_000]),
    "pickled": lambda path, saved: torch.save({"weights": torch.zeros(3)}, path),
    "text": lambda path, saved: path.write_text("hello"),
    "empty": lambda path, saved: path.touch(),
    "foreign": lambda path, saved: save_file({"x": torch.zeros(3)}, path),
    "without a layer": saved_with(**{HEAD_BIAS: None}),
    "of another shape": saved_with(**{HEAD_BIAS: torch.zeros(7)}),
    "of size zero": saved_with(**{"encoder.conv1.weight": torch.zeros(64, 0, 7, 7)}),
    "with another tensor": saved_with(**{"extra" * 100: torch.zeros(3)}),
    "a pipe": lambda path, saved: make_pipe(path),
    "a folder": lambda path, saved: path.mkdir(),
    "too large": lambda path, saved: (path.touch(), os.truncate(path, 1 << 31)),
    "missing": lambda path, saved: None,
    **{f"of {dtype}": of_another_type(dtype) for dtype in
       (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int64, torch.bool)},
    **{f"with a header {what}": with_header(*header) for what, header in HEADERS.items()},
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_bad_file_is_refused_by_name(tmp_path, saved, damage):
    path = tmp_path / "bad.safetensors"
    damage(path, saved[0])
    with pytest.raises(ModelFileError, match="bad.safetensors") as refused:
        load_network(str(path))
    assert refused.value.message.endswith(".") and refused.value.remedy.endswith(".")
    assert len(refused.value.message) < 1000


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e30])
def test_a_weight_that_is_no_number_is_named_with_its_file(tmp_path, saved, value):
    path = tmp_path / "bad.safetensors"
    weights = load_file(saved[0])
    weights["encoder.layer2.0.conv1.weight"][3, 2, 1, 0] = value
    save_model(path, weights, CARD)
    with pytest.raises(ModelFileError, match=r"encoder.layer2.0.conv1.weight.*bad.safetensors.*not numbers"):
        load_weights(str(path))


@pytest.mark.parametrize(
    "part, value",
    [
        ("format", ["roadseg-model-1"]),
        ("roadseg:architecture", {"name": "Unet", "shell": "rm"}),
        ("roadseg:architecture", {"in_channels": 2}),
        ("roadseg:resolution_m", 1e300),
        ("roadseg:threshold", 7),
        ("roadseg:halo_px", 33),
        ("roadseg:scaling", "log"),
        ("roadseg:training", [["steps", 3]]),
        ("roadseg:classes", [{"name": "a", "speed_kmh": 30}] * 2),
        ("license", "x" * 100_000),
        ("mlm:input", []),
        *(("roadseg:architecture", {"name": "Unet", "encoder": "resnet18", "in_channels": 2, "classes": 1, **part})
          for part in ({"encoder": "os.system"}, {"in_channels": 3}, {"in_channels": 10**9}, {"classes": 0},
                       {"depth": 900}, {"decoder_channels": [16] * 4}, {"decoder_channels": [10**9] * 5},
                       {"name": "FPN", "decoder_channels": [16] * 5})),
        *(("mlm:input", [{**CARD.to_document()["mlm:input"][0], **part}])
          for part in ({"bands": ["red"]}, {"value_scaling": [{"mean": 0, "stddev": 1}]},
                       *({"value_scaling": [{"mean": mean, "stddev": std}, {"mean": 0, "stddev": 1}]} for mean, std in
                         ((float("nan"), 1), (1e300, 1), (0, 1e-45), (0, -1))),
                       {"input": {"shape": [-1, 2, 512]}})),
    ],
)  # fmt: skip
def test_a_tampered_description_is_refused_with_the_file(tmp_path, saved, part, value):
    path = tmp_path / "bad.safetensors"
    document = {**CARD.to_document(), part: value}
    save_file({"x": torch.zeros(1)}, path, metadata={"roadseg": json.dumps(document)})
    with pytest.raises(ModelFileError, match="bad.safetensors") as refused:
        load_network(str(path))
    assert "weights" not in refused.value.message  # it is refused before these are looked at
    assert len(refused.value.message) < 1000 and refused.value.remedy.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        json.dumps(CARD.to_document())[:-1] + ', "format": "roadseg-model-1"}',
        json.dumps(CARD.to_document()).replace('"f1": 0.7', '"f1": NaN'),
    ],
    ids=lambda text: text[:20],
)
def test_a_description_that_is_no_plain_json_is_refused_with_the_file(tmp_path, text):
    path = tmp_path / "bad.safetensors"
    save_file({"x": torch.zeros(1)}, path, metadata={"roadseg": text})
    with pytest.raises(ModelFileError, match="bad.safetensors") as refused:
        load_network(str(path))
    assert "weights" not in refused.value.message and refused.value.remedy.endswith(".")


def test_a_model_of_many_bands_is_not_built_where_its_weights_have_few(tmp_path, saved):
    wide = replace(CARD, architecture=Architecture(encoder="resnet18", in_channels=60_000), bands=(Band("b"),) * 60_000)
    path = tmp_path / "bad.safetensors"
    save_model(path, load_file(saved[0]), wide)
    with pytest.raises(ModelFileError, match=r"bad.safetensors.*encoder.conv1.weight is \[64, 2, 7, 7\]"):
        load_weights(str(path))


def test_bands_keep_their_filters_and_new_ones_get_the_mean():
    filters = torch.randn(64, 3, 7, 7)
    adapted = adapt_first_layer(
        {"encoder.conv1.weight": filters}, "encoder.conv1", ("red", "green", "blue"), ("nir", "red", "green", "blue")
    )["encoder.conv1.weight"]
    torch.testing.assert_close(adapted[:, 1:], filters * 3 / 4)
    torch.testing.assert_close(adapted[:, 0], filters.mean(dim=1) * 3 / 4)


@pytest.mark.parametrize("length", range(0, 256, 32))
def test_a_header_of_any_length_is_no_pickle(tmp_path, length):
    card = replace(CARD, training={"note": "x" * length})
    path = tmp_path / "roads.safetensors"
    ends = {
        "encoder.conv1.weight": (64, 2, 7, 7),
        "segmentation_head.0.weight": (1, 16, 3, 3),
        "segmentation_head.0.bias": (1,),
    }
    save_model(path, {name: torch.zeros(shape) for name, shape in ends.items()}, card)
    assert load_weights(str(path))[1] == card
