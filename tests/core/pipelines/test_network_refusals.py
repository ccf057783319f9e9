"""The jobs comparenetworks and scorenetwork, given what they cannot use."""

from __future__ import annotations

import pytest
from shapely import LineString, MultiLineString

from tests.core.support.disasters import line, run, score, write_points
from tests.core.support.rasters import write_layer
from training_core.errors import JobError, LayerError
from training_core.jobs import JOBS, from_options

ROLES = [(run, "before"), (run, "after"), (score, "truth")]
SPOILS = {
    "points in one place": lambda path: write_layer(path, line((0, 0), (0, 0))),
    "elsewhere": lambda path: write_layer(path, MultiLineString([line((5000, 0), (5100, 0))])),
    "far away": lambda path: write_layer(path, LineString([(100, 10), (100.1, 10)]), crs="EPSG:4326"),
}


@pytest.fixture
def out(tmp_path):
    """An empty folder for outputs, which is empty also after the test."""
    (tmp_path / "out").mkdir()
    yield tmp_path / "out"
    assert list((tmp_path / "out").iterdir()) == []


def layers_of(job, layer):
    return dict.fromkeys(("before", "after") if job is run else ("truth", "proposal"), layer)


@pytest.mark.parametrize(
    ("job", "role", "spoil"),  # Only what is compared must lie near each other.
    [(*role, spoil) for role in ROLES for spoil in SPOILS if (role[0], spoil) != (score, "elsewhere")],
)
def test_a_bad_layer_is_refused_and_nothing_left_behind(tmp_path, out, grid, job, role, spoil):
    SPOILS[spoil](tmp_path / "bad roads.gpkg")
    with pytest.raises(LayerError) as refused:
        job(out, **{**layers_of(job, grid), role: str(tmp_path / "bad roads.gpkg")})
    assert refused.value.message.endswith(".") and refused.value.remedy.endswith(".")
    assert "bad roads.gpkg" in refused.value.message or (job, spoil) == (score, "far away")


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        ({"places": "lines"}, "places .* must be points, not LineString"),
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
    with pytest.raises(LayerError, match=words):
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
