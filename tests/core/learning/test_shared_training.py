import pytest
import torch

from tests.core.support.ranks import run_ranks
from tests.core.support.shared_training import stop_a_follower, train_many
from training_core.distributed.group import Group
from training_core.learning.sharing import parts_of_step

STEPS, MANY_STEPS = 2, 50
WHOLE_BATCHES = [
    *({"sharing": "batches", "options": {"optimizer": name}} for name in ("adamw", "sgd", "lamb", "lars")),
    {
        "sharing": "batches",
        "options": {"averaging": 0.9, "clip_norm": 0.5, "frozen_stages": 2, "centerline_weight": 0.3},
        "classes": 3,
        "is_recomputing": True,
    },
    {"sharing": "batches", "options": {}, "precision": "bf16"},
]
CUT_BATCHES = [
    {"sharing": "split", "options": {"batch_size": 4, "accumulation": 1, "optimizer": "sgd"}, "is_double": True},
    {
        "sharing": "split",
        "options": {
            "batch_size": 4, "accumulation": 2, "optimizer": "sgd", "averaging": 0.9, "frozen_stages": 2,
            "centerline_weight": 0.3,
        },
        "classes": 3,
        "is_double": True,
        "is_recomputing": True,
    },
]  # fmt: skip


# One of either kind, with all that can go wrong; the others take long.
QUICK = (WHOLE_BATCHES[4], CUT_BATCHES[1])


def cases_of(*cases, steps=STEPS):
    return [{**case, "steps": steps} for case in cases]


@pytest.fixture(scope="module")
def cases():
    return cases_of(*QUICK)


@pytest.fixture(scope="module")
def alone(cases):
    return run_ranks(train_many, 1, cases)[0]  # a new process: the Intel extension, once loaded, changes the rounding


def test_a_model_does_not_depend_on_the_number_of_ranks(cases, alone):
    compare(cases, run_ranks(train_many, 3, cases), alone)


@pytest.fixture(scope="module")
def many_cases():
    return cases_of(*WHOLE_BATCHES[:4], steps=MANY_STEPS) + cases_of(*WHOLE_BATCHES[4:], *CUT_BATCHES)


@pytest.fixture(scope="module")
def many_alone(many_cases):
    return run_ranks(train_many, 1, many_cases)[0]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_nor_does_it_after_many_steps_with_any_optimizer_or_precision(many_cases, many_alone, ranks):
    compare(many_cases, run_ranks(train_many, ranks, many_cases), many_alone)


@pytest.mark.slow
def test_with_compressed_gradients_it_does_not_depend_on_the_number_of_ranks_from_two_on(cases, alone):
    compressed = [{**cases[0], "options": {**cases[0]["options"], "exchange_precision": "bf16"}}]
    two, three = (run_ranks(train_many, ranks, compressed)[0][0] for ranks in (2, 3))
    assert two[:2] == three[:2] and two[1] != alone[0][1]
    assert two[0] == pytest.approx(alone[0][0], rel=0.02)


def compare(cases, ranks, alone):
    for results in ranks:
        for case, (losses, digests, values, timings_s), one in zip(cases, results, alone):
            assert timings_s["communication"] > 0
            if case["sharing"] == "batches":  # bit by bit: weights, moments, averages and running statistics
                assert losses == one[0] and digests == one[1]
            else:
                assert losses == pytest.approx(one[0], rel=1e-9, abs=0)
                torch.testing.assert_close(values, one[2], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_a_training_resumes_with_another_number_of_ranks(cases, alone, tmp_path):
    kept = str(tmp_path / "state")
    run_ranks(train_many, 3, [{**cases[0], "steps": 1, "kept": kept}])
    for ((losses, digests, _, _),) in run_ranks(train_many, 2, [{**cases[0], "first": 1, "resumed": kept}]):
        assert losses == alone[0][0][1:] and digests == alone[0][1]


def test_a_rank_that_is_stopped_by_itself_ends_two_steps_later():
    assert run_ranks(stop_a_follower, 2) == [2, "It was stopped there. The first machine has the checkpoint."]


@pytest.mark.parametrize("sharing", ["batches", "split"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_every_chip_is_computed_once_and_all_ranks_have_as_many_rounds(sharing, ranks):
    shares = [parts_of_step(20, 5, Group(rank, ranks), sharing) for rank in range(ranks)]
    assert sorted(chip for parts in shares for part in parts for chip in part.chips) == list(range(20))
    for parts in zip(*shares):  # of a round
        busy = [bool(part.chips) for part in parts]
        assert len({part.contributors for part in parts}) == 1 and busy == sorted(busy, reverse=True)
        assert sum(busy) == parts[0].contributors
        assert all(part.batch.start <= part.chips.start and part.chips.stop <= part.batch.stop for part in parts)
