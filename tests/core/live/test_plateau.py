"""Plateau detection: it ends a training that no longer improves, and no other."""

import numpy as np

from training_core.live.learner import MAX_DRAWING_STEPS, WINDOW_STEPS, Plateau


def steps_to_end(losses):
    plateau = Plateau()
    for step, loss in enumerate(losses, 1):
        plateau.add(loss)
        if plateau.is_reached:
            return step
    return None


def test_a_loss_that_stays_ends_learning_soon():
    noise = np.random.default_rng(0).normal(0.3, 0.05, 1000)
    assert steps_to_end(noise) <= 8 * WINDOW_STEPS


def test_a_loss_that_falls_goes_on():
    assert steps_to_end(0.995 ** np.arange(500)) is None


def test_no_drawing_is_learned_for_ever():
    assert steps_to_end(0.99 ** np.arange(5000)) == MAX_DRAWING_STEPS


def test_new_labels_start_again():
    plateau = Plateau()
    for _ in range(MAX_DRAWING_STEPS):
        plateau.add(0.3)
    assert plateau.is_reached
    plateau.restart()
    assert not plateau.is_reached
