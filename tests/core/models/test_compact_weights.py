import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.core.support.towns import plant_model
from training_core.errors import ModelFileError
from training_core.geodata.rasters import Band
from training_core.models.architectures import Architecture, build_network
from training_core.models.loading import load_network, load_weights
from training_core.models.model_card import ModelCard
from training_core.models.model_file import STORAGE, compact, expand, save_compact_model

CONVOLUTION, HEAD = "encoder.conv1.weight", "segmentation_head.0.weight"
MAX_BYTES = 24_700_000  # of the model that fine-tuning builds: room for it in the plugin's zip


def save_compactly(path, source):
    weights, card = load_weights(source)
    save_compact_model(path, weights, card)
    return str(path)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A compact file, and the plain one that it was made from."""
    folder = tmp_path_factory.mktemp("compact")
    plain = plant_model(folder / "plain.safetensors")
    return save_compactly(folder / "compact.safetensors", plain), plain


@pytest.mark.parametrize("quant_max", [127, 47])
def test_a_weight_is_at_most_half_a_step_from_what_it_was(quant_max):
    weights = {"weight": torch.randn(6, 5, 3, 3) * torch.tensor([1e-4, 1e-2, 0.1, 1, 10, 0])[:, None, None, None]}
    compacted = compact(weights, quant_max)
    assert compacted["weight"].abs().max() == quant_max
    expanded = expand(compacted, "a file")["weight"]
    step = weights["weight"].abs().amax(dim=(1, 2, 3), keepdim=True) / quant_max
    assert ((expanded - weights["weight"]).abs() <= step / 2 * (1 + 1e-5)).all()
    assert (expanded[5] == 0).all()
    assert expanded.dtype == torch.float32


def test_a_compact_file_is_a_quarter_as_large_and_says_so(stored, tmp_path):
    unet = build_network(Architecture())
    card = ModelCard(Architecture(), tuple(map(Band, ("red", "green", "blue"))), 0.3)
    path = tmp_path / "large.safetensors"
    save_compact_model(path, unet.state_dict(), card)
    assert path.stat().st_size < MAX_BYTES
    assert document_of(stored[0])["roadseg:storage"] == STORAGE
    assert "roadseg:storage" not in document_of(stored[1])


def document_of(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return json.loads(header["__metadata__"]["roadseg"])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (f"{CONVOLUTION}.scale", None),
        ("encoder.bn1.bias.scale", lambda _: torch.ones(1)),
        (f"{CONVOLUTION}.scale", lambda scale: scale[:-1].clone()),
        (f"{CONVOLUTION}.scale", lambda scale: torch.ones(1)),
        (f"{HEAD}.scale", lambda scale: torch.full_like(scale, torch.inf)),
        (f"{HEAD}.scale", torch.neg),
        (f"{HEAD}.scale", lambda scale: scale.to(torch.int8)),
        (CONVOLUTION, torch.flatten),
        (CONVOLUTION, lambda weight: weight[:, :1].clone()),
    ],
)
def test_damaged_compact_weights_are_refused(stored, tmp_path, name, change):
    tensors = load_file(stored[0])
    tensor = tensors.pop(name, None)
    if change is not None:
        tensors[name] = change(tensor)
    path = tmp_path / "bad.safetensors"
    save_file(tensors, path, metadata={"roadseg": json.dumps(document_of(stored[0]))})
    with pytest.raises(ModelFileError, match="Copy it again"):
        load_network(str(path))


@pytest.mark.parametrize("storage", ["int4", 7, {}, ["int8-per-output-channel"]])
def test_a_storage_that_nobody_knows_is_refused(stored, tmp_path, storage):
    path = tmp_path / "bad.safetensors"
    document = {**document_of(stored[0]), "roadseg:storage": storage}
    save_file(load_file(stored[0]), path, metadata={"roadseg": json.dumps(document)})
    with pytest.raises(ModelFileError, match="how the weights in .*bad.safetensors are stored"):
        load_network(str(path))
