"""Facts of machines that are made up, and counters by hand."""

import pytest

from tests.core.support.machines import two_sockets_in, write
from training_core.profiling.machine_facts import (
    Reading,
    counters,
    facts,
    frequency_mhz,
    last_level_cache_bytes,
    read_counters,
)

MIB = 1 << 20


@pytest.fixture
def two_sockets(tmp_path):
    return two_sockets_in(tmp_path)


@pytest.mark.parametrize(
    ("cpus", "cores", "nodes", "cache_mib"),
    [
        (range(8), 4, 2, 64),
        (range(4), 4, 2, 64),  # one thread of each core
        ((0, 1, 4, 5), 2, 1, 32),
    ],
)
def test_only_the_cpus_of_this_process_count(two_sockets, tmp_path, cpus, cores, nodes, cache_mib):
    found = facts(two_sockets, tmp_path, cpus)
    assert (found["cpus"], found["cores"], found["numa_nodes"]) == (len(cpus), cores, nodes)
    assert last_level_cache_bytes(cpus, two_sockets) == cache_mib * MIB
    assert found["governor"] == "powersave"
    write(two_sockets, {"devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance"})
    assert facts(two_sockets, tmp_path, cpus)["governor"] == "performance, powersave"


def cpuinfo(flags):
    return "\n\n".join(
        f"processor\t: {number}\ncpu MHz\t\t: {1000 * number}.500\nflags\t\t: {flags}" for number in range(4)
    )


def test_the_frequency_is_scalings_or_in_cpuinfo_unless_no_cycles_are_counted(two_sockets, tmp_path):
    assert frequency_mhz((0, 4), two_sockets, tmp_path) == pytest.approx((1000 + 1400) / 2)
    write(tmp_path, {"cpuinfo": cpuinfo("fpu aperfmperf avx2")})
    assert frequency_mhz((1, 3), tmp_path, tmp_path) == pytest.approx(2000.5)
    write(tmp_path, {"cpuinfo": cpuinfo("fpu hypervisor avx2")})
    assert frequency_mhz((1, 3), tmp_path, tmp_path) is None


@pytest.mark.parametrize(
    ("library", "expected"),
    [("", "glibc"), ("/usr/lib/libjemalloc.so.2", "jemalloc"), ("/opt/lib/libtcmalloc_minimal.so.4", "tcmalloc")],
)
def test_the_allocator_is_the_library_that_is_loaded(tmp_path, library, expected):
    maps = f"7f0000-7f1000 r-xp 0 00:00 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n7f2000-7f3000 r-xp 0 00:00 2 {library}"
    write(tmp_path, {"self/maps": maps})
    assert facts(tmp_path, tmp_path, (0,))["allocator"] == expected


@pytest.mark.parametrize("text", [None, b"?", b"\xff\xfe", "folder"])
def test_unreadable_facts_are_unknown(two_sockets, tmp_path, text):
    """The files are missing, empty, nonsense, no text, or folders."""
    for path in [path for path in two_sockets.rglob("*") if path.is_file()]:
        path.unlink()
        if text == "folder":
            path.mkdir()
        elif text is not None:
            path.write_bytes(text)
    cpus = range(8)
    assert last_level_cache_bytes(cpus, two_sockets) == 0
    assert frequency_mhz(cpus, two_sockets, tmp_path) is None
    found = facts(two_sockets, tmp_path, cpus)
    assert found["cpus"] == 8
    assert {name for name, fact in found.items() if fact is None} >= {"numa_nodes", "allocator", "container_cores"}


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/jobs/one", {"jobs/one/cpu.max": "150000 100000"}, 1.5),
        ("3:cpu,acct:/jobs\n0::/", {"cpu/jobs/cpu.cfs_quota_us": "400000", "cpu/jobs/cpu.cfs_period_us": "100000"}, 4),
        ("3:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        *(("0::/", {"cpu.max": text}, None) for text in ("max 100000", "lots", "5", "100000 0")),
    ],
)  # fmt: skip
def test_control_groups_of_both_versions_limit_the_cores(tmp_path, membership, files, cores):
    write(tmp_path, {"self/cgroup": membership, **{f"fs/cgroup/{path}": text for path, text in files.items()}})
    assert facts(tmp_path, tmp_path, (0,))["container_cores"] == cores


def test_page_faults_are_those_of_a_step_shares_those_of_the_time_and_unknown_ones_none():
    before = Reading(wall_s=10, page_faults=100, user_s=1.0, system_s=0.5, busy_s=20.0)
    after = Reading(wall_s=14, page_faults=500, user_s=6.0, system_s=1.5, busy_s=30.0)
    found = counters(before, after, steps=4, cores=4)
    assert found.page_faults == 100
    assert found.system_share == pytest.approx(1 / 6)
    assert found.stolen_share == pytest.approx(4 / 16)  # others took 4 s of four cores for 4 s
    found = counters(Reading(0, None, 0, 0, 0), Reading(1, None, 0, 0, 0), 1, 1)
    assert (found.page_faults, found.system_share) == (None, None)
    first = read_counters()
    sum(range(1_000_000))
    second = read_counters()
    assert second.wall_s > first.wall_s and second.busy_s >= first.busy_s
    assert second.user_s + second.system_s >= first.user_s + first.system_s
