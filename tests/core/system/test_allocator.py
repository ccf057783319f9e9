import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
@pytest.mark.parametrize(("preparation", "expected"), [("", "False"), ("allocator.keep_freed_memory()", "True")])
def test_whether_freed_memory_is_kept_is_seen(preparation, expected):
    asked = "from training_core.profiling import machine_facts; print(machine_facts.keeps_freed_memory())"
    code = f"from training_core.system import allocator\n{preparation}\n{asked}"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env={}, check=True)
    assert ran.stdout.strip() == expected
