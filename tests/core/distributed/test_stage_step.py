import pytest
import torch

from tests.core.support.ranks import run_ranks
from tests.core.support.shared_training import QUICK, lose_last, show_alone, show_stage, train_many

CASES = [
    {"options": {}, "classes": 3},
    {"options": {"optimizer": "lamb", "frozen_stages": 2}, "is_recomputing": True},
    {"options": {"optimizer": "sgd", "frozen_stages": 5, "batch_norm": "frozen"}},
    {"options": {"optimizer": "lars", "accumulation": 5}, "precision": "bf16"},
]
# The first stage has all parts that are frozen: of CASES[2] the encoder's nine.
BALANCES = {2: (10, 5), 3: (10, 2, 3)}


def test_a_pipeline_learns_what_one_process_does(quick_alone):
    compare(QUICK, quick_alone, 2)


@pytest.fixture(scope="module")
def alone():
    return run_ranks(train_many, 1, CASES)[0]


@pytest.mark.slow
@pytest.mark.parametrize("stages", [2, 3])
def test_a_pipeline_of_any_stages_and_optimizer_learns_what_one_process_does(alone, stages):
    compare(CASES, alone, stages)


def compare(cases, alone, stages):
    cases = [{**case, "balance": BALANCES[stages]} for case in cases]
    for rank, results in enumerate(run_ranks(train_many, stages, cases)):
        for (losses, digests, timings_s), one in zip(results, alone):
            assert losses == one[0]
            assert digests == (one[1] if rank == 0 else {})  # weights, moments and statistics, bit by bit
            assert min(timings_s[part] for part in ("forward", "backward", "communication")) > 0


@pytest.mark.slow
def test_several_pipelines_share_batches_that_need_not_divide(alone):
    cases = [{**case, "balance": (10, 5)} for case in (CASES[0], CASES[3])]  # of 4 and of 5 batches
    results = run_ranks(train_many, 4, cases)
    for found, one in zip(results[0], (alone[0], alone[3])):
        assert found[1] == one[1]
    for ranks in zip(*results):
        assert len({tuple(losses) for losses, *_ in ranks}) == 1


@pytest.mark.slow
def test_a_training_goes_on_with_other_stages_or_none(alone, tmp_path):
    kept = [str(tmp_path / name) for name in ("none", "three")]
    case = {**CASES[1], "steps": 1}
    run_ranks(train_many, 1, [{**case, "kept": kept[0]}])
    run_ranks(train_many, 3, [{**case, "balance": (5, 5, 5), "kept": kept[1]}])
    rest = {**case, "first": 1, "steps": 2}
    ((in_stages,), _) = run_ranks(train_many, 2, [{**rest, "balance": (6, 9), "resumed": kept[0]}])
    (in_one,) = run_ranks(train_many, 1, [{**rest, "resumed": kept[1]}])[0]
    for losses, digests, *_ in (in_stages, in_one):
        assert losses == alone[1][0][1:] and digests == alone[1][1]


@pytest.mark.slow
def test_a_rank_keeps_its_own_stage_and_validates_with_all():
    names, weights, scores, loss = run_ranks(show_alone, 1)[0]
    results = run_ranks(show_stage, 2, (9, 6))
    assert [name for kept, *_ in results for name in kept] == names
    torch.testing.assert_close(results[0][1], weights, rtol=0, atol=0)
    assert results[1][1] == {}
    for _, _, found, found_loss in results:
        assert found == scores and found_loss == loss


@pytest.mark.slow
def test_a_lost_rank_is_noticed_and_leaves_no_model():
    results = run_ranks(lose_last, 2, (9, 6))
    assert results == [("LostRankError", False), ("left", True)]
