import pytest

from tests.core.support.machines import two_sockets_in, write
from training_core.profiling import machine_facts
from training_core.system import machine

MIB = 1 << 20


@pytest.fixture
def two_sockets(tmp_path):
    return two_sockets_in(tmp_path)


@pytest.mark.parametrize(
    ("cpus", "cores", "nodes", "cache_mib"),
    [
        (range(8), 4, {0, 1}, 64),
        (range(4), 4, {0, 1}, 64),  # one thread of each core
        ((0, 1, 4, 5), 2, {0}, 32),
    ],
)
def test_only_the_cpus_of_this_process_count(two_sockets, cpus, cores, nodes, cache_mib):
    assert machine_facts.physical_core_count(cpus, two_sockets) == cores
    assert set(machine.numa_nodes(cpus, two_sockets).values()) == nodes
    assert machine_facts.last_level_cache_bytes(cpus, two_sockets) == cache_mib * MIB


def test_nodes_governor_and_frequency_are_those_of_the_cpus(two_sockets, tmp_path):
    assert machine.numa_nodes((1, 2, 5, 6), two_sockets) == {1: 0, 2: 1, 5: 0, 6: 1}
    assert machine_facts.frequency_mhz((0, 4), two_sockets, tmp_path) == pytest.approx((1000 + 1400) / 2)
    assert machine_facts.governor((0, 1), two_sockets) == "powersave"
    write(two_sockets, {"devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance"})
    assert machine_facts.governor((0, 1), two_sockets) == "performance, powersave"


def cpuinfo(flags):
    return "\n\n".join(
        f"processor\t: {number}\ncpu MHz\t\t: {1000 * number}.500\nflags\t\t: {flags}" for number in range(4)
    )


def test_without_frequency_scaling_the_frequency_is_in_cpuinfo_unless_no_cycles_are_counted(tmp_path):
    write(tmp_path, {"cpuinfo": cpuinfo("fpu aperfmperf avx2")})
    assert machine_facts.frequency_mhz((1, 3), tmp_path, tmp_path) == pytest.approx(2000.5)
    write(tmp_path, {"cpuinfo": cpuinfo("fpu hypervisor avx2")})
    assert machine_facts.frequency_mhz((1, 3), tmp_path, tmp_path) is None


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("", "glibc"),
        ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "jemalloc"),
        ("/opt/lib/libtcmalloc_minimal.so.4", "tcmalloc"),
        ("/opt/lib/libmimalloc.so.2.1", "mimalloc"),
    ],
)
def test_the_allocator_is_the_library_that_is_loaded(tmp_path, library, expected):
    maps = f"7f0000-7f1000 r-xp 0 00:00 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n7f2000-7f3000 r-xp 0 00:00 2 {library}"
    write(tmp_path, {"self/maps": maps})
    assert machine_facts.allocator_name(tmp_path) == expected


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
    assert machine_facts.physical_core_count(cpus, two_sockets) is None
    assert machine.numa_nodes(cpus, two_sockets) == {}
    assert machine_facts.last_level_cache_bytes(cpus, two_sockets) == 0
    assert machine_facts.frequency_mhz(cpus, two_sockets, tmp_path) is None
    assert machine_facts.allocator_name(tmp_path) is None
    facts = machine_facts.facts(two_sockets, tmp_path, cpus)
    assert facts["cpus"] == 8
    assert {name for name, fact in facts.items() if fact is None} >= {"numa_nodes", "allocator", "container_cores"}


@pytest.fixture
def groups(tmp_path):
    """Return a function that writes files below the mounts, and what this process is a member of."""

    def write(membership, **files):
        for path, text in files.items():
            file = tmp_path / "fs" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        (tmp_path / "cgroup").write_text(f"{membership}\n")
        return tmp_path / "cgroup", tmp_path / "fs"

    return write


def test_version_2_gives_a_quota_of_a_period(groups):
    assert machine_facts.quota_cores(*groups("0::/jobs/one", **{"jobs/one/cpu.max": "150000 100000"})) == 1.5


def test_version_1_has_a_hierarchy_for_processors_and_says_minus_1_where_there_is_no_limit(groups):
    files = {"cpu/jobs/cpu.cfs_quota_us": 400000, "cpu/jobs/cpu.cfs_period_us": 100000}
    assert machine_facts.quota_cores(*groups("3:cpu,cpuacct:/jobs\n0::/", **files)) == 4
    files = {"cpu/cpu.cfs_quota_us": -1, "cpu/cpu.cfs_period_us": 100000}
    assert machine_facts.quota_cores(*groups("3:cpu:/", **files)) is None


@pytest.mark.parametrize("text", ["max 100000", "lots", "5", "100000 0"])
def test_quotas_that_say_nothing_are_no_limit(groups, text):
    assert machine_facts.quota_cores(*groups("0::/", **{"cpu.max": text})) is None
