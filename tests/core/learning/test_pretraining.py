import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from training_core.models.model_file import load_model, load_weights

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "starter"))

from pretrain import Run, train  # noqa: E402
from recipe import Recipe  # noqa: E402
from worlds import draw_batch, make_world, make_worlds, varied  # noqa: E402

pytestmark = pytest.mark.slow  # the starter is trained anew once in a while

SMALL = Recipe(scene_px=256, chip_px=64, batch_size=6, scenes=2)


TINY = Recipe(steps=2, scenes=1, scene_px=96, chip_px=64, batch_size=2)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starter")
    train(TINY, folder / "model.safetensors", folder / "compact.safetensors")
    return folder


def test_the_script_makes_a_model_of_any_image_and_a_compact_one(pretrained):
    _, card = load_model(str(pretrained / "model.safetensors"))
    weights, compact = load_weights(str(pretrained / "compact.safetensors"))
    assert card == compact
    assert (card.band_names, card.scaling, card.resolution_m) == (("red", "green", "blue"), "image", 0.3)
    assert card.license == "CC0-1.0"
    assert card.training["recipe"]["steps"] == card.training["steps"] == 2
    full = load_file(pretrained / "model.safetensors")
    assert weights.keys() == full.keys()
    assert (pretrained / "compact.safetensors").stat().st_size < 0.27 * (
        pretrained / "model.safetensors"
    ).stat().st_size


def test_a_run_goes_on_from_its_checkpoint_only_with_the_same_recipe(pretrained):
    checkpoint = pretrained / "model.checkpoint"
    assert Run(TINY, checkpoint).step == 2
    assert Run(replace(TINY, steps=3), checkpoint).step == 2
    with pytest.raises(SystemExit, match="another recipe"):
        Run(replace(TINY, scenes=2), checkpoint)


def test_a_world_is_its_number_and_its_labels_lie_on_roads():
    first, again = make_worlds(SMALL, [5, 5])
    assert np.array_equal(first.image, again.image)
    assert not np.array_equal(first.image, make_world(SMALL, -5).image)
    assert abs(first.image.astype(float).mean(axis=(1, 2))).max() < 0.01
    assert first.labels.shape == first.image.shape[1:] == (256, 256)
    assert 0 < first.labels.mean() < 0.6
    assert np.array_equal(first.roads, np.flatnonzero(first.labels))


def test_coarse_worlds_are_enlarged_to_the_size_of_the_others():
    worlds = {}
    for share in (0.0, 1.0):
        recipe = Recipe(scene_px=250, coarse_share=share, conditions_share=0.0)
        worlds[share] = np.stack([make_world(recipe, number).image for number in (-1, -2, -3)]).astype(float)
    assert worlds[0.0].shape == worlds[1.0].shape == (3, 3, 250, 250)
    rough = {share: np.abs(np.diff(images, axis=3)).mean() for share, images in worlds.items()}
    assert rough[1.0] < 0.8 * rough[0.0]


def test_first_worlds_are_plain_and_later_ones_varied():
    recipe = Recipe(scene_px=96, scenes=1, plain_steps=600)
    assert [make_world(recipe, number).is_varied for number in (0, 2, 9, -1)] == [False, True, True, True]


def test_a_batch_is_decided_by_its_number():
    worlds = make_worlds(SMALL, range(2))
    images, labels = draw_batch(SMALL, worlds, 7)
    again, _ = draw_batch(SMALL, worlds, 7)
    other, _ = draw_batch(SMALL, worlds, 8)
    assert images.shape == (6, 3, 64, 64) and labels.shape == (6, 64, 64)
    assert images.dtype == np.float32 and set(np.unique(labels)) <= {0, 1}
    assert np.array_equal(images, again) and not np.array_equal(images, other)
    assert labels.any()


def test_gray_chips_are_gray_and_colors_are_mixed():
    image = make_world(SMALL, 1).image.astype(np.float32)
    rng = np.random.default_rng(0)
    gray = varied(image, Recipe(gray_share=1.0, mixed_share=0.0, disturbed_share=0.0), rng)
    assert np.array_equal(gray[0], gray[1]) and np.array_equal(gray[0], gray[2])
    mixed = varied(image, Recipe(gray_share=0.0, mixed_share=1.0), rng)
    assert mixed.shape == image.shape and not np.allclose(mixed, image, atol=0.1)
