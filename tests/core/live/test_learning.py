"""The choice of chips, the model as it learns and forgets, and the plateau that ends learning."""

import numpy as np
import pytest
import torch
from shapely.geometry import box

from tests.core.support.towns import ROADS, SIDE_PX, on_map
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.jobs import LabelOptions
from training_core.live import learner as learner_module
from training_core.live.chip_choice import FRESH_VISITS, ChipChoice
from training_core.live.commands import Change
from training_core.live.drawn_labels import DrawnLabels
from training_core.live.learner import BATCH, MAX_DRAWING_STEPS, WINDOW_STEPS, Learner, Plateau

CHIP_PX = 64
OPTIONS = LabelOptions(width_m=10.0, background_m=20.0)


@pytest.fixture
def labels(desk):
    return DrawnLabels(desk.grid, OPTIONS)


@pytest.fixture
def choice(desk, labels):
    return ChipChoice(desk.windows, labels, desk.base.card.bands, CHIP_PX, seed=0)


def draw(labels, choice, *numbers):
    changed = labels.change([Change("roads", str(number), on_map(ROADS[number])) for number in numbers])
    choice.renew(changed.blocks)
    return set(changed.blocks)


def learn(learner, steps):
    return [learner.step()[0] for _ in range(steps)]


def test_without_labels_there_is_nothing_to_learn(labels, choice):
    assert not choice.has_any
    draw(labels, choice, 0)
    assert choice.has_any
    labels.change([Change("roads", "0", None)])
    choice.renew([])
    assert not choice.has_any


def test_what_is_new_comes_first_and_all_of_it_soon(labels, choice):
    draw(labels, choice, 0)
    for _ in range(20):
        choice.draw(BATCH)
    assert not choice.draw(BATCH)[2]
    new = draw(labels, choice, 1)
    _, _, seen = choice.draw(BATCH)
    assert seen & new
    for _ in range(2 * FRESH_VISITS * len(new)):
        seen |= choice.draw(BATCH)[2]
    assert seen >= new and not choice.draw(BATCH)[2]


def test_a_stroke_comes_before_what_was_drawn_earlier_and_is_not_learned_yet(labels, choice):
    draw(labels, choice, 0, 2, 3)
    new = draw(labels, choice, 1)
    assert choice.draw(BATCH)[2] & new
    choice.settle()
    assert choice.has_any and not choice.draw(BATCH)[2]


def test_chips_hold_the_image_and_its_labels(labels, choice):
    draw(labels, choice, *range(len(ROADS)))
    roads = []
    for _ in range(10):
        chips, truth, _ = choice.draw(BATCH)
        assert chips.shape == (BATCH, 3, CHIP_PX, CHIP_PX) and truth.shape == (BATCH, CHIP_PX, CHIP_PX)
        assert set(np.unique(truth)) <= {BACKGROUND, ROAD, IGNORE} and np.isfinite(chips).all()
        roads += [chips[:, 0][truth == ROAD].mean() - chips[:, 0][truth == BACKGROUND].mean()]
    assert min(roads) > 0.5  # roads are bright, so image and labels are turned alike


def test_what_the_base_model_says_is_rehearsed_by_one_chip_of_a_step_and_labels_come_first(labels, choice):
    draw(labels, choice, 0)
    everywhere = np.full((CHIP_PX, CHIP_PX), ROAD, dtype=np.uint8)
    choice.rehearse(0, 0, everywhere)
    *_, rehearsed = choice.draw(BATCH)[1]
    is_drawn = labels.read_all(0, 0, CHIP_PX, CHIP_PX) != IGNORE
    assert np.count_nonzero(rehearsed == ROAD) > 0.8 * np.count_nonzero(~is_drawn)
    labels.change([Change("no_road", "all", on_map(box(0, 0, SIDE_PX, SIDE_PX)))])
    *_, rehearsed = choice.draw(BATCH)[1]
    drawn = labels.read(0, 0, CHIP_PX, CHIP_PX) == ROAD
    assert np.count_nonzero(rehearsed == ROAD) <= np.count_nonzero(drawn)


def test_chips_come_more_often_from_where_the_model_is_wrong(labels, choice):
    blocks = draw(labels, choice, 0, 1)
    for _ in range(40):
        choice.draw(BATCH)
    for block in blocks:
        choice.disagree(block, 0.9 if block[1] == 2 else 0.01)
    corners = [choice._corner(choice._any_block()) for _ in range(200)]
    right = np.mean([column + CHIP_PX / 2 > SIDE_PX / 2 for column, _ in corners])
    assert right > 0.62


def test_what_is_drawn_is_learned_and_what_is_erased_is_forgotten(labels, choice, desk, monkeypatch):
    monkeypatch.setattr(learner_module, "RATE", 1e-3)
    learner = Learner(desk.base, desk.engine, desk.base.card.bands, choice)

    def seen():
        probability = learner.shown().probability(*desk.windows.read(0, 0, SIDE_PX, SIDE_PX))
        return float(probability[97:103, 60:130].mean() - probability[108:118, 60:130].mean())

    before = seen()
    draw(labels, choice, 2)
    assert np.isfinite(learn(learner, 12)).all()
    assert seen() > before + 0.1
    learner.forget(1000, 0)
    assert seen() == pytest.approx(before, abs=0.02)  # nothing is left, so all is forgotten


def test_a_model_that_learned_stays_as_shown_goes_on_from_its_state_and_forgets_in_part(labels, choice, desk):
    learner, other = (Learner(desk.base, desk.engine, desk.base.card.bands, choice) for _ in range(2))
    draw(labels, choice, 0, 2)
    shown, window = learner.shown(), desk.windows.read(0, 0, 64, 64)
    before = shown.probability(*window)
    learn(learner, 3)
    np.testing.assert_array_equal(shown.probability(*window), before)
    assert not np.array_equal(learner.shown().probability(*window), before)

    other.resume(learner.state_dict(), learner.history)
    assert other.history.step == 3
    for name, values in learner.weights().items():
        torch.testing.assert_close(values, other.weights()[name], rtol=0, atol=0)

    name = "segmentation_head.0.weight"
    base, taught = desk.base.weights[name], learner.weights()[name]
    averaged = learner.state_dict()[f"average.{name}"]
    torch.testing.assert_close(taught, base + 0.7 * (averaged - base))
    learner.forget(300, 700)
    torch.testing.assert_close(learner.weights()[name], taught + 0.3 * (base - taught), rtol=1e-3, atol=1e-5)

    erased = labels.change([Change("roads", "2", None)]).erased
    opinions = learner.opinions(erased, desk.windows)
    assert set(opinions) <= set(erased)
    for block, opinion in opinions.items():
        assert (opinion[~erased[block]] == IGNORE).all() and set(np.unique(opinion)) <= {BACKGROUND, ROAD, IGNORE}


def steps_to_end(losses):
    plateau = Plateau()
    for step, loss in enumerate(losses, 1):
        plateau.add(loss)
        if plateau.is_reached:
            plateau.restart()
            assert not plateau.is_reached  # new labels start again
            return step
    return None


def test_learning_ends_soon_where_the_loss_stays_goes_on_where_it_falls_and_ends_at_last():
    noise = np.random.default_rng(0).normal(0.3, 0.05, 1000)
    assert steps_to_end(noise) <= 8 * WINDOW_STEPS
    assert steps_to_end(0.995 ** np.arange(500)) is None
    assert steps_to_end(0.99 ** np.arange(5000)) == MAX_DRAWING_STEPS
