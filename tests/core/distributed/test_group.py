import sys

import torch

from tests.core.support.collectives import split_up, talk
from tests.core.support.ranks import run_ranks
from training_core.distributed.group import Group


def test_collectives_give_every_rank_the_same_in_the_order_of_the_ranks():
    results = run_ranks(talk, 3)
    for found in results:
        assert found["gathered"].tolist() == [[0, 1, 2], [10, 11, 12], [20, 21, 22]]
        assert found["sum"].tolist() == [30, 33, 36]
        assert found["rounded"] == 0  # (1e8 + 1) - 1e8 in FP32, where 1 + (1e8 - 1e8) were 1
        assert found["broadcast"].tolist() == [0, 1, 2]
        assert found["document"] == {"rank": 0, "text": "Straße"} and found["documents"] == ["", "x", "xx"]
        assert found["tensors"]["weights"].tolist() == [[0], [1], [2]] and found["tensors"]["count"] == 0
    assert all(found["sent_bytes"] > 0 for found in results)
    assert all(found["handled_s"] > 0.001 for found in results) or sys.platform != "linux"


def test_one_rank_alone_needs_no_other():
    found = talk(Group())
    assert found["gathered"].tolist() == [[0, 1, 2]] and found["sum"].tolist() == [0, 1, 2]
    assert found["document"]["text"] == "Straße" and found["documents"] == [""] and found["sent_bytes"] == 0
    assert torch.equal(found["tensors"]["weights"], torch.arange(3.0)[:, None])


def test_divided_ranks_are_groups_of_their_own_whose_first_rank_collects():
    for rank, (place, size, numbers, collected, everywhere) in enumerate(run_ranks(split_up, 4)):
        first = rank - place
        assert (place, size, numbers.flatten().tolist()) == (rank % 2, 2, [first, first + 1])
        if place:
            assert collected == {}
        else:
            assert {name: (tensor.shape, tensor.dtype) for name, tensor in collected.items()} == {
                f"of {first}": ((2, first), torch.float32),
                f"number {first}": ((), torch.int64),
                f"of {first + 1}": ((2, first + 1), torch.float32),
                f"number {first + 1}": ((), torch.int64),
            }
            assert (collected[f"of {first + 1}"] == 1.5).all() and collected[f"number {first + 1}"] == first + 1
        assert everywhere.tolist() == [0, 1, 2, 3]
