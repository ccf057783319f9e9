import pytest

from tests.core.support.ranks import run_ranks
from tests.core.support.shared_training import QUICK, train_many


@pytest.fixture(scope="session")
def quick_alone():
    """What one process learns, a new one: the Intel extension, once loaded, changes the rounding."""
    return run_ranks(train_many, 1, QUICK)[0]
