import subprocess
import sys
from pathlib import Path

import pytest

from training_core.system.memory import control_group_bytes

ROOT = Path(__file__).parents[3]


def group(folder, version, limit, used, reclaimable):
    """Write the files of a control group as the system shows them."""
    names = {1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
             2: ("memory.max", "memory.current", "inactive_file")}[version]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {reclaimable}\n")


@pytest.fixture
def member(tmp_path):
    """Return a function that writes what a process is a member of."""

    def write(*lines):
        path = tmp_path / "cgroup"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


def test_version_2_leaves_the_limit_less_what_is_used_and_not_reclaimable(tmp_path, member):
    group(tmp_path / "fs/jobs/one", 2, 1000, 700, 50)
    assert control_group_bytes(member("0::/jobs/one"), tmp_path / "fs") == 350
    group(tmp_path / "fs", 2, 1000, 100, 0)
    assert control_group_bytes(member("0::/not/seen/from/here"), tmp_path / "fs") == 900
    group(tmp_path / "fs", 2, 1000, 1200, 0)
    assert control_group_bytes(member("0::/"), tmp_path / "fs") == 0


def test_the_tightest_of_the_groups_around_counts(tmp_path, member):
    group(tmp_path / "fs/jobs", 2, 1000, 900, 20)
    group(tmp_path / "fs/jobs/one", 2, 5000, 700, 0)
    group(tmp_path / "fs/jobs/one/part", 2, "max", 700, 0)
    assert control_group_bytes(member("0::/jobs/one/part"), tmp_path / "fs") == 120


def test_version_1_has_a_hierarchy_for_memory(tmp_path, member):
    group(tmp_path / "fs/memory/jobs", 1, 1000, 700, 100)
    group(tmp_path / "fs/memory", 1, 2**63 - 4096, 800, 0)
    lines = ("9:cpu,cpuacct:/", "4:memory:/jobs", "0::/")
    assert control_group_bytes(member(*lines), tmp_path / "fs") == 400


def test_without_a_limit_or_one_that_can_be_read_there_is_none(tmp_path, member):
    group(tmp_path / "fs", 2, "max", 1200, 0)
    assert control_group_bytes(member("0::/"), tmp_path / "fs") is None
    assert control_group_bytes(tmp_path / "nothing here", tmp_path / "fs") is None
    group(tmp_path / "fs", 2, "lots", 1200, 0)
    assert control_group_bytes(member("0::/", "nonsense"), tmp_path / "fs") is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
@pytest.mark.parametrize(("preparation", "expected"), [("", "False"), ("memory.keep_freed_memory()", "True")])
def test_whether_freed_memory_is_kept_is_seen(preparation, expected):
    asked = "from training_core.profiling import machine_facts; print(machine_facts.keeps_freed_memory())"
    code = f"from training_core.system import memory\n{preparation}\n{asked}"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env={}, check=True)
    assert ran.stdout.strip() == expected
