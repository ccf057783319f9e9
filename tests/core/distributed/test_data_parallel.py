import pytest

from tests.core.support.ranks import run_ranks
from tests.core.support.shared_training import QUICK, stop_a_follower, train_many
from training_core.distributed.data_parallel import DataParallel
from training_core.distributed.group import Group

CASES = [
    *({"options": {"optimizer": name}, "steps": 50} for name in ("adamw", "sgd", "lamb", "lars")),
    {"options": {"frozen_stages": 2}, "classes": 3, "is_recomputing": True},
    {"options": {}, "precision": "bf16"},
]


def test_a_model_does_not_depend_on_the_number_of_ranks(quick_alone):
    compare(run_ranks(train_many, 3, QUICK), quick_alone)


@pytest.fixture(scope="module")
def many_alone():
    return run_ranks(train_many, 1, CASES)[0]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_nor_does_it_after_many_steps_with_any_optimizer_or_precision(many_alone, ranks):
    compare(run_ranks(train_many, ranks, CASES), many_alone)


@pytest.mark.slow
def test_with_compressed_gradients_it_does_not_depend_on_the_number_of_ranks_from_two_on(quick_alone):
    compressed = [{**QUICK[0], "is_compressed": True}]
    two, three = (run_ranks(train_many, ranks, compressed)[0][0] for ranks in (2, 3))
    assert two[:2] == three[:2] and two[1] != quick_alone[0][1]
    assert two[0] == pytest.approx(quick_alone[0][0], rel=0.02)


def compare(ranks, alone):
    for results in ranks:
        for (losses, digests, timings_s), one in zip(results, alone):
            assert timings_s["communication"] > 0
            # Bit by bit: weights, moments, averages and running statistics.
            assert losses == one[0] and digests == one[1]


@pytest.mark.slow
def test_a_training_resumes_with_another_number_of_ranks(quick_alone, tmp_path):
    kept = str(tmp_path / "state")
    run_ranks(train_many, 3, [{**QUICK[0], "steps": 1, "kept": kept}])
    for ((losses, digests, _),) in run_ranks(train_many, 2, [{**QUICK[0], "first": 1, "resumed": kept}]):
        assert losses == quick_alone[0][0][1:] and digests == quick_alone[0][1]


@pytest.mark.slow
def test_a_rank_that_is_stopped_by_itself_ends_two_steps_later():
    assert run_ranks(stop_a_follower, 2) == [2, "It was stopped there. The first machine has the checkpoint."]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_every_batch_has_its_turn_once_and_is_put_in_order(ranks):
    strategies = [DataParallel(Group(rank, ranks)) for rank in range(ranks)]
    turns = [list(strategy.turns(4)) for strategy in strategies]
    assert turns == [list(strategy.assigned(4)) for strategy in strategies]
    assert sorted(number for own in turns for number in own) == list(range(4))
    blocks = [list(strategy.deal("abcd")) for strategy in strategies]
    assert all(
        ["".join(together) for _, together in rounds] == ["".join(each) for _, each in blocks[0]] for rounds in blocks
    )
    assert sorted(block for rounds in blocks for own, _ in rounds for block in own) == list("abcd")
