"""The style beside a region's index: live while the work goes on, RoadSeg's own alone, and no reason to fail."""

import pytest

from training_core.events import Reporter
from training_core.regions.index_style import put_style


@pytest.fixture
def index(tmp_path):
    path = tmp_path / "index.gpkg"
    path.touch()
    return path


def test_the_style_refreshes_the_layer_until_the_work_is_done(index):
    put_style(index, True, Reporter())
    style = index.with_suffix(".qml")
    live = style.read_text("utf-8")
    assert 'autoRefreshMode="ReloadData"' in live
    put_style(index, False, Reporter())
    assert "autoRefresh" not in style.read_text("utf-8")
    # But for that, it is the same style.
    assert style.read_text("utf-8").splitlines()[2:] == live.splitlines()[2:]
    assert sorted(path.name for path in index.parent.iterdir()) == ["index.gpkg", "index.qml"]


def test_a_style_of_the_users_own_stays(index):
    index.with_suffix(".qml").write_text("my own", "utf-8")
    for is_live in (True, False):
        put_style(index, is_live, Reporter())
    assert index.with_suffix(".qml").read_text("utf-8") == "my own"


def test_a_style_that_cannot_be_written_is_a_warning(index):
    index.with_suffix(".qml").mkdir()
    reporter = Reporter()
    put_style(index, True, reporter)
    assert len(reporter.warnings) == 1 and str(index) in reporter.warnings[0]
    assert len(list(index.parent.iterdir())) == 2
