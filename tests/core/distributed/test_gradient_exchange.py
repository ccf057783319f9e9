import torch

from tests.core.support.collectives import sum_gradients
from tests.core.support.ranks import run_ranks


def test_gradients_of_all_rounds_are_summed_on_all_ranks():
    for weight, bias, sent_bytes in run_ranks(sum_gradients, 3, False):
        # Ranks 0, 1 and 2 give 1, 2 and 3 times as much; in the second round there are ranks 0 and 1 only.
        assert torch.equal(weight, 9 * torch.arange(24.0).view(2, 3, 2, 2))
        assert weight.is_contiguous(memory_format=torch.channels_last)
        assert bias.tolist() == [2 + 3 * 2**-8, 5 * (1 + 2**-9), 0]
        assert sent_bytes in (3 * 2 * 9 * 4, 2 * 2 * 9 * 4)  # slices of 9 values to two others; rank 2 sends them twice


def test_compressed_gradients_travel_in_half_the_bytes_and_are_summed_in_fp32():
    results = run_ranks(sum_gradients, 3, True)
    for weight, bias, sent_bytes in results:
        assert torch.equal(weight, 9 * torch.arange(24.0).view(2, 3, 2, 2)) and weight.dtype == torch.float32
        # 1 + 2^-8 + 2^-8 + 1 + 2^-8 would stay 2 in BF16, whose next number is 2 + 2^-6; 1 + 2^-9 is sent as 1.
        assert bias.tolist() == [2 + 2**-6, 5, 0]
        assert sent_bytes in (3 * 2 * 9 * 2, 2 * 2 * 9 * 2)
