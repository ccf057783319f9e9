import numpy as np
import pytest
import torch

from training_core.learning.calibration import fit_calibration, with_scaled_logits
from training_core.models.architectures import Architecture, build_network
from training_core.segmentation.pixel_metrics import Confusion


def confusion_of(probability, truth):
    confusion = Confusion()
    confusion.add(np.rint(254 * probability).astype(np.uint8), np.asarray(truth, np.uint8))
    return confusion


def test_scale_and_shift_of_the_logits_are_found():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 200_000)
    truth = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    for scale, shift in ((1.0, 0.0), (0.5, 1.0), (1.5, -0.5)):
        said = 1 / (1 + np.exp(-(logits - shift) / scale))
        assert fit_calibration([confusion_of(said, truth)]) == pytest.approx((scale, shift), abs=0.1)


@pytest.mark.parametrize("truth", [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0], []])
def test_labels_that_say_nothing_of_the_probability_change_nothing(truth):
    said = np.array([0.1, 0.2, 0.8, 0.9])[: len(truth)]
    assert fit_calibration([confusion_of(said, truth)]) == (1.0, 0.0)


def test_perfectly_separated_labels_give_a_finite_line():
    scale, shift = fit_calibration([confusion_of(np.array([0.1, 0.4, 0.6, 0.9]), [0, 0, 1, 1])])
    assert 1 < scale < 100 and abs(shift) < 10


def test_the_logits_of_road_alone_are_scaled_and_shifted():
    network = build_network(Architecture(classes=2)).eval()
    scaled = build_network(Architecture(classes=2)).eval()
    scaled.load_state_dict(with_scaled_logits(network.state_dict(), 0.5, 1.0))
    image = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        before, after = network(image), scaled(image)
    torch.testing.assert_close(after[:, 0], before[:, 0] * 0.5 + 1.0)
    torch.testing.assert_close(after[:, 1], before[:, 1])
