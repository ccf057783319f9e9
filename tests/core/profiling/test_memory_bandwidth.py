import pytest
import torch

from training_core.profiling import memory_bandwidth
from training_core.profiling.memory_bandwidth import array_bytes, memory_works, parallel_region_s

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("cache_bytes", "available_bytes", "expected"),
    [
        (32 * MIB, 24 * GIB, 128 * MIB),  # four times the cache
        (0, 24 * GIB, 64 * MIB),
        (4 * GIB, 1024 * GIB, GIB // 3),  # all three take one GiB
        (32 * MIB, 300 * MIB, 25 * MIB),  # all three take a quarter of what is free
    ],
)
def test_arrays_are_four_times_the_cache_where_memory_allows(cache_bytes, available_bytes, expected):
    assert array_bytes(cache_bytes, available_bytes) == expected


def test_bytes_count_as_in_stream():
    assert {name: work.amount for name, work in memory_works(4096).items()} == {
        "triad": 3 * 4096, "read": 4096, "copy": 2 * 4096,
    }  # fmt: skip


def test_the_operations_are_a_triad_a_sum_and_a_copy():
    works = memory_works(4096)  # of arrays a = 0, b = 1 and c = 2
    assert torch.equal(works["triad"].run(), torch.full((1024,), 1.0 + 3 * 2))
    assert works["read"].run() == 1024
    assert torch.equal(works["copy"].run(), torch.ones(1024))


def test_a_region_takes_what_an_addition_takes_longer_with_all_threads(monkeypatch):
    seen = []

    def timed(operations, limit_s):
        (operation,) = operations
        operation()
        seen.append((torch.get_num_threads(), operation.args[0].numel()))
        return [{3: 900e-6, 1: 200e-6}[torch.get_num_threads()]]

    monkeypatch.setattr(memory_bandwidth, "best_times_s", timed)
    before = torch.get_num_threads()
    assert parallel_region_s(3, 1.0) == pytest.approx(7e-6)  # 100 additions each
    assert seen[0] == (3, 3 * seen[1][1])
    assert torch.get_num_threads() == before


def test_one_thread_starts_no_region():
    assert parallel_region_s(1, 1.0) == 0
