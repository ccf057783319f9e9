import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
import shapely
import torch
from affine import Affine
from safetensors import safe_open
from shapely import affinity
from shapely.geometry import LineString, box

from tests.core.support.rasters import NORTH_UP, files, write_layer, write_raster
from tests.core.support.towns import RGB, ROAD_M, ROADS, SIDE_PX, image_of, make_town, on_map, true_roads
from training_core.errors import Cancelled, ImageryError, JobError, OutputError
from training_core.events import Metric, Reporter, Warning
from training_core.geodata.pixel_codes import NO_DATA
from training_core.geodata.rasters import normalize
from training_core.jobs import FineTune, Segment
from training_core.jobs.recipe import CAREFUL_RATE
from training_core.learning.calibration import with_scaled_logits
from training_core.learning.outcome import TOLERANCE
from training_core.models.architectures import Architecture
from training_core.models.loading import load_network
from training_core.models.model_file import save_model
from training_core.pipelines import finetune, segment

pytestmark = pytest.mark.usefixtures("enough_memory")


def fine_tune(folder, reporter=None, **options):
    """Fine-tune for a moment; return the result and the model's network and card."""
    defaults = {
        "minutes": 0.005,  # fewer than a job may have, and enough for a step
        "chip_px": 64,
        "batch_size": 2,
        "width_m": ROAD_M,
        "engine": "native",
        "precision": "fp32",
        "threads": 1,
        "base_model": "",
        "encoder": "auto" if options.get("base_model") else "resnet18",
        "model": str(folder / "model.safetensors"),
    }
    result = finetune.run(FineTune(**{**defaults, **options}), reporter or Reporter())
    return result, *load_network(result["model"])


def on_town(town, **options):
    return {**town.labeled, **options}


def test_it_learns_the_roads_that_are_drawn(learned):
    validation = learned.result["validation"]
    assert validation["f1"] > 0.8 and validation["iou"] > 0.65
    assert set(validation) == {"iou", "f1", "precision", "recall"}
    assert learned.result["steps"] == 24 and learned.result["images_per_s"] > 0
    assert 0 < learned.result["threshold"] < 1
    assert learned.result["engine"] == "native" and learned.result["precision"] in ("bf16", "fp32")
    assert json.loads(json.dumps(learned.result)) == learned.result


def test_the_model_says_what_it_is_and_how_it_came_to_be(learned, town):
    network, card = load_network(learned.model)
    assert card.band_names == RGB and card.resolution_m == pytest.approx(1, rel=0.01)
    assert card.threshold == learned.result["threshold"] and card.metrics == learned.result["validation"]
    assert card.training["images"] == ["town.tif"] and card.training["steps"] == learned.result["steps"]
    assert card.training["base_model"] == "model.safetensors" and card.chip_px == 96
    assert card.versions["torch"] == torch.__version__.split("+")[0] and "roadseg" in card.versions
    means = image_of(true_roads()).mean(axis=(1, 2))
    assert [band.mean for band in card.bands] == pytest.approx(means, rel=0.05)
    values = image_of(true_roads(), seed=9)
    with torch.inference_mode():
        logits = network(torch.from_numpy(normalize(values, np.ones(values.shape[1:], bool), card.bands))[None])
    found = (torch.sigmoid(logits)[0, 0] >= card.threshold).numpy()
    assert (found & true_roads()).sum() / (found | true_roads()).sum() > 0.65
    with safe_open(learned.model, framework="pt") as file:
        assert not any("user" in text or str(Path(town.raster).parent) in text for text in file.metadata().values())


def test_the_report_stands_beside_it(learned):
    report = Path(learned.report).read_text(encoding="utf-8")
    assert report.startswith("<!DOCTYPE html>") and "town.tif" in report
    assert f"{learned.result['validation']['f1']:.2f}" in report
    assert files(Path(learned.model).parent) == ["report.html", "town model.safetensors"]


def test_uint16_images_of_more_bands_and_polygons_teach_and_one_without_roads_is_left_out_with_a_word(tmp_path):
    first = make_town(tmp_path, "first", bands=5, dtype="uint16", polygons=True)
    second = make_town(tmp_path, "second", bands=5, dtype="uint16")
    far = image_of(np.zeros((64, 64), bool), 5).astype(np.uint16)
    far = write_raster(tmp_path / "far.tif", far, transform=NORTH_UP @ Affine.translation(9000, 0))
    rasters, events = (far, first.raster, second.raster), []
    result, network, card = fine_tune(
        tmp_path / "out", Reporter(events.append), rasters=rasters, roads=first.roads, aoi=first.aoi, bands=(1, 2, 3, 5)
    )
    assert card.band_names == (*RGB, "band 5") and card.architecture.in_channels == 4
    assert network.encoder.conv1.weight.shape[1] == 4
    assert all(10_000 < band.mean < 30_000 and 1000 < band.std < 12_000 for band in card.bands)
    assert card.training["images"] == ["first.tif", "second.tif"]
    assert any("far.tif; it is left out" in event.message for event in events if isinstance(event, Warning))
    assert result["steps"] >= 1 and result["validation"]["recall"] >= 0
    assert files(tmp_path / "out") == ["model.safetensors"]


def test_a_base_model_passes_on_what_it_knows_and_its_encoder_learns_slowly(town, planted, tmp_path):
    base, base_card = load_network(planted)
    named, attribution = str(tmp_path / "named.safetensors"), {"lines": "© the contributors"}
    save_model(Path(named), base.state_dict(), dataclasses.replace(base_card, training={"attribution": attribution}))
    settled = {"learning_rate": 1e-3, "steps": 2, "interpolation": "no"}
    _, network, card = fine_tune(tmp_path, **on_town(town, base_model=named, **settled))
    assert card.architecture == base_card.architecture and card.attribution == attribution
    assert card.training["encoder_rate"] == CAREFUL_RATE
    encoder, decoder = (
        max((a - b).abs().max() for a, b in zip(*(getattr(each, part).parameters() for each in (network, base))))
        for part in ("encoder", "decoder")
    )
    assert decoder < 0.01
    assert (encoder / decoder).item() == pytest.approx(
        CAREFUL_RATE, rel=0.2
    )  # Adam moves each weight by about the rate


def test_the_model_keeps_some_of_its_base_models_weights_and_its_threshold_where_that_costs_little(
    town, planted, tmp_path
):
    base, base_card = load_network(planted)
    starter = str(tmp_path / "starter.safetensors")
    save_model(Path(starter), base.state_dict(), dataclasses.replace(base_card, threshold_by_image=True))
    options = on_town(town, base_model=starter, steps=3, precision="fp32", learning_rate=1e-4)
    _, tuned, plain = fine_tune(tmp_path / "plain", **options, interpolation="no")
    _, found, card = fine_tune(tmp_path / "interpolated", **options)
    (note,) = [note for note in card.training["notes"] if "interpolation" in note]
    share = int(re.search(r"(\d+)% of the way", note)[1]) / 100
    for (name, value), start, end in zip(
        found.encoder.named_parameters(), base.encoder.parameters(), tuned.encoder.parameters()
    ):
        torch.testing.assert_close(value, start.lerp(end, share), atol=1e-7, rtol=1e-5, msg=name)
    assert card.metrics["f1"] >= plain.metrics["f1"] - TOLERANCE
    assert card.threshold_by_image and not plain.threshold_by_image
    assert not any("interpolation" in note for note in plain.training["notes"])


@pytest.mark.slow
def test_a_base_model_of_other_bands_adapts_and_its_encoder_learns_like_the_rest(planted, tmp_path):
    gray = make_town(tmp_path, "gray", bands=1)
    events = []
    _, network, card = fine_tune(
        tmp_path, Reporter(events.append), **on_town(gray, base_model=planted, learning_rate=1e-7)
    )
    assert len(card.bands) == 1 and card.training["encoder_rate"] == 1
    filters = load_network(planted)[0].encoder.conv1.weight
    torch.testing.assert_close(network.encoder.conv1.weight, filters.mean(1, keepdim=True) * 3, atol=1e-4, rtol=0)
    warnings = [event.message for event in events if isinstance(event, Warning)]
    (message,) = [message for message in warnings if "gray.tif has 1 image bands" in message]
    assert "All bands of the image are used" in message


def test_a_cancelled_run_leaves_nothing_but_its_checkpoint(town, tmp_path):
    events = []
    reporter = Reporter(events.append, lambda: any(isinstance(event, Metric) for event in events))
    with pytest.raises(Cancelled):
        fine_tune(tmp_path, reporter, **on_town(town, report=str(tmp_path / "report.html"), minutes=5.0))
    assert files(tmp_path) == ["model.safetensors.checkpoint"]


@pytest.mark.parametrize("field", ["model", "report"])
def test_it_does_not_write_over_what_it_reads(town, planted, tmp_path, field):
    layer = write_layer(tmp_path / "aoi.gpkg", on_map(box(0, 0, SIDE_PX, SIDE_PX)))
    before = Path(layer).read_bytes()
    options = on_town(town, base_model=planted, aoi=f"{layer}|layername=aoi", **{field: layer})
    with pytest.raises(OutputError, match=r"aoi\.gpkg is an input"):
        fine_tune(tmp_path, **options)
    assert Path(layer).read_bytes() == before and files(tmp_path) == ["aoi.gpkg"]


def test_images_of_different_bands_are_refused(town, tmp_path):
    other = make_town(tmp_path, "other", bands=1)
    with pytest.raises(ImageryError, match=r"other\.tif has 1 bands, but .*town\.tif has 3"):
        fine_tune(tmp_path / "out", **on_town(town, rasters=(town.raster, other.raster)))
    assert files(tmp_path / "out") == []


@pytest.mark.slow
def test_another_network_learns_and_segments_with_the_halo_that_was_measured(town, tmp_path):
    name, encoder = "FPN", "efficientnet_lite0"
    _, _, card = fine_tune(tmp_path, **on_town(town, architecture=name, encoder=encoder, steps=2))
    assert card.architecture == Architecture(name, encoder)
    job = Segment(raster=town.raster, model=str(tmp_path / "model.safetensors"), mask=str(tmp_path / "mask.tif"))
    assert segment.run(job, Reporter())["mask"]
    with pytest.raises(JobError, match="every pixel depends on the whole image"):
        segment.run(dataclasses.replace(job, halo="exact"), Reporter())
    again = {"base_model": str(tmp_path / "model.safetensors"), "model": str(tmp_path / "again.safetensors")}
    assert fine_tune(tmp_path, **on_town(town, steps=1, **again))[2].architecture == card.architecture


def test_what_only_a_unet_can_do_is_refused_of_other_networks(town, tmp_path):
    fine_tune(tmp_path, **on_town(town, architecture="FPN", encoder="resnet18", steps=1))
    base = {"base_model": str(tmp_path / "model.safetensors"), "model": str(tmp_path / "again.safetensors")}
    for options, what in (
        ({"sample": "image", "batch_norm": "frozen"}, "Whole images"),
        ({"recompute": "yes"}, "Recomputed activations"),
    ):
        with pytest.raises(JobError, match=f"{what}.*this model is a FPN with resnet18"):
            fine_tune(tmp_path, **on_town(town, **base, **options))
    assert not (tmp_path / "again.safetensors").exists()


def test_probability_is_as_high_as_held_out_labels_say(town, learned, tmp_path):
    network, card = load_network(learned.model)
    boastful = str(tmp_path / "boastful.safetensors")
    save_model(Path(boastful), with_scaled_logits(network.state_dict(), 1.0, 8.0), card)
    _, tuned, _ = fine_tune(tmp_path, **on_town(town, base_model=boastful, steps=1, learning_rate=1e-9))
    values = normalize(image_of(true_roads()), np.ones((SIDE_PX, SIDE_PX), bool), card.bands)
    with torch.inference_mode():
        before, after = (
            torch.sigmoid(each(torch.from_numpy(values)[None]))[0, 0].mean().item()
            for each in (load_network(boastful)[0], tuned)
        )
    said_too_much = before - true_roads().mean()
    assert said_too_much > 0.15 and abs(after - true_roads().mean()) < 0.3 * said_too_much


def drawn_wrong(folder, kind):
    shapes = {
        "beside": [affinity.translate(road, 14, 10) for road in ROADS],
        "inverted": [box(0, 0, SIDE_PX, SIDE_PX).difference(shapely.union_all([r.buffer(6) for r in ROADS]))],
        "off": [LineString([(90, 5), (60, 90)]), LineString([(10, 0), (20, 90)]), LineString([(170, 110), (80, 180)])],
    }[kind]
    return write_layer(folder / f"{kind}.gpkg", *map(on_map, shapes))


_SLOW = pytest.mark.slow


@pytest.mark.parametrize("kind", ["beside", pytest.param("inverted", marks=_SLOW), pytest.param("off", marks=_SLOW)])
def test_where_labels_are_wrong_the_base_model_is_handed_over_and_the_reason_is_told(town, learned, tmp_path, kind):
    events, report = [], tmp_path / "report.html"
    options = on_town(town, base_model=learned.model, steps=6, learning_rate=0.001, report=str(report))
    options["roads"] = drawn_wrong(tmp_path, kind)
    result, network, card = fine_tune(tmp_path, Reporter(events.append), **options)
    base, base_card = load_network(learned.model)
    for value, start in zip(network.state_dict().values(), base.state_dict().values()):
        assert torch.equal(value, start)
    assert card.threshold == base_card.threshold == result["threshold"] and card.bands == base_card.bands
    why = result["why_base_model"]
    assert why in [event.message for event in events if isinstance(event, Warning)]
    assert any(note in why for note in card.training["notes"]) and "base model is kept" in report.read_text("utf-8")
    assert "the model finds" not in report.read_text("utf-8")
    assert ("17 m to the south-east" in why and "move_roads" in why) == (kind == "beside")
    assert result["steps"] == 0  # they are not learned first


def test_masks_beside_the_roads_are_not_to_be_moved_as_lines_are(town, learned, tmp_path):
    beside = np.full((SIDE_PX, SIDE_PX), NO_DATA, np.uint8)
    beside[10:, 14:] = true_roads()[:-10, :-14]
    mask = write_raster(tmp_path / "town_mask.tif", beside)
    options = {"rasters": (town.raster,), "masks": (mask,), "base_model": learned.model, "steps": 1}
    why = fine_tune(tmp_path, **options)[0]["why_base_model"]
    assert "17 m to the south-east" in why and "Correct the labels" in why and "move_roads" not in why


def test_where_nothing_is_gained_the_base_model_is_handed_over(town, learned, tmp_path):
    options = on_town(town, base_model=learned.model, steps=2, learning_rate=0.01)
    result, network, card = fine_tune(tmp_path, **options)
    assert not any("of the way" in note for note in card.training["notes"])
    assert "nothing was gained" in result["why_base_model"] and result["steps"] == 2
    base = load_network(learned.model)[0].state_dict()
    assert all(torch.equal(value, base[name]) for name, value in network.state_dict().items())


@pytest.mark.slow
def test_a_start_of_other_bands_is_none_to_compare_with(learned, tmp_path):
    gray = make_town(tmp_path, "gray", bands=1)
    result, _, card = fine_tune(tmp_path, **on_town(gray, base_model=learned.model, learning_rate=1e-7))
    assert result["why_base_model"] == "" and len(card.bands) == 1
