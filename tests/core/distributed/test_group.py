import re
import sys

import pytest
import torch

from tests.core.support.collectives import agree, split_up, sum_gradients, talk
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


@pytest.mark.slow
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


def test_ranks_begin_together_or_not_at_all():
    for rank, (well, no_image, stopped, other_seed, missing) in enumerate(run_ranks(agree, 3)):
        assert well is None
        name = "" if rank == 1 else r"Rank 1 of 3 on .+: "
        assert no_image[0] == "imagery" and re.fullmatch(f"{name}a.tif is gone.", no_image[1])
        assert stopped[0] == "cancelled" and "Rank" not in stopped[1]
        assert re.fullmatch(r"Rank 2 of 3 on .+ differs from rank 0 on .+ in: seed, torch\.", other_seed[1])
        assert re.fullmatch(r"Rank 1 of 3 on .+ in: roadseg\.", missing[1])


def test_gradients_of_all_rounds_are_summed_on_all_ranks():
    for weight, bias, sent_bytes in run_ranks(sum_gradients, 3, False):
        # Ranks 0, 1 and 2 give 1, 2 and 3 times as much; in the second round there are ranks 0 and 1 only.
        assert torch.equal(weight, 9 * torch.arange(24.0).view(2, 3, 2, 2))
        assert weight.is_contiguous(memory_format=torch.channels_last)
        assert bias.tolist() == [2 + 3 * 2**-8, 5 * (1 + 2**-9), 0]
        assert sent_bytes in (3 * 2 * 9 * 4, 2 * 2 * 9 * 4)  # slices of 9 values to two others; rank 2 sends them twice


@pytest.mark.slow
def test_compressed_gradients_travel_in_half_the_bytes_and_are_summed_in_fp32():
    results = run_ranks(sum_gradients, 3, True)
    for weight, bias, sent_bytes in results:
        assert torch.equal(weight, 9 * torch.arange(24.0).view(2, 3, 2, 2)) and weight.dtype == torch.float32
        # 1 + 2^-8 + 2^-8 + 1 + 2^-8 would stay 2 in BF16, whose next number is 2 + 2^-6; 1 + 2^-9 is sent as 1.
        assert bias.tolist() == [2 + 2**-6, 5, 0]
        assert sent_bytes in (3 * 2 * 9 * 2, 2 * 2 * 9 * 2)
