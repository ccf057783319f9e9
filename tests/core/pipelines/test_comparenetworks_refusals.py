"""The job comparenetworks, given what it cannot use, and stopped."""

from __future__ import annotations

import pytest
import shapely
from shapely import MultiLineString

from tests.core.support.disasters import X, Y, line, run, write_grid, write_points, write_river
from tests.core.support.rasters import write_layer
from training_core.errors import Cancelled, JobError, LabelError, RoadSegError
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options


@pytest.fixture
def grid(tmp_path):
    return write_grid(tmp_path)


@pytest.fixture
def river(tmp_path):
    return write_river(tmp_path)


def polygons(path):
    write_layer(path, shapely.box(X, Y, X + 9, Y + 9))


def points_in_one_place(path):
    write_layer(path, line((0, 0), (0, 0)))


def elsewhere(path):
    write_layer(path, MultiLineString([line((5000, 0), (5100, 0))]))


def missing(path):
    pass


@pytest.mark.parametrize("role", ["before", "after"])
@pytest.mark.parametrize("spoil", [polygons, points_in_one_place, elsewhere, missing])
def test_a_bad_layer_is_refused_and_nothing_left_behind(tmp_path, grid, spoil, role):
    (tmp_path / "out").mkdir()
    spoil(tmp_path / "bad roads.gpkg")
    with pytest.raises(LabelError) as refused:
        run(tmp_path / "out", **{"before": grid, "after": grid, role: str(tmp_path / "bad roads.gpkg")})
    assert refused.value.message.endswith(".") and refused.value.remedy.endswith(".")
    assert "bad roads.gpkg" in refused.value.message
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        ({"places": "lines"}, "places .* must be points, but it holds LineString"),
        ({"origins": "lines"}, "origins .* must be points"),
        ({"damage": "lines"}, "confirmed damage .* must be polygons"),
        ({"aoi": "lines"}, "area of interest .* must be polygons"),
        ({"places_name_field": "title"}, "places .* have no field 'title'.*They have: name"),
        ({"before_bridge_field": "bridge"}, "roads before .* have no field 'bridge'"),
        ({"origins": "far"}, "None of the origins .* check the layers' coordinate systems"),
        ({"places": "one", "origins": ""}, "are one point, and there are no origins"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path, river, spoiled, words):
    files = {
        "lines": write_layer(tmp_path / "lines.gpkg", line((0, 0), (9, 9))),
        "far": write_points(tmp_path, "far", depot=(0, 9000)),
        "one": write_points(tmp_path, "one", village=(0, 0)),
    }
    with pytest.raises(LabelError, match=words):
        run(tmp_path, **{**river, **{name: files.get(value, value) for name, value in spoiled.items()}})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"before_speed_field": "speed"}, "after_speed_field"),
        ({"origins": "depot.gpkg"}, "places"),
        ({"damage": "flood.gpkg"}, "places"),
        ({"reached": "reached.gpkg"}, "places"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, words):
    with pytest.raises(JobError, match=words):
        from_options(JOBS["comparenetworks"], {"before": "a.gpkg", "after": "b.gpkg", **options})


def test_inputs_are_never_written_over(tmp_path, grid):
    with pytest.raises(RoadSegError, match="is an input"):
        run(tmp_path, grid, grid, changes=grid)


def test_a_job_that_is_stopped_leaves_nothing(tmp_path, grid):
    (tmp_path / "out").mkdir()
    with pytest.raises(Cancelled):
        run(tmp_path / "out", grid, grid, Reporter(is_cancelled=lambda: True))
    assert list((tmp_path / "out").iterdir()) == []
