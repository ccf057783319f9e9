"""The tests can run where what only POSIX has is missing, as on Windows."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_all_tests_of_the_core_are_found_where_posix_is_missing():
    options = ["-p", "tests.without_posix", "-p", "no:cacheprovider", "--collect-only", "-q"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/core"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout
