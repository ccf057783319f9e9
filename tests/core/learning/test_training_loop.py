import dataclasses
import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.core.support.bf16 import BF16_SLOW_IF_EMULATED
from tests.core.support.labeled import labeled_image
from training_core.errors import Cancelled, JobError
from training_core.events import Metric, Progress, Reporter, Warning
from training_core.geodata.rasters import Band
from training_core.jobs import FineTune
from training_core.learning import training_loop
from training_core.learning.history import MAX_POINTS, History, history_from_document
from training_core.learning.trainer import Trainer
from training_core.learning.training_loop import Clock, Throughput, Training, peak_rate
from training_core.learning.validation import held_out_blocks, validate
from training_core.models.architectures import Architecture, build_network
from training_core.models.engines import IpexEngine, NativeEngine, why_not_ipex
from training_core.segmentation.pixel_metrics import Scores

ARCHITECTURE = Architecture(encoder="resnet18", in_channels=1)


@pytest.fixture
def image():
    """An image in which a bright stripe is road; its lower half is held out."""
    values = np.full((1, 128, 128), 50, np.uint8)
    values[:, :, 40:60] = 200
    label = (values[0] > 100).astype(np.uint8)
    upper, lower = label.copy(), label.copy()
    upper[64:], lower[:64] = 255, 255
    return labeled_image(upper, values, validation=lower, bands=(Band("a", 100.0, 60.0),))


def batches(image, count=2, rows=32):
    chips = ((image.values[None, :, :rows] - 100.0) / 60.0).astype(np.float32).repeat(count, axis=0)
    labels = image.training[None, :rows].repeat(count, axis=0)
    while True:
        yield chips, labels


NATIVE_FP32 = NativeEngine("fp32")


def recipe(**options):
    return FineTune(**{"batch_size": 2, "learning_rate": 0.002, **options})


def new_trainer(engine=NATIVE_FP32, averaging=0.0, **options):
    torch.manual_seed(0)
    return Trainer(build_network(ARCHITECTURE), engine, recipe(**options), averaging=averaging)


def validated(trainer, image):
    with trainer.validating(image.bands) as predictor:
        return validate(predictor, held_out_blocks([image], 0)).confusion


def new_training(image, reporter=None, trainer=None, **options):
    return Training(trainer or new_trainer(**options), [image], recipe(**options), reporter or Reporter())


def test_training_ends_with_its_time_and_keeps_the_best(image):
    events = []
    training = new_training(image, Reporter(events.append), minutes=3 / 60)
    training.run(batches(image))
    history, best = training.history, training.best
    assert 3 <= history.elapsed_s < 30 and history.images_seen == 2 * history.step == 2 * len(history.steps)
    assert best.scores.f1 == max(scores.f1 for _, _, scores in history.validations)
    assert best.confusion.scores(best.threshold) == best.scores
    names = {event.name for event in events if isinstance(event, Metric)}
    assert names == {"loss", "learning_rate", "images_per_s", "validation_f1", "validation_iou"}
    assert sum(history.timings_s.values()) == pytest.approx(history.elapsed_s, abs=2)


def test_training_makes_just_the_steps_it_is_given(image, monkeypatch):
    monkeypatch.setattr(training_loop, "MIN_INTERVAL_STEPS", 10)
    events = []
    training = new_training(image, Reporter(events.append), steps=20)
    training.run(batches(image))
    assert [step for step, *_ in training.history.steps] == list(range(1, 21))
    assert [step for step, *_ in training.history.validations] == [10, 20]
    assert training.best.scores.f1 > 0.8  # all road would give 0.27
    rates = [rate for *_, rate in training.history.steps]
    assert max(rates) == pytest.approx(peak_rate(recipe()), rel=0.01) and rates[-1] < 0.1 * max(rates)
    fractions = [event.fraction for event in events if isinstance(event, Progress)]
    assert fractions == sorted(fractions)


def test_even_no_time_at_all_gives_a_validated_state(image):
    training = new_training(image, minutes=0.00001)
    training.run(batches(image))
    assert training.history.step == 1 and len(training.history.validations) == 1 and training.best.weights


@pytest.mark.parametrize(
    ("f1", "options", "is_early"),
    [
        ((0.2, 0.97, 0.96, 0.96), {"minutes": 10}, True),
        ((0.2, 0.3, 0.96, 0.97), {"minutes": 10}, False),
        ((0.97, 0.96, 0.96, 0.96), {"steps": 100}, False),
    ],
)
def test_time_is_left_out_once_nothing_more_is_gained(image, f1, options, is_early):
    validations = [(1, 60.0 * (1 + at), Scores(score, score, score, score)) for at, score in enumerate(f1)]
    history = History(step=1, elapsed_s=240.0, validations=validations, validated_parts=4)
    training = Training(new_trainer(), [image], recipe(**options), Reporter(), history)
    training.validate()
    left_s = Clock(recipe(**options), 1.0).left_s(history)
    assert (history.skipped > 0.2) == is_early == any("ends early" in note for note in history.notes)
    assert not is_early or 120 < left_s < 180  # a quarter of the ten minutes


@pytest.fixture
def wide(image):
    """The stripe in an image of which three quarters, in many small blocks, are held out."""
    values = np.tile(image.values, (1, 1, 8))
    label = (values[0] > 100).astype(np.uint8)
    upper, lower = label.copy(), label.copy()
    upper[32:], lower[:32] = 255, 255
    return labeled_image(upper, values, validation=lower, bands=image.bands, block_px=32)


@pytest.mark.slow
def test_all_validations_compute_the_same_blocks_and_the_last_one_more(wide):
    training = new_training(wide, steps=60, chip_px=128, frozen_stages=5)
    training.run(batches(wide))
    sample = training.history.validation_blocks
    assert len(training.history.validations) == 3 and 4 <= sample < len(training.blocks)
    counted = training.best.confusion.count
    assert counted == sum((wide.validation[block.tile.destination] != 255).sum() for block in training.blocks[:sample])
    with training.trainer.validating(wide.bands) as predictor:
        found = training.score_best(predictor)
    assert sample < found.blocks <= len(training.blocks)
    assert training.best.confusion.count == found.confusion.count > counted
    assert any(f"{sample} of the {len(training.blocks)} held-out blocks" in note for note in training.history.notes)


@pytest.mark.slow
def test_a_processor_that_becomes_slow_is_warned_of(image, monkeypatch):
    clock = SimpleNamespace(now_s=0.0)
    clock.monotonic = clock.perf_counter = lambda: clock.now_s
    monkeypatch.setattr(training_loop, "time", clock)
    trainer, events = new_trainer(frozen_stages=5), []
    step = trainer.step

    def slower_from_step_20(*arguments):
        clock.now_s += 1 if training.history.step < 20 else 3
        return step(*arguments)

    trainer.step = slower_from_step_20
    training = new_training(image, Reporter(events.append), trainer, steps=40)
    training.run(batches(image))
    (warning,) = (event.message for event in events if isinstance(event, Warning))
    assert "The throughput has fallen to" in warning


def test_a_stop_ends_training_and_closes_the_batches(image):
    drawn = batches(image)
    with pytest.raises(Cancelled):
        new_training(image, Reporter(is_cancelled=lambda: True)).run(drawn)
    with pytest.raises(StopIteration):
        next(drawn)


def test_a_nan_loss_ends_it_with_a_remedy(image):
    def broken():
        chips, labels = next(batches(image))
        yield chips, labels
        yield np.full_like(chips, np.nan), labels

    with pytest.raises(JobError, match="diverged: at step 2.*learning rate"):
        new_training(image, steps=40).run(broken())


def spoil_statistics(training):
    """Make the model one that trains with finite losses, since batch normalization measures anew, and infers NaN."""
    weights = training.trainer.model.state_dict()
    weights["encoder.bn1.running_var"].fill_(-1.0)


def test_a_model_that_infers_nan_has_diverged_though_its_losses_are_finite(image):
    training = new_training(image, steps=40)
    spoil_statistics(training)
    with pytest.raises(JobError, match=r"diverged: at step 0 the model computes values that are not numbers"):
        training.validate()
    assert training.history.validations == []


def test_the_best_until_then_outlives_a_model_that_infers_nan(image):
    events = []
    training = new_training(image, Reporter(events.append), steps=40)
    training.validate()
    best = training.best
    spoil_statistics(training)
    training.validate()
    assert training.best is best and len(training.history.validations) == 1
    assert any("The best model so far is kept" in event.message for event in events if isinstance(event, Warning))
    training.run(batches(image))
    assert training.history.step == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_step_is_taken_on_a_nan_or_infinite_loss(image, value):
    trainer, (chips, labels) = new_trainer(averaging=0.9), next(batches(image))
    trainer.step(chips, labels, 0.01)
    before = trainer.state_dict()
    assert not np.isfinite(trainer.step(np.full_like(chips, value), labels, 0.01))
    after = trainer.state_dict()
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    assert all("running" in name or "tracked" in name for name in changed)  # statistics of the forward pass
    assert not any(name.startswith(("average.", "optimizer.")) for name in changed)


def gradient_norm(image, clip_norm=0.0, optimizer="adamw"):
    torch.manual_seed(0)
    network, (chips, labels) = build_network(ARCHITECTURE), next(batches(image))
    trainer = Trainer(
        network, NATIVE_FP32, recipe(accumulation=2, batch_size=1, optimizer=optimizer), clip_norm=clip_norm
    )
    trainer.step(chips, labels, 0.01)
    return torch.stack([parameter.grad.norm() for parameter in network.parameters()]).norm().item()


def test_clipping_bounds_the_global_norm_of_the_gradient(image):
    free = gradient_norm(image)
    assert gradient_norm(image, clip_norm=0.5 * free) == pytest.approx(0.5 * free, rel=1e-3)
    assert gradient_norm(image, clip_norm=2 * free) == pytest.approx(free, rel=1e-3)
    assert gradient_norm(image, optimizer="lamb") == pytest.approx(min(1.0, free), rel=1e-3)  # You et al., 2020


@pytest.mark.parametrize(
    "optimizer", ["adamw", *(pytest.param(name, marks=pytest.mark.slow) for name in ("lamb", "sgd", "lars"))]
)
def test_the_same_steps_give_the_same_weights_also_from_a_state(image, optimizer):
    chips, labels = next(batches(image))
    options = {"optimizer": optimizer, "averaging": 0.9}
    whole, first = new_trainer(**options), new_trainer(**options)
    for _ in range(4):
        whole.step(chips, labels, 0.001)
    for _ in range(2):
        first.step(chips, labels, 0.001)
    second = new_trainer(**options)
    second.load_state_dict(first.state_dict())
    for _ in range(2):
        second.step(chips, labels, 0.001)
    assert whole.weights().keys() == second.weights().keys()
    state = second.state_dict()
    for name, tensor in whole.state_dict().items():
        torch.testing.assert_close(tensor, state[name], rtol=0, atol=1e-6, msg=name)


def test_batches_that_are_added_up_weigh_by_their_labels(image):
    chips, labels = next(batches(image, rows=64))
    labels = labels.copy()
    labels[1, :, 30:] = 255
    frozen = {"batch_norm": "frozen", "base_model": "b"}  # live statistics depend on the batch size
    whole, parts = new_trainer(batch_size=2, **frozen), new_trainer(batch_size=1, accumulation=2, **frozen)
    for _ in range(2):  # the second loss tells of the weights after the first step
        assert parts.step(chips, labels, 0.01) == pytest.approx(whole.step(chips, labels, 0.01), rel=0.05)


def test_frozen_stages_keep_weights_and_statistics_and_skip_their_backward(image):
    trainer, (chips, labels) = new_trainer(frozen_stages=3, base_model="b"), next(batches(image))
    before = trainer.weights()
    trainer.step(chips, labels, 0.01)
    after = trainer.weights()
    kept = ("encoder.conv1", "encoder.bn1", "encoder.layer1", "encoder.layer2")
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    assert not any(name.startswith(kept) for name in changed)
    assert any(name.startswith("encoder.layer3") for name in changed)
    assert any(name.startswith("decoder") for name in changed)


def test_a_history_stays_small_and_survives_json():
    history = History()
    for step in range(3 * MAX_POINTS):
        history.add_step(step / 2, 1.0, 0.1, 4)
    history.validations.append((5, 2.5, Scores(0.1, 0.2, 0.3, 0.4)))
    assert len(history.steps) < MAX_POINTS and history.step == 3 * MAX_POINTS
    numbers = [step for step, *_ in history.steps]
    assert numbers == list(range(history.stride, history.step + 1, history.stride))
    assert history_from_document(json.loads(json.dumps(dataclasses.asdict(history)))) == history


@pytest.mark.skipif(why_not_ipex() is not None, reason="the Intel extension is not installed")
@pytest.mark.parametrize("precision", ["fp32", BF16_SLOW_IF_EMULATED])
def test_weights_trained_with_ipex_are_those_of_a_plain_network(image, precision):
    trainer, (chips, labels) = new_trainer(IpexEngine(precision)), next(batches(image))
    for _ in range(8):
        trainer.step(chips, labels, 0.001)
    plain = build_network(ARCHITECTURE)
    plain.load_state_dict(trainer.weights())
    assert all(tensor.dtype in (torch.float32, torch.int64) for tensor in trainer.weights().values())
    others = (trainer, Trainer(plain, NATIVE_FP32, recipe()))
    sweeps = [[scores.f1 for scores in validated(one, image).sweep()] for one in others]
    assert max(sweeps[0]) > 0.3
    np.testing.assert_allclose(*sweeps, atol=0.03 if precision == "fp32" else 0.1)


@pytest.mark.skipif(why_not_ipex() is not None, reason="the Intel extension is not installed")
@pytest.mark.parametrize("precision", ["fp32", BF16_SLOW_IF_EMULATED])
def test_ipex_averages_weights_in_fp32(image, precision):
    trainer, (chips, labels) = new_trainer(IpexEngine(precision), averaging=0.5), next(batches(image))
    name = "decoder.blocks.0.conv1.0.weight"
    expected = trainer.weights()[name]
    for step in range(1, 5):
        trainer.step(chips, labels, 0.001)
        expected = expected.lerp(trainer.state_dict()[f"network.{name}"], 1 - min(0.5, step / (step + 9)))
    torch.testing.assert_close(trainer.weights()[name], expected, rtol=0, atol=1e-7)
    assert validated(trainer, image).count
    assert torch.equal(trainer.weights()[name], trainer.state_dict()[f"average.{name}"])


def warnings_of(*stretches):
    """Feed steps of four chips, from (seconds in all, seconds a step) each; return the warnings."""
    throughput = Throughput()
    steps = itertools.chain.from_iterable([step_s] * round(total_s / step_s) for total_s, step_s in stretches)
    return [text for text in (throughput.add_step(step_s, 4) for step_s in steps) if text]


@pytest.mark.parametrize(
    "stretches", [[(120, 0.2), (45, 0.5), (60, 0.2), (20, 0.5), (55, 0.2)], [(60, 0.2), (3600, 0.5), (60, 0.2)]]
)
def test_a_fall_to_less_than_half_is_warned_of_once(stretches):
    (warning,) = warnings_of(*stretches)
    assert "fallen to 40%" in warning


@pytest.mark.parametrize(
    "stretches",
    {
        "no step": [],
        "steady, or mildly varying": [(5, 0.2), (5, 0.3), (3, 0.24), (4, 0.35)] * 10,
        "a slow first step": [(60, 60), (60, 0.2)],
        "faster and faster": [(60, 0.5), (120, 0.2)],
        **{
            f"single steps of {long_s} s": [*[(30, 0.2), (long_s, long_s)] * 2, (30, 0.2)] for long_s in (3, 600, 30000)
        },
    }.values(),
)
def test_what_is_no_finding(stretches):
    assert not warnings_of(*stretches)
