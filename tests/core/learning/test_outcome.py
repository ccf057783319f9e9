"""Weights between a base model's and a fine-tuned one's."""

import torch

from training_core.learning.outcome import interpolated


def test_weights_are_a_share_of_the_way_and_counters_those_of_the_tuned_model():
    base = {"weight": torch.tensor([0.0, 10.0]), "counter": torch.tensor(3)}
    tuned = {"weight": torch.tensor([1.0, 20.0]), "counter": torch.tensor(8)}
    assert interpolated(base, tuned, 0.7)["weight"].tolist() == torch.tensor([0.7, 17.0]).tolist()
    assert interpolated(base, tuned, 0.7)["counter"] == 8
    for share, expected in ((0.0, base), (1.0, tuned)):
        assert torch.equal(interpolated(base, tuned, share)["weight"], expected["weight"])
    assert base["weight"].tolist() == [0.0, 10.0] and tuned["weight"].tolist() == [1.0, 20.0]
