import numpy as np
import pytest
import torch

from support.image_losses import (
    PreciseEngine,
    by_tiles,
    largest_error,
    partly_labeled,
    rank_by_tiles,
    sample,
    small_network,
    undivided,
)
from support.ranks import run_ranks
from training_core.errors import JobError
from training_core.learning.image_gradients import add_image_gradients
from training_core.learning.image_tiles import TilePlan
from training_core.models.engines import make_engine, why_not_ipex
from training_core.models.recompute import recompute_activations
from training_core.models.unet import Architecture, build_unet, freeze_stages, set_training_mode

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


def test_without_a_halo_they_have_not(network, whole):
    _, found = by_tiles(network, PRECISE, sample(*SHAPE), TilePlan(64, 0))
    assert largest_error(found, whole[1]) > 1e-3


def test_classes_and_center_lines_are_as_exact():
    model, image = small_network(classes=2), sample(200, 150, classes=2)
    expected = undivided(model, PRECISE, image, 0.3)
    loss, found = by_tiles(model, PRECISE, image, EXACT, 0.3)
    assert loss == pytest.approx(expected[0], rel=1e-12)
    assert largest_error(found, expected[1]) < 1e-10


def test_an_image_smaller_than_a_tile_passes_once(network):
    engine, image = PreciseEngine([]), sample(50, 70)
    expected = undivided(network, PRECISE, image, 0.3)
    loss, found = by_tiles(network, engine, image, EXACT, 0.3)
    assert loss == pytest.approx(expected[0], rel=1e-12) and largest_error(found, expected[1]) < 1e-10
    assert engine.computed == [64 * 96]


def test_gradients_add_up_weighted_by_the_image(network, whole):
    image, done = sample(*SHAPE), []
    by_tiles(network, PRECISE, image, EXACT, share=0.25)
    loss = add_image_gradients(network, PRECISE, image, EXACT, share=0.5, tick=done.append)
    assert loss == pytest.approx(0.5 * whole[0])
    found = {name: weights.grad / 0.75 for name, weights in network.named_parameters()}
    assert largest_error(found, whole[1]) < 1e-10
    assert done == [0.2, 0.4, 0.6, 0.8, 1.0]


@pytest.mark.parametrize(("size", "labeled_columns", "passes"), [(2, 200, [3, 1]), (3, 60, [1, 1, 1])])
def test_ranks_share_the_tiles_out(network, size, labeled_columns, passes):
    """Three tiles, of which the first rank has two; or one with labels, which the others go along with."""
    expected = undivided(network, PRECISE, partly_labeled(SHAPE, labeled_columns))
    ranks = run_ranks(rank_by_tiles, size, SHAPE, labeled_columns, EXACT.core_px, EXACT.halo_px)
    assert len({loss for loss, _, _ in ranks}) == 1 and ranks[0][0] == pytest.approx(expected[0], rel=1e-12)
    found = {name: sum(part[name] for _, part, _ in ranks) for name in expected[1]}
    assert largest_error(found, expected[1]) < 1e-10
    assert [len(computed) for _, _, computed in ranks] == passes


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


ENGINES = [("native", "fp32", 1e-5), ("native", "bf16", 0.02), ("ipex", "bf16", 0.02)]


@pytest.mark.parametrize(("name", "precision", "tolerance"), ENGINES)
def test_a_unet_is_exact_to_the_precision_of_its_engine(name, precision, tolerance):
    """With frozen stages, and activations recomputed."""
    if name == "ipex" and why_not_ipex():
        pytest.skip(why_not_ipex())
    torch.manual_seed(0)
    model, engine, image = (
        build_unet(Architecture("Unet", "resnet18", 4)),
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
