import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from training_core.processor import prepare_process  # noqa: E402

prepare_process()


@pytest.fixture(scope="session")
def real_data():
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real imagery (shared/data) is not here")
    return folder
