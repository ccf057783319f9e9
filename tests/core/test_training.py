import numpy as np
import pytest
import torch
from affine import Affine
from rasterio.crs import CRS

from training_core.engines import Engine, why_not_ipex
from training_core.errors import Cancelled
from training_core.events import Metric, Reporter
from training_core.examples import LabeledImage
from training_core.grid import Grid
from training_core.imagery import Band
from training_core.model import Architecture, build_network
from training_core.trainer import PARTS, Trainer
from training_core.training import WARM_UP_SHARE, Budget, train

ARCHITECTURE = Architecture(encoder="resnet18", in_channels=1)


@pytest.fixture
def image():
    """Ground on which a bright stripe is road; the lower half of it is kept apart."""
    values = np.full((1, 128, 128), 50, np.uint8)
    values[:, :, 40:60] = 200
    label = (values[0] > 100).astype(np.uint8)
    upper, lower = label.copy(), label.copy()
    upper[64:], lower[:64] = 255, 255
    grid = Grid(CRS.from_epsg(32633), Affine(1, 0, 390000, 0, -1, 5820000), 128, 128)
    return LabeledImage("stripe.tif", grid, values, np.ones((128, 128), bool), upper, lower, (Band("a", 100.0, 60.0),))


def batches(image):
    chips = ((image.values[None, :, :64] - 100.0) / 60.0).astype(np.float32).repeat(2, axis=0)
    labels = image.training[None, :64].repeat(2, axis=0)
    while True:
        yield chips, labels


NATIVE_FP32 = Engine("native", "fp32")


def new_trainer(engine=NATIVE_FP32):
    torch.manual_seed(0)
    return Trainer(build_network(ARCHITECTURE), engine)


def test_the_rate_warms_up_peaks_and_falls():
    budget = Budget(100.0, 0.01)
    rates = [budget.rate(second) for second in range(0, 120)]
    assert np.argmax(rates) == pytest.approx(100 * WARM_UP_SHARE, abs=1)
    assert max(rates) == pytest.approx(0.01, rel=0.02) and rates[0] < 0.001 and rates[100] <= 0.0001
    assert all(early >= late > 0 for early, late in zip(rates[6:], rates[7:]))


def test_training_learns_within_its_time_and_keeps_the_best(image):
    told = []
    trained, history = train(new_trainer(), batches(image), [image], Budget(8.0, 0.003), Reporter(told.append))
    assert history.steps[-1][1] < 16 and history.images_seen == 2 * len(history.steps)
    assert trained.scores.f1 == max(scores.f1 for _, _, scores in history.validations)
    assert trained.scores.f1 > 0.5  # all road would give 0.27; how much more depends on the machine's speed
    assert trained.confusion.scores(trained.threshold) == trained.scores
    assert {event.name for event in told if isinstance(event, Metric)} == {"loss", "validation_f1", "validation_iou"}
    assert sum(history.timings_s.values()) == pytest.approx(history.steps[-1][1], abs=2)


def test_even_no_time_at_all_gives_a_validated_state(image):
    trained, history = train(new_trainer(), batches(image), [image], Budget(0.01, 0.001), Reporter())
    assert len(history.validations) >= 1 and trained.weights


def test_a_stop_ends_training_and_closes_the_batches(image):
    drawn = batches(image)
    with pytest.raises(Cancelled):
        train(new_trainer(), drawn, [image], Budget(60.0, 0.001), Reporter(is_cancelled=lambda: True))
    with pytest.raises(StopIteration):
        next(drawn)


def test_a_step_lowers_the_loss_and_is_timed(image):
    trainer, (chips, labels) = new_trainer(), next(batches(image))
    losses = [trainer.step(chips, labels, 0.001) for _ in range(8)]
    assert losses[-1] < losses[0]
    assert set(trainer.timings_s) == set(PARTS) and trainer.timings_s["backward"] > 0


def test_the_same_steps_give_the_same_weights(image):
    chips, labels = next(batches(image))
    weights = []
    for _ in range(2):
        trainer = new_trainer()
        for _ in range(3):
            trainer.step(chips, labels, 0.001)
        weights.append(trainer.weights())
    for name, tensor in weights[0].items():
        torch.testing.assert_close(tensor, weights[1][name], rtol=0, atol=1e-6)


@pytest.mark.skipif(why_not_ipex() is not None, reason="the Intel extension is not installed")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_weights_trained_with_ipex_are_those_of_a_plain_network(image, precision):
    trainer, (chips, labels) = new_trainer(Engine("ipex", precision)), next(batches(image))
    for _ in range(8):
        trainer.step(chips, labels, 0.001)
    plain = build_network(ARCHITECTURE)
    plain.load_state_dict(trainer.weights())
    assert all(tensor.dtype in (torch.float32, torch.int64) for tensor in trainer.weights().values())
    sweeps = [[scores.f1 for scores in one.validate([image]).sweep()] for one in (trainer, Trainer(plain, NATIVE_FP32))]
    assert max(sweeps[0]) > 0.3
    np.testing.assert_allclose(*sweeps, atol=0.03 if precision == "fp32" else 0.1)
