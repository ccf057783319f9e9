from dataclasses import replace

import numpy as np
import pytest
import rasterio
from safetensors.torch import load_file

from scripts.starter.chips import draw_batch
from scripts.starter.held_out import (
    THRESHOLDS,
    HeldOut,
    best_threshold,
    drawn_images,
    relaxed_f1,
    scene_images,
)
from scripts.starter.pretrain import (
    Run,
    engine_at_hand,
    held_out_images,
    learned_ground,
    taught_ground,
    teacher_predictor,
    train,
)
from scripts.starter.real_ground import (
    displaced_lines,
    read_ground,
    roadless_tiles,
)
from scripts.starter.recipe import ON_GROUND, Recipe
from scripts.starter.teacher import moved_lines, probability, sure_labels
from scripts.starter.worlds import World
from tests.core.support.devices import plug_in
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.models.engines import FP32, NativeEngine
from training_core.models.loading import load_network, load_weights
from training_core.segmentation.pixel_metrics import Confusion

pytestmark = pytest.mark.slow  # the starter is trained anew once in a while

ENGINE = NativeEngine(FP32)
SMALL = Recipe(scene_px=256, chip_px=64, batch_size=6, scenes=2)
TINY = Recipe(steps=2, scenes=1, scene_px=96, chip_px=64, batch_size=2)
TINY_ON_GROUND = replace(TINY, steps=4, steps_per_world=2, validation_steps=2, ground_shares=ON_GROUND.ground_shares)


def write(path, bands):
    """Write bands of 8 bits in the format that the file's name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    driver = "PNG" if path.suffix == ".png" else "JPEG"
    shape = {"count": len(bands), "height": bands.shape[1], "width": bands.shape[2]}
    with rasterio.open(path, "w", driver=driver, dtype="uint8", **shape) as dataset:
        dataset.write(bands)


@pytest.fixture(scope="module")
def ground_folder(tmp_path_factory):
    """Return a folder as that of real ground: of each source, a striped image to learn from and one held out."""
    folder, rng = tmp_path_factory.mktemp("ground"), np.random.default_rng(0)
    mask = np.zeros((1, 200, 220), dtype=np.uint8)
    mask[0, 97:104] = 255
    mask[0, :, 200:] = 127
    for source, names in (("massachusetts", ("10078735_15", "18778720_15")), ("dubai", ("t1_001", "t3_001"))):
        for name in names:
            image = rng.integers(60, 120, (3, 200, 220), dtype=np.uint8) + mask // 4
            image[:, :, 200:] = 255
            write(folder / source / "images" / f"{name}.jpg", image)
            write(folder / source / "masks" / f"{name}.png", mask)
    write(folder / "ucmerced" / "freeway" / "freeway00.jpg", rng.integers(0, 255, (3, 256, 256), dtype=np.uint8))
    for kind, number in roadless_tiles():
        if kind == "river" and number in (7, 83):
            tile = rng.integers(0, 255, (3, 256, 256), dtype=np.uint8)
            write(folder / "ucmerced" / kind / f"{kind}{number:02}.jpg", tile)
    return folder


@pytest.fixture(scope="module")
def few_tiles():
    """Have but two of the tiles without roads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scripts.starter.real_ground.roadless_tiles", lambda: [("river", 7), ("river", 83)])
        yield


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starter")
    run = Run(TINY, folder / "model.checkpoint", "", {}, held_out_images(TINY, []), ENGINE)
    train(run, {}, folder / "model.safetensors", folder / "compact.safetensors")
    return folder


def test_the_script_makes_a_model_of_any_image_and_a_compact_one(pretrained):
    _, card = load_network(str(pretrained / "model.safetensors"))
    weights, compact = load_weights(str(pretrained / "compact.safetensors"))
    assert card == compact
    assert (card.band_names, card.scaling, card.resolution_m) == (("red", "green", "blue"), "image", 0.3)
    assert card.training["recipe"]["steps"] == card.training["steps"] == 2
    full = load_file(pretrained / "model.safetensors")
    assert weights.keys() == full.keys()
    assert (pretrained / "compact.safetensors").stat().st_size < 0.27 * (
        pretrained / "model.safetensors"
    ).stat().st_size


def test_the_device_that_is_there_trains_the_starter_unless_it_is_forbidden(monkeypatch, capsys):
    plug_in(monkeypatch)
    assert engine_at_hand(FP32).title == "cuda (a fake GPU)"
    assert "cuda (a fake GPU) in fp32" in capsys.readouterr().out
    monkeypatch.setenv("ROADSEG_DEVICE", "cpu")
    assert engine_at_hand(FP32) == NativeEngine(FP32)


def test_a_run_goes_on_from_its_checkpoint_only_with_the_same_recipe(pretrained):
    checkpoint = pretrained / "model.checkpoint"
    assert Run(TINY, checkpoint, "", {}, {}, ENGINE).step == 2
    assert Run(replace(TINY, steps=3), checkpoint, "", {}, {}, ENGINE).step == 2
    with pytest.raises(SystemExit, match="another recipe"):
        Run(replace(TINY, scenes=2), checkpoint, "", {}, {}, ENGINE)


def test_training_goes_on_with_real_ground_and_names_where_it_is_from(
    pretrained, ground_folder, few_tiles, tmp_path, capsys
):
    grounds = learned_ground(ground_folder, ())
    assert "massachusetts: 1 images" in capsys.readouterr().out
    held_out = held_out_images(TINY_ON_GROUND, read_ground(ground_folder, is_held_out=True))
    assert held_out.keys() == {"scenes", "massachusetts", "dubai", "roadless"}
    start = str(pretrained / "model.safetensors")
    run = Run(TINY_ON_GROUND, tmp_path / "model.checkpoint", start, grounds, held_out, ENGINE)
    drawn = drawn_images(read_ground(ground_folder, is_held_out=True), 0.3)
    assert drawn.keys() == {"massachusetts", "dubai"}
    train(run, drawn, tmp_path / "model.safetensors", tmp_path / "compact.safetensors")
    weights, card = load_weights(str(tmp_path / "model.safetensors"))
    assert card.threshold in THRESHOLDS
    before = load_weights(start)[1].training
    assert card.training["before"] == [{"steps": before["steps"], "minutes": before["minutes"], "seed": 0}]
    assert card.training["steps"] in (2, 4) and "OpenStreetMap" in card.training["attribution"]["massachusetts"]
    resumed = Run(TINY_ON_GROUND, tmp_path / "model.checkpoint", start, grounds, held_out, ENGINE)
    assert (resumed.step, resumed.best_step) == (4, run.best_step)
    name, scale = "segmentation_head.0.weight", card.training["calibration"]["scale"]
    np.testing.assert_allclose(resumed.chosen()[name] * scale, weights[name], rtol=0.01, atol=1e-4)


def test_a_teacher_relabels_displaced_lines_and_towns(pretrained, ground_folder, few_tiles, tmp_path):
    grounds = learned_ground(ground_folder, ())
    teacher = teacher_predictor(str(pretrained / "model.safetensors"), ENGINE)
    found = taught_ground(ground_folder, grounds, teacher, TINY_ON_GROUND)
    assert found.keys() == {"massachusetts", "dubai", "roadless", "towns"}
    assert found["dubai"] == grounds["dubai"] and found["roadless"] == grounds["roadless"]
    town = found["towns"][0]
    seen = probability(town, teacher, 0.5)
    assert seen.shape == town.labels.shape
    assert (town.labels == sure_labels(town.labels, seen)).all()
    run = Run(TINY_ON_GROUND, tmp_path / "model.checkpoint", "", found, {}, ENGINE)
    assert np.isfinite(run._train_step(*draw_batch(TINY_ON_GROUND, run._worlds(), found, 0)))


def test_lines_move_to_where_the_teacher_sees_the_road():
    mask = np.zeros((60, 30), dtype=np.uint8)
    mask[20:27] = 255
    seen = np.zeros(mask.shape, dtype=np.float32)
    seen[27:31, :12] = 0.9  # the road, four pixels below the line, in the left part
    seen[50:53] = 0.9  # a road without a line
    moved = moved_lines(displaced_lines(mask), seen)
    assert np.flatnonzero(moved[:, 2] == ROAD).tolist() == [27, 28, 29, 30]
    assert (moved[22:25, 2] == BACKGROUND).all()
    assert np.flatnonzero(moved[:, 28] == ROAD).tolist() == [22, 23, 24]  # nothing seen there: the line stays
    assert (moved[50:53] == BACKGROUND).all()


def test_real_ground_is_held_out_by_neighborhood_group_and_tile(ground_folder, few_tiles):
    learned, held_out = ([each.name for each in read_ground(ground_folder, is_held_out=flag)] for flag in (False, True))
    assert learned == ["10078735_15", "t1_001", "river07"] and held_out == ["18778720_15", "t3_001", "river83"]
    assert read_ground(ground_folder / "nowhere", is_held_out=False) == []


def test_labels_forgive_displaced_lines():
    mask = np.zeros((40, 30), dtype=np.uint8)
    mask[15:22] = 255
    mask[:, 25:] = 127
    labels = displaced_lines(mask)[:, 10]
    assert np.flatnonzero(labels == ROAD).tolist() == [17, 18, 19]
    assert np.flatnonzero(labels != BACKGROUND).tolist() == list(range(10, 27))
    assert (displaced_lines(mask)[:, 25:] == IGNORE).all()
    assert (displaced_lines(np.zeros((5, 5), dtype=np.uint8)) == BACKGROUND).all()


class FirstBand:
    """Stands for a predictor: the probability is the image's first band."""

    def probability(self, values, known):
        return values[0]


def test_the_threshold_keeps_roads_and_leaves_what_is_far_from_them():
    images = {}
    for source, on_road in (("scenes", 0.9), ("dubai", 0.42)):
        labels = np.zeros((100, 100), dtype=np.uint8)
        labels[40:50] = ROAD
        image = np.zeros((3, 100, 100), dtype=np.float32)
        image[0, 36:54] = on_road  # wider than the road by 1.2 m on both sides, within the tolerance
        image[0, 80:95] = 0.32  # 9 m beside it
        images[source] = scene_images([World(image, labels, np.flatnonzero(labels), True)])
    f1 = relaxed_f1(FirstBand(), images, 0.3)
    for source, last in (("scenes", 0.65), ("dubai", 0.4)):
        np.testing.assert_allclose(f1[source][np.array(THRESHOLDS) <= 0.3], 2 / (1 + 33 / 18))
        is_between = (np.array(THRESHOLDS) >= 0.35) & (np.array(THRESHOLDS) <= last)
        np.testing.assert_array_equal(f1[source][is_between], 1.0)
    assert f1["dubai"][THRESHOLDS.index(0.45)] == 0.0
    assert best_threshold(f1) == 0.35


def test_false_road_on_roadless_tiles_counts_against_a_model():
    road, roadless = Confusion(), Confusion()
    road.add(np.array([250] * 90 + [10] * 110, np.uint8), np.array([ROAD] * 100 + [BACKGROUND] * 100, np.uint8))
    roadless.add(np.array([250] * 25 + [10] * 75, np.uint8), np.full(100, BACKGROUND, np.uint8))
    found = HeldOut({"dubai": road, "roadless": roadless})
    assert found.f1() == {"dubai": pytest.approx(180 / 190)}
    assert found.false_share() == 0.25 and found.score == pytest.approx(180 / 190 - 0.25)
