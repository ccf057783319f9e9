"""The starter's training from a pack: what is packed is read back, learned from, and taken by RoadSeg."""

import json
import sys
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from scripts.starter import train_pack
from scripts.starter.center_line_loss import loss_with_center_lines
from scripts.starter.chips import resample
from scripts.starter.from_pack import make_starter, read_run
from scripts.starter.pack import RECIPES, write_pack
from scripts.starter.real_ground import Ground
from scripts.starter.train_pack import dilated, loss_of, read_pack
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.jobs.recipe import EFFICIENTNET, UNET
from training_core.models.architectures import build_network
from training_core.models.base_model import architecture_for
from training_core.models.loading import load_network
from training_core.segmentation.pixel_metrics import relaxed_matches

CPU = torch.device("cpu")
TINY = {name: replace(each, chip_px=64, batch_size=4, scene_px=96, scenes=1) for name, each in RECIPES.items()}


def a_street(source="dubai", name="street", place=60):
    """A bright street on dark ground whose last columns have no image."""
    rng = np.random.default_rng(place)
    truth = np.full((128, 160), BACKGROUND, dtype=np.uint8)
    truth[place : place + 9] = ROAD
    image = np.rint(80 + 90 * (truth == ROAD) + rng.normal(0, 4, (3, 128, 160))).astype(np.uint8)
    known = np.ones(truth.shape, dtype=bool)
    known[:, 150:] = False
    truth[:, 150:] = IGNORE
    labels = truth.copy()
    labels[[place - 1, place + 9]] = IGNORE
    values = image[:, known].astype(np.float32)
    roads = np.flatnonzero(labels == ROAD)
    return Ground(
        source, name, image, values.mean(1), values.std(1), labels, truth, known, 0.4, roads, source != "towns"
    )


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """Return the path of a pack: streets to learn from and held out, a tile without roads, and scenes."""
    path = tmp_path_factory.mktemp("pack") / "starter.pack"
    empty = np.zeros((128, 160), dtype=np.uint8)
    roadless = replace(a_street("roadless"), labels=empty, truth=empty, known=empty == 0, roads=np.empty(0, int))
    ground = [(a_street(), False), (a_street(name="held out", place=30), True), (roadless, False)]
    scenes = ((a_street("scenes", str(place), place), place == 20) for place in range(20, 110, 30))
    counts = write_pack(path, ground, scenes, TINY, 10**6, 90)
    assert counts == {"dubai": 2, "roadless": 1, "scenes": 3}
    return path


def trained(monkeypatch, pack, out, *options):
    """Run the script on the CPU."""
    monkeypatch.setattr(train_pack.torch.accelerator, "is_available", lambda: False)
    monkeypatch.setattr(train_pack, "SQUARES", 1)
    monkeypatch.setattr(train_pack, "LOG_STEPS", 5)
    monkeypatch.setattr(sys, "argv", ["train_pack.py", str(pack), str(out), "--recipes", "styled", *options])
    train_pack.main()
    return json.loads((out / "results.json").read_text())


def test_a_pack_gives_back_labels_as_they_are_and_images_nearly(pack):
    manifest, pictures = read_pack(pack, CPU)
    street, found = a_street(), pictures[0]
    for bit, plane in (
        (train_pack.ROAD, street.labels == ROAD),
        (train_pack.IGNORED, street.labels == IGNORE),
        (train_pack.TRUE_ROAD, street.truth == ROAD),
        (train_pack.TRUE_IGNORED, street.truth == IGNORE),
        (train_pack.UNKNOWN, ~street.known),
    ):
        np.testing.assert_array_equal(found.host & bit > 0, plane)
    assert np.abs(found.pixels.numpy() - street.image.astype(float))[:, street.known].mean() < 6
    assert [each.record["is_held_out"] for each in pictures] == [False, True, False, True, False, False]
    assert found.record["mean"] == pytest.approx(street.mean.tolist(), abs=1e-3)
    assert manifest["recipes"]["styled"]["learning_rate"] == RECIPES["styled"].learning_rate
    assert "Mohammed Bin Rashid" in manifest["attribution"]["dubai"]


def test_scenes_fill_a_pack_and_real_ground_that_does_not_fit_is_refused(tmp_path):
    scenes = ((a_street("scenes", str(number)), False) for number in range(1000))
    assert 20 < write_pack(tmp_path / "a.pack", [(a_street(), False)], scenes, TINY, 50_000, 50)["scenes"] < 100
    assert 40_000 < (tmp_path / "a.pack").stat().st_size < 50_000
    with pytest.raises(SystemExit, match=r"Only 0 of 1 .* Lower --quality"):
        write_pack(tmp_path / "b.pack", [(a_street(), False)], [], TINY, 1000, 50)
    assert [each.name for each in tmp_path.iterdir()] == ["a.pack"]


@pytest.mark.parametrize("damage", ["flipped", "short", "other", "format", "empty"])
def test_a_damaged_or_foreign_pack_is_refused(pack, tmp_path, damage):
    content = bytearray(pack.read_bytes())
    middle = len(content) // 4
    content[middle] ^= 0x55 if damage == "flipped" else 0
    other = {
        "short": bytes(content[: 2 * middle]),
        "other": b"II*\0" + bytes(200),
        "empty": b"",
    }
    path = tmp_path / "broken.pack"
    path.write_bytes(other.get(damage, bytes(content)))
    if damage == "format":
        with ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", json.dumps({"format": "roadseg-starter-pack-9", "images": []}))
    with pytest.raises(SystemExit, match="broken.pack is damaged or no starter pack"):
        read_pack(path, CPU)


@pytest.mark.parametrize("step_px", [0.6, 1.0, 1.7])
def test_chips_are_those_of_the_starters_training(pack, step_px):
    street, picture = a_street(), read_pack(pack, CPU)[1][0]
    street = replace(street, image=picture.pixels.numpy())
    placed = ((50.0, 130.0), step_px, 0.5, 48, street.mean, street.deviation)
    image, labels = resample(street, *placed)
    found, bits = train_pack.resample(picture, np.array(placed[0]), *placed[1:])
    is_inner = np.s_[:, 4:-4, 4:-4]
    assert np.abs(found.numpy() - image)[is_inner].mean() < 0.02
    coded = np.where(bits & train_pack.IGNORED > 0, IGNORE, np.where(bits & train_pack.ROAD > 0, ROAD, BACKGROUND))
    assert (coded == labels).mean() > 0.995


def test_the_loss_is_that_of_the_starters_training():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 1, 64, 64, generator=generator) * 3
    labels = torch.full((2, 64, 64), BACKGROUND, dtype=torch.uint8)
    labels[:, 20:31], labels[:, 40:] = ROAD, IGNORE
    bits = torch.where(labels == IGNORE, train_pack.IGNORED, labels).byte()
    bits[:, 24:27] |= train_pack.LINE  # the middle of 11 px, 3 px wide; the skeleton is shorter at the ends
    for weight, tolerance in ((0.0, 1e-5), (0.2, 5e-3)):
        usual = loss_with_center_lines(logits, labels, weight).item()
        assert loss_of(logits, bits, weight).item() == pytest.approx(usual, abs=tolerance)


def test_scores_within_a_tolerance_are_those_of_the_core():
    rng = np.random.default_rng(0)
    probability, truth = rng.random((60, 80)), (rng.random((60, 80)) > 0.99).astype(np.uint8)
    matches = relaxed_matches(probability >= 0.9, truth, 1.3, (0.4, 0.4)).counts()
    near = dilated(torch.from_numpy(probability), 1.3 / 0.4).numpy()
    assert int((near[truth == ROAD] >= 0.9).sum()) == matches.found


@pytest.mark.slow
def test_twenty_steps_lower_the_loss_and_give_weights_that_the_core_takes(monkeypatch, pack, tmp_path, capsys):
    (row,) = trained(monkeypatch, pack, tmp_path, "--steps", "20")
    losses = [float(line.rpartition(" ")[2]) for line in capsys.readouterr().out.splitlines() if "loss" in line]
    assert losses[-1] < losses[0] - 0.01
    assert (row["state"], row["steps"], row["learned_from"]["scenes"]) == ("done", 20, 2)
    assert row["f1"].keys() == {"dubai", "scenes"} and row["threshold"] in train_pack.THRESHOLDS
    weights, told = read_run([tmp_path / "run0.safetensors"])
    assert told["stages"][0]["chip_px"] == 64
    build_network(architecture_for(UNET, EFFICIENTNET)).load_state_dict(weights)
    assert load_file(tmp_path / "run0.safetensors")["segmentation_head.0.bias"].dtype == torch.float16
    make_starter(weights, told, tmp_path / "no ground", tmp_path / "model.safetensors", tmp_path / "c.safetensors")
    _, card = load_network(str(tmp_path / "c.safetensors"))
    assert (card.training["steps"], card.threshold_by_image, card.license) == (20, True, "CC-BY-4.0")
    assert card.training["processor"] == "cpu"
    assert card.training["attribution"]["dubai"] and card.threshold != 0.5


def test_a_device_that_vanishes_leaves_what_was_trained(monkeypatch, pack, tmp_path):
    whole, calls = train_pack.loss_of, []

    def fails(*passed):
        calls.append(1)
        if len(calls) > 7:
            raise RuntimeError("CUDA error: the device is lost\nmore")
        return whole(*passed)

    monkeypatch.setattr(train_pack, "loss_of", fails)
    monkeypatch.setattr(train_pack, "KEEP_S", 0.0)
    with pytest.raises(SystemExit, match="Run 0 of 2 was cut off: CUDA error: the device is lost; its last weights"):
        trained(monkeypatch, pack, tmp_path, "--steps", "20", "--seeds", "1", "2")
    assert json.loads((tmp_path / "results.json").read_text())[0]["state"].startswith("cut off")
    assert (tmp_path / "run0.safetensors").is_file()


def test_an_encoder_to_start_from_is_taken_and_another_refused(monkeypatch, pack, tmp_path):
    network = build_network(architecture_for(UNET, EFFICIENTNET)).state_dict()
    encoder = {name.removeprefix("encoder."): each for name, each in network.items() if name.startswith("encoder.")}
    started = train_pack.build_network(read_pack(pack, CPU)[0]["recipes"]["styled"], encoder).state_dict()
    assert all(torch.equal(each, started[f"encoder.{name}"]) for name, each in encoder.items())
    save_file({"other": torch.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(SystemExit, match="holds no weights of tu-efficientnet_lite0"):
        trained(monkeypatch, pack, tmp_path, "--start", str(tmp_path / "other.safetensors"))
