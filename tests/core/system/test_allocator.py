import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
@pytest.mark.parametrize(("preparation", "expected"), [("", "False"), ("allocator.keep_freed_memory()", "True")])
def test_whether_freed_memory_is_kept_is_seen(preparation, expected):
    code = f"from training_core.system import allocator\n{preparation}\nprint(allocator.keeps_freed_memory())"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env={}, check=True)
    assert ran.stdout.strip() == expected
