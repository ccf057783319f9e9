"""What fine-tuning starts from: files of RoadSeg and of segmentation_models_pytorch, and encoders to be fetched."""

import functools
import hashlib
import http.server
import threading

import pytest
import segmentation_models_pytorch as smp
import torch
from safetensors.torch import save_file

from tests.core.support.http_files import QuietHandler
from training_core.errors import ModelFileError, RuntimeEnvironmentError
from training_core.events import Log, Progress, Reporter
from training_core.jobs import IMAGENET
from training_core.jobs.recipe import AS_BASE, EFFICIENTNET
from training_core.models.architectures import NARROW_DECODER_CHANNELS, Architecture, build_network
from training_core.models.base_model import encoder_file, fetch_encoder, read_base_model

README = b"---\nlibrary_name: segmentation-models-pytorch\nlicense: bsd-3-clause\n---\n# An encoder\n"


@functools.cache
def encoder_weights(seed=0):
    """Return weights of a ResNet18 as ImageNet's come: with its classifier, without counters."""
    torch.manual_seed(seed)
    weights = smp.encoders.get_encoder("resnet18").state_dict()
    weights = {key: each for key, each in weights.items() if not key.endswith("num_batches_tracked")}
    return {**weights, "fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}


def read(path):
    return read_base_model(str(path), AS_BASE, AS_BASE, Reporter())


@pytest.mark.parametrize("prefix", ["", "encoder."])
def test_an_encoder_becomes_part_of_a_model_with_a_random_decoder(tmp_path, prefix):
    weights = encoder_weights()
    save_file({prefix + name: each for name, each in weights.items()}, tmp_path / "encoder.safetensors")
    base = read(tmp_path / "encoder.safetensors")
    assert base.architecture == Architecture(encoder="resnet18") and base.card is None
    assert base.band_names == ("red", "green", "blue")
    build_network(base.architecture).load_state_dict(base.weights)
    torch.testing.assert_close(base.weights["encoder.layer3.1.conv1.weight"], weights["layer3.1.conv1.weight"])


def test_efficientnet_gets_a_narrow_decoder_unless_the_file_has_one(tmp_path):
    unet = smp.Unet("tu-efficientnet_lite0", encoder_weights=None)
    save_file(unet.encoder.state_dict(), tmp_path / "encoder.safetensors")
    save_file(unet.state_dict(), tmp_path / "unet.safetensors")
    narrow = Architecture(encoder=EFFICIENTNET, decoder_channels=NARROW_DECODER_CHANNELS)
    assert read(tmp_path / "encoder.safetensors").architecture == narrow
    assert read(tmp_path / "unet.safetensors").architecture == Architecture(encoder=EFFICIENTNET)


@pytest.mark.parametrize(("name", "layer"), [("Unet", "blocks.4.conv2.0.weight"), ("FPN", "p2.skip_conv.weight")])
def test_a_model_of_the_library_for_other_bands_and_classes_keeps_all_but_its_head(tmp_path, name, layer):
    library = getattr(smp, name)("resnet18", encoder_weights=None, in_channels=4, classes=7)
    save_file({key: each.contiguous() for key, each in library.state_dict().items()}, tmp_path / "whole.safetensors")
    base = read(tmp_path / "whole.safetensors")
    assert base.architecture == Architecture(name, "resnet18", in_channels=4)
    build_network(base.architecture).load_state_dict(base.weights)
    torch.testing.assert_close(base.weights[f"decoder.{layer}"], library.state_dict()[f"decoder.{layer}"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda weights: {**weights, "conv1.weight": weights["conv1.weight"] * torch.nan}, "not numbers"),
        (
            lambda weights: {name: each for name, each in weights.items() if name != "layer2.0.conv1.weight"},
            "not a model that RoadSeg takes",
        ),
        (lambda weights: {**weights, "attention.weight": torch.zeros(3)}, "not a model that RoadSeg takes"),
        (lambda weights: {"conv1.weight": torch.zeros(64, 3, 7, 7)}, "not a model that RoadSeg takes"),
        (lambda weights: {"conv1.weight": torch.zeros(())}, "not a model that RoadSeg takes"),
        (lambda weights: {}, "not a model that RoadSeg takes"),
    ],
)
def test_other_weights_are_refused(tmp_path, change, reason):
    save_file(change(encoder_weights()), tmp_path / "odd.safetensors")
    with pytest.raises(ModelFileError, match=reason):
        read(tmp_path / "odd.safetensors")


def go_to(monkeypatch, address):
    """Have the hub at another address."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    for module in ("constants", "file_download"):
        name = f"huggingface_hub.{module}.HUGGINGFACE_CO_URL_TEMPLATE"
        monkeypatch.setattr(name, address + "/{repo_id}/resolve/{revision}/{filename}", raising=False)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Serve an encoder on the loopback interface as the hub does; yield what is asked for and what is served."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    save_file(encoder_weights(), tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    served = {"model.safetensors": content, "README.md": README}
    served_as = {"sha256": hashlib.sha256(content).hexdigest()}
    asked = []

    class Handler(QuietHandler):
        def answer(self, has_body):
            asked.append(self.path)
            name = self.path.rpartition("/")[2]
            body = served[name]
            self.send_response(200)
            etag = served_as["sha256"] if name == "model.safetensors" else "readme"
            for header, value in {
                "ETag": f'"{etag}"',
                "X-Linked-ETag": f'"{etag}"',
                "X-Repo-Commit": self.path.split("/resolve/")[1].split("/")[0],
                "Content-Length": str(len(body)),
            }.items():
                self.send_header(header, value)
            self.end_headers()
            if has_body:
                self.wfile.write(body)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        go_to(monkeypatch, f"http://127.0.0.1:{server.server_port}")
        yield served_as, asked
        server.shutdown()


def test_imagenet_is_fetched_once_with_progress_checksum_and_license(hub):
    asked = hub[1]
    events = []
    base = read_base_model(IMAGENET, AS_BASE, "resnet18", Reporter(events.append))
    assert base.architecture == Architecture(encoder="resnet18") and base.card is None
    torch.testing.assert_close(base.weights["encoder.conv1.weight"], encoder_weights()["conv1.weight"])
    assert any("license of these weights: bsd-3-clause" in each.message for each in events if isinstance(each, Log))
    assert max(each.fraction for each in events if isinstance(each, Progress)) == 1
    assert all("/smp-hub/resnet18.imagenet/resolve/" in path for path in asked)
    count = len(asked)
    read_base_model(IMAGENET, AS_BASE, "resnet18", Reporter())
    assert len(asked) == count
    assert [path.name for path in encoder_file("resnet18").parent.iterdir()] == ["resnet18-imagenet.safetensors"]


def test_damaged_weights_are_not_kept(hub):
    hub[0]["sha256"] = "0" * 64
    with pytest.raises(RuntimeEnvironmentError, match="checksum"):
        fetch_encoder("resnet18", Reporter())
    assert list(encoder_file("resnet18").parent.iterdir()) == []


def test_without_a_connection_the_message_says_what_to_put_where(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    go_to(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(RuntimeEnvironmentError) as caught:
        fetch_encoder("resnet18", Reporter())
    assert str(encoder_file("resnet18")) in caught.value.remedy
