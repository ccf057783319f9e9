import importlib
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.core.support.towns import plant_model
from training_core.errors import ModelFileError
from training_core.events import Reporter
from training_core.geodata.rasters import Band
from training_core.jobs import JOBS, from_options
from training_core.models.architectures import Architecture, build_network
from training_core.models.loading import load_network, load_weights
from training_core.models.model_card import ModelCard
from training_core.models.model_file import STORAGE, compact, expand, save_compact_model, save_model

CONVOLUTION, HEAD = "encoder.conv1.weight", "segmentation_head.0.weight"
MAX_BYTES = 24_700_000  # of the model that fine-tuning builds: room for it in the plugin's zip


def save_compactly(path, source):
    weights, card = load_weights(source)
    save_compact_model(path, weights, card)
    return str(path)


def run(name, options):
    """Run a job in this process, and return its result."""
    return importlib.import_module(f"training_core.pipelines.{name}").run(from_options(JOBS[name], options), Reporter())


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A compact file, and the plain one that it was made from."""
    folder = tmp_path_factory.mktemp("compact")
    plain = plant_model(folder / "plain.safetensors")
    return save_compactly(folder / "compact.safetensors", plain), plain


def test_a_weight_is_at_most_half_a_step_from_what_it_was():
    weights = {"weight": torch.randn(6, 5, 3, 3) * torch.tensor([1e-4, 1e-2, 0.1, 1, 10, 0])[:, None, None, None]}
    expanded = expand(compact(weights), "a file")["weight"]
    step = weights["weight"].abs().amax(dim=(1, 2, 3), keepdim=True) / 127
    assert ((expanded - weights["weight"]).abs() <= step / 2 * (1 + 1e-5)).all()
    assert (expanded[5] == 0).all()
    assert expanded.dtype == torch.float32


def test_what_is_no_convolution_stays_as_it_is(stored):
    weights, plain = load_weights(stored[0])[0], load_weights(stored[1])[0]
    assert weights.keys() == plain.keys()
    for name, tensor in plain.items():
        if tensor.dim() != 4:
            assert torch.equal(weights[name], tensor)
    assert not torch.equal(weights[CONVOLUTION], plain[CONVOLUTION])


def test_a_compact_file_is_a_quarter_as_large_and_says_so(stored, tmp_path):
    unet = build_network(Architecture())
    card = ModelCard(Architecture(), tuple(map(Band, ("red", "green", "blue"))), 0.3)
    path = tmp_path / "large.safetensors"
    save_compact_model(path, unet.state_dict(), card)
    assert path.stat().st_size < MAX_BYTES
    assert document_of(stored[0])["roadseg:storage"] == STORAGE
    assert "roadseg:storage" not in document_of(stored[1])


def test_a_compact_model_sees_nearly_what_the_plain_one_sees(stored):
    (unet, card), (plain, same) = load_network(stored[0]), load_network(stored[1])
    assert card == same
    image = torch.randn(1, 3, 64, 64)
    with torch.inference_mode():
        difference = (unet(image).sigmoid() - plain(image).sigmoid()).abs()
    assert 0 < difference.mean() < 0.02


def document_of(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return json.loads(header["__metadata__"]["roadseg"])


def without_scale(tensors):
    del tensors[f"{CONVOLUTION}.scale"]


def with_a_scale_of_nothing(tensors):
    tensors["encoder.bn1.bias.scale"] = torch.ones(1)


def with_short_scale(tensors):
    tensors[f"{CONVOLUTION}.scale"] = tensors[f"{CONVOLUTION}.scale"][:-1].clone()


def with_one_scale_for_all(tensors):
    tensors[f"{CONVOLUTION}.scale"] = torch.ones(1)


def with_infinite_scale(tensors):
    tensors[f"{HEAD}.scale"][0] = torch.inf


def with_negative_scale(tensors):
    tensors[f"{HEAD}.scale"][0] = -1


def with_whole_scale(tensors):
    tensors[f"{HEAD}.scale"] = torch.ones(1, dtype=torch.int8)


def with_flat_integers(tensors):
    tensors[CONVOLUTION] = tensors[CONVOLUTION].flatten()


def with_other_shape(tensors):
    tensors[CONVOLUTION] = tensors[CONVOLUTION][:, :1].clone()


@pytest.mark.parametrize(
    "damage",
    [
        without_scale,
        with_a_scale_of_nothing,
        with_short_scale,
        with_one_scale_for_all,
        with_infinite_scale,
        with_negative_scale,
        with_whole_scale,
        with_flat_integers,
        with_other_shape,
    ],
)
def test_damaged_compact_weights_are_refused(stored, tmp_path, damage):
    tensors = load_file(stored[0])
    damage(tensors)
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


def test_a_truncated_compact_file_is_refused(stored, tmp_path):
    path = tmp_path / "bad.safetensors"
    with open(stored[0], "rb") as file:
        path.write_bytes(file.read()[:100_000])
    with pytest.raises(ModelFileError, match="bad.safetensors"):
        load_network(str(path))


@pytest.mark.parametrize(
    "name",
    ["finetune", "evaluate", *(pytest.param(name, marks=pytest.mark.slow) for name in
                               ("segment", "extractroads", "exportmodel", "quantize"))],
)  # fmt: skip
def test_every_job_that_takes_a_model_takes_a_compact_one(name, town, learned, enough_memory, tmp_path):
    model = save_compactly(tmp_path / "compact.safetensors", learned.model)
    image, labels = {"rasters": [town.raster]}, {"roads": town.roads, "aoi": town.aoi}
    compute = {"engine": "native", "threads": 1}
    options = {
        "finetune": image | labels | compute
        | {"base_model": model, "model": str(tmp_path / "new.safetensors"), "steps": 1, "chip_px": 64},
        "segment": {"raster": town.raster, "model": model, "mask": str(tmp_path / "mask.tif")} | compute,
        "extractroads": {"raster": town.raster, "model": model, "roads": str(tmp_path / "roads.gpkg")} | compute,
        "evaluate": image | labels | compute | {"model": model},
        "exportmodel": {"model": model, "onnx": str(tmp_path / "model.onnx")},
        "quantize": image | {"model": model, "onnx": str(tmp_path / "model.onnx"), "chips": 2, "chip_px": 64},
    }[name]  # fmt: skip
    told = run(name, options)
    if name == "evaluate":  # how good the model itself has become is a matter of the processor's rounding
        plain = run(name, options | {"model": learned.model})
        assert told["pixel"]["iou"] == pytest.approx(plain["pixel"]["iou"], abs=0.01)
        assert plain["pixel"]["iou"] > 0.5
    assert not told.get("stopped")


def test_a_fine_tuned_compact_model_is_written_plainly(town, stored, tmp_path):
    weights, card = load_weights(stored[0])
    path = tmp_path / "plain.safetensors"
    save_model(path, weights, card)
    assert "roadseg:storage" not in document_of(path)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in load_weights(str(path))[0].items())
