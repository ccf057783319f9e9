import pytest

from training_core.system.control_groups import quota_cores


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
    assert quota_cores(*groups("0::/jobs/one", **{"jobs/one/cpu.max": "150000 100000"})) == 1.5


def test_version_1_has_a_hierarchy_for_processors(groups):
    files = {"cpu/jobs/cpu.cfs_quota_us": 400000, "cpu/jobs/cpu.cfs_period_us": 100000}
    assert quota_cores(*groups("3:cpu,cpuacct:/jobs\n0::/", **files)) == 4


def test_the_tightest_of_the_groups_around_counts(groups):
    files = {
        "jobs/cpu.max": "200000 100000",
        "jobs/one/cpu.max": "800000 100000",
        "jobs/one/part/cpu.max": "max 100000",
    }
    assert quota_cores(*groups("0::/jobs/one/part", **files)) == 2


@pytest.mark.parametrize("text", ["max 100000", "lots", "5", "100000 0"])
def test_files_that_say_nothing_are_no_limit(groups, text):
    assert quota_cores(*groups("0::/", **{"cpu.max": text})) is None


def test_version_1_says_minus_1_where_there_is_no_limit(groups):
    files = {"cpu/cpu.cfs_quota_us": -1, "cpu/cpu.cfs_period_us": 100000}
    assert quota_cores(*groups("3:cpu:/", **files)) is None


def test_other_systems_have_no_groups(tmp_path):
    assert quota_cores(tmp_path / "nothing here", tmp_path) is None
