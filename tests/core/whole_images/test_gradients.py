import numpy as np
import pytest
import torch

from tests.core.support.bf16 import slow_if_emulated
from tests.core.support.image_losses import (
    PreciseEngine,
    by_tiles,
    largest_error,
    partly_labeled,
    sample,
    small_network,
    step_of_ranks,
    undivided,
)
from tests.core.support.ranks import run_ranks
from training_core.errors import JobError
from training_core.geodata.pixel_codes import BACKGROUND, ROAD
from training_core.models.architectures import Architecture, build_network, freeze_stages, set_training_mode
from training_core.models.engines import make_engine, why_not_ipex
from training_core.models.recompute import recompute_activations
from training_core.segmentation.measured import image_halo_px
from training_core.whole_images.step import add_image_gradients
from training_core.whole_images.tiles import TilePlan

SHAPE = 120, 200
EXACT = TilePlan(64, 32)
PRECISE = PreciseEngine([])


@pytest.fixture(scope="module")
def network():
    return small_network()


@pytest.fixture(scope="module")
def whole(network):
    return undivided(network, PRECISE, sample(*SHAPE))


def test_tiles_have_the_loss_and_the_gradients_of_the_undivided_image(network, whole):
    engine = PreciseEngine([])
    loss, found = by_tiles(network, engine, sample(*SHAPE), EXACT)
    assert loss == pytest.approx(whole[0], rel=1e-12)
    assert largest_error(found, whole[1]) < 1e-10
    # All but one of three tiles in a row pass twice.
    assert engine.computed == [128 * 128] * 5


def test_in_fp32_many_pixels_round_nothing_away():
    model, image = small_network(), sample(600, 900)
    image.training[image.training == BACKGROUND] = ROAD  # so that the gradients of all pixels add up
    _, expected = undivided(model, PRECISE, image)
    _, found = by_tiles(model.float(), make_engine("native", "fp32"), image, TilePlan(928, 32))
    assert largest_error(found, expected) < 1e-5


def test_classes_are_as_exact():
    model, image = small_network(classes=2), sample(200, 150, classes=2)
    expected = undivided(model, PRECISE, image)
    loss, found = by_tiles(model, PRECISE, image, EXACT)
    assert loss == pytest.approx(expected[0], rel=1e-12)
    assert largest_error(found, expected[1]) < 1e-10


def test_gradients_add_up_weighted_by_the_image(network, whole):
    image, done = sample(*SHAPE), []
    by_tiles(network, PRECISE, image, EXACT, fraction=0.25)
    loss = add_image_gradients(network, PRECISE, image, EXACT, fraction=0.5, tick=done.append)
    assert loss == pytest.approx(0.5 * whole[0])
    found = {name: weights.grad / 0.75 for name, weights in network.named_parameters()}
    assert largest_error(found, whole[1]) < 1e-10
    assert done == [0.2, 0.4, 0.6, 0.8, 1.0]


STEP = (200, 60), EXACT.core_px, EXACT.halo_px


def test_ranks_share_the_tiles_out_and_have_the_gradients_of_the_undivided_images(network):
    parts = [undivided(network, PRECISE, partly_labeled(SHAPE, columns, seed)) for seed, columns in ((0, 200), (1, 60))]
    expected = {name: sum(each[name] for _, each in parts) / 2 for name in parts[0][1]}
    ranks = run_ranks(step_of_ranks, 2, *STEP, True)
    for loss, found, _ in ranks:
        assert loss == pytest.approx(sum(each for each, _ in parts) / 2, rel=1e-12)
        assert largest_error(found, expected) < 1e-10
    # Of the first image's three tiles, the first rank computes one once and one twice; the second image has labels in
    # a single tile.
    assert [passed for _, _, passed in ranks] == [4, 1]


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_any_number_of_ranks_has_the_same_bits(size):
    ((loss, gradients, _),) = run_ranks(step_of_ranks, 1, *STEP, False)  # a new process, without the Intel extension
    for other, found, _ in run_ranks(step_of_ranks, size, *STEP, False):
        assert other == loss
        assert all(torch.equal(found[name], gradients[name]) for name in gradients)


def test_where_nothing_is_labeled_there_are_no_gradients(network):
    loss, found = by_tiles(network, PRECISE, partly_labeled(SHAPE, 0), EXACT)
    assert loss == 0 and not any(gradient.any() for gradient in found.values())


def test_a_loss_that_is_no_number_adds_no_gradients():
    model = small_network()
    model[-1].bias.data[0] = np.nan
    loss, found = by_tiles(model, PRECISE, sample(*SHAPE), EXACT)
    assert np.isnan(loss) and not found


def test_live_batch_normalization_is_refused():
    with pytest.raises(JobError, match="live batch normalization") as refusal:
        add_image_gradients(small_network().train(), PRECISE, sample(50, 70), EXACT)
    assert "batch_norm" in refusal.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["resnet18", "efficientnet_lite0"])
def test_the_measured_halo_is_exact_and_no_narrower_one_is(encoder):
    """For the architecture of the starter, too, with activations recomputed."""
    architecture = Architecture("Unet", encoder, 4)
    halo_px, model = image_halo_px(architecture), build_network(architecture).double().train()
    set_training_mode(model, 0, "frozen")
    core_px = 128
    image = sample(32, 2 * halo_px + core_px)
    loss, expected = undivided(model, PRECISE, image)
    exact, narrow = (by_tiles(recompute_activations(model), PRECISE, image, TilePlan(core_px, halo_px - less_px))
                     for less_px in (0, 32))  # fmt: skip
    assert exact[0] == pytest.approx(loss, rel=1e-12)
    assert largest_error(exact[1], expected) < 1e-12 < largest_error(narrow[1], expected)


ENGINES = [
    ("native", "fp32", 1e-5),
    *(pytest.param(name, "bf16", 0.02, marks=slow_if_emulated) for name in ("native", "ipex")),
]


@pytest.mark.parametrize(("name", "precision", "tolerance"), ENGINES)
def test_a_unet_is_exact_to_the_precision_of_its_engine(name, precision, tolerance):
    """With frozen stages, and activations recomputed."""
    if name == "ipex" and why_not_ipex():
        pytest.skip(why_not_ipex())
    torch.manual_seed(0)
    model, engine, image = (
        build_network(Architecture("Unet", "resnet18", 4)),
        make_engine(name, precision),
        sample(32, 704),
    )
    freeze_stages(model, 2)
    model, _ = engine.prepare_training(model, torch.optim.SGD(model.parameters(), 0.0))
    set_training_mode(model, 2, "frozen")
    expected = undivided(model, engine, image)
    assert not any(each.startswith(("encoder.conv1", "encoder.layer1")) for each in expected[1])
    _, found = by_tiles(recompute_activations(model), engine, image, TilePlan(64, 288))
    assert largest_error(found, expected[1]) < tolerance
