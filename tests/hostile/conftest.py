import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

from tests.shared_fixtures import make_once  # noqa: E402
from training_core.system.processor import prepare_process  # noqa: E402

prepare_process(threads=1)


def pytest_addoption(parser):
    parser.addoption("--all-cases", action="store_true", help="all hostile cases, not only the representatives")


def pytest_generate_tests(metafunc):
    """Give a test that takes a `case` those of its module's `CASES`: all, or the representatives of each group."""
    if "case" not in metafunc.fixturenames:
        return
    from tests.hostile.representatives import REPRESENTATIVES, representatives

    every = metafunc.config.getoption("--all-cases")
    chosen = [
        (group, case)
        for group, cases in metafunc.module.CASES.items()
        for case in (cases if every or group not in REPRESENTATIVES else representatives(group, cases))
    ]
    metafunc.parametrize("case", [case for _, case in chosen], ids=[f"{group}: {case.name}" for group, case in chosen])


@pytest.fixture(scope="session")
def goods(tmp_path_factory):
    """Good inputs of all jobs; do not write there."""
    from tests.hostile.good_inputs import make_goods

    return make_once(tmp_path_factory, "goods", make_goods)


@pytest.fixture(scope="session")
def server():
    from tests.hostile.fork_server import ForkServer

    if not sys.platform.startswith("linux"):
        pytest.skip("limits and forks as these tests need them are those of Linux")
    with ForkServer() as started:
        yield started


@pytest.fixture(scope="module")
def references(goods, server, tmp_path_factory):
    from tests.hostile.references import References

    return References(goods, server, tmp_path_factory.mktemp("references"))


@pytest.fixture
def place(goods, tmp_path):
    """Good inputs, and empty folders for bad ones and for outputs.

    Their files do not outlive the test, since models are large.
    """
    from tests.hostile.cases import Place

    folders = [tmp_path / name for name in ("bad", "out", "job")]
    for folder in folders:
        folder.mkdir()
    yield Place(goods, *folders[:2])
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
