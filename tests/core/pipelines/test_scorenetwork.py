"""The job scorenetwork: from two layers to scores, a layer of errors, and a report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import geopandas
import pytest
import shapely
from shapely import LineString, MultiLineString

from tests.core.support.browser import Page
from tests.core.support.rasters import UTM, layer, write_layer
from tests.core.support.road_graphs import vegas
from training_core.errors import Cancelled, JobError, LabelError, RoadSegError
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options
from training_core.pipelines import scorenetwork

X, Y = 390000, 5820000
GRID = [[(0, 70 * i), (210, 70 * i)] for i in range(4)] + [[(70 * i, 0), (70 * i, 210)] for i in range(4)]


def line(*points):
    """A line in meters from a corner of the map."""
    return LineString([(X + x, Y + y, *z) for x, y, *z in points])


def run(tmp_path, truth, proposal, reporter=None, **options):
    """Score one file against another, all outputs asked for."""
    outputs = {"errors": "errors.gpkg", "report": "report.html", "scores": "scores.json"}
    wanted = {name: str(tmp_path / file) for name, file in outputs.items()}
    job = from_options(JOBS["scorenetwork"], {"truth": truth, "proposal": proposal, **wanted, **options})
    return scorenetwork.run(job, reporter or Reporter())


@pytest.fixture
def write(tmp_path):
    def write_lines(name, *lines, **columns):
        return write_layer(tmp_path / f"{name}.gpkg", *lines, **columns)

    return write_lines


@pytest.fixture
def grid(write):
    return write("grid", *(line(*way) for way in GRID), speed=[30] * len(GRID))


def all_scores(result):
    apls, topo, lines, relaxed = (result[name] for name in ("apls", "topo", "lines", "relaxed"))
    return [
        apls["score"],
        topo["f1"],
        *(lines[name] for name in ("completeness", "correctness", "quality")),
        relaxed["f1"],
    ]


@pytest.mark.parametrize("crs", [UTM, "EPSG:4326", "EPSG:3857"])
def test_the_same_roads_in_any_coordinate_systems_score_1(tmp_path, grid, crs):
    other = str(tmp_path / "other.gpkg")
    geopandas.read_file(grid).to_crs(crs).to_file(other)
    result = run(tmp_path, grid, other, truth_speed_field="speed", proposal_speed_field="speed")
    assert all_scores(result) == pytest.approx([1] * 6, abs=1e-6)
    assert result["apls_time"]["score"] == pytest.approx(1, abs=1e-6)
    assert result["truth"]["length_m"] == pytest.approx(8 * 210, rel=1e-3)  # on the ground, not on the map


def test_what_a_layer_may_hold_beside_clean_lines_changes_nothing(tmp_path, grid, write):
    parts = MultiLineString(
        [
            line(
                *GRID[0],
            ),
            line(*GRID[4]),
        ]
    )
    with_height = line((0, 70, 5), (210, 70, 9))
    point, twice = line((9, 9), (9, 9)), line(*GRID[3][::-1])
    rest = [line(*way) for way in (*GRID[2:4], *GRID[5:])]
    dirty = write("dirty", parts, with_height, point, twice, line((30, 70), (150, 70)), *rest)
    assert all_scores(run(tmp_path, grid, dirty)) == pytest.approx([1] * 6)


def test_lines_are_matched_missed_or_false(tmp_path, write):
    truth = write("truth", line((0, 0), (200, 0)))
    proposal = write("proposal", line((0, 2), (120, 2)), line((60, 2), (60, 52)))
    result = run(tmp_path, truth, proposal, tolerance_m=4)
    errors = geopandas.read_file(result["errors"])
    assert errors.crs == UTM
    beyond = (4**2 - 2**2) ** 0.5
    lengths = errors.groupby("kind")["length_m"].sum()
    assert lengths.to_dict() == pytest.approx({"matched": 120 + 2, "false": 48, "missed": 80 - beyond}, rel=1e-3)
    assert errors.length.tolist() == pytest.approx(errors["length_m"].tolist(), rel=1e-3)
    missed = errors.geometry[errors["kind"] == "missed"].iloc[0]
    assert missed.bounds == pytest.approx((X + 120 + beyond, Y, X + 200, Y), abs=0.1)
    assert result["lines"]["completeness"] == pytest.approx((120 + beyond) / 200, rel=1e-4)


def test_only_what_lies_in_the_area_of_interest_counts(tmp_path, grid, write):
    aoi = write("aoi", shapely.box(X - 5, Y - 5, X + 105, Y + 215))
    proposal = write("proposal", *(line(*way) for way in GRID if way != GRID[7]))  # a road outside is missing
    assert run(tmp_path, grid, proposal)["lines"]["completeness"] < 0.9
    result = run(tmp_path, grid, proposal, aoi=aoi)
    assert all_scores(result) == pytest.approx([1] * 6)
    assert result["truth"]["length_m"] == pytest.approx(4 * 105 + 2 * 210, rel=1e-3)


def test_a_bridge_is_crossed_without_a_junction(tmp_path, write):
    roads = line((0, 0), (100, 0)), line((50, -50), (50, 50))
    truth = write("truth", *roads, bridge=["yes", "no"])
    proposal = write("proposal", *roads, bridge=["viaduct", "no"])
    fields = {"truth_bridge_field": "bridge", "proposal_bridge_field": "bridge"}
    honored = run(tmp_path, truth, proposal, **fields)
    assert all_scores(honored) == pytest.approx([1] * 6)
    assert (honored["truth"]["edges"], honored["truth"]["bridges"], honored["truth"]["components"]) == (2, 1, 2)
    ignored = run(tmp_path, truth, proposal, truth_bridge_field="bridge")
    assert ignored["apls"]["proposal_in_truth"]["missing"] > 0
    assert ignored["apls"]["score"] < 0.9


def test_paths_are_compared_by_time_where_both_have_speeds(tmp_path, grid, write):
    slow = write("slow", *(line(*way) for way in GRID), speed=["15", "none", *["15"] * 6])
    reporter = Reporter()
    options = {"truth_speed_field": "speed", "proposal_speed_field": "speed", "speed_unit": "mph"}
    result = run(tmp_path, grid, slow, reporter, **options)
    assert result["apls"]["score"] == pytest.approx(1)
    assert result["apls_time"]["score"] == 0  # each path takes twice as long, and back, half as long
    assert result["apls_time"]["truth_in_proposal"]["score"] == pytest.approx(0)
    assert result["apls_time"]["proposal_in_truth"]["score"] == pytest.approx(0.5)
    assert "1 of 8 proposed roads have no speed" in reporter.warnings[0]
    with pytest.raises(JobError, match="proposal_speed_field"):
        run(tmp_path, grid, slow, truth_speed_field="speed")


def test_a_proposal_without_roads_in_the_area_scores_nothing(tmp_path, grid, write):
    aoi = write("aoi", shapely.box(X - 5, Y - 5, X + 50, Y + 300))
    reporter = Reporter()
    result = run(tmp_path, grid, write("far", line((150, 0), (150, 9))), reporter, aoi=aoi)
    assert all_scores(result) == [0] * 6
    assert "no proposed roads" in reporter.warnings[0]
    assert set(geopandas.read_file(result["errors"])["kind"]) == {"missed"}
    Page(Path(result["report"]).read_text(encoding="utf-8"))


def test_every_score_is_given_with_all_that_it_depends_on(tmp_path, grid, write):
    said = []
    reporter = Reporter(lambda event: said.append(getattr(event, "message", "")))
    options = {"snap_m": 6.5, "spacing_m": 40.0, "tolerance_m": 7.0, "relaxed_m": 2.0, "radius_m": 140.0, "hole_m": 9.0}
    result = run(tmp_path, grid, write("half", *(line(*way) for way in GRID[:5])), reporter, **options)
    apls, topo = result["apls"], result["topo"]
    page = re.sub(r"\s+", " ", Page((tmp_path / "report.html").read_text(encoding="utf-8")).text)
    for expected in (
        f"APLS by length {apls['score']:.4f}: harmonic mean of {apls['truth_in_proposal']['score']:.4f}",
        "snap distance 6.5 m, control points at nodes and at most 40 m apart",
        f"TOPO F1 {topo['f1']:.4f}: harmonic mean of precision",
        "seeds every 30 m; radius 140 m, holes every 5 m, hole size 9 m",
        f"quality {result['lines']['quality']:.4f}: by length, exact, within 7 m",
        f"F1 {result['relaxed']['f1']:.4f} (harmonic mean): by length, exact, within 2 m",
    ):
        assert any(expected in sentence for sentence in said)
        assert expected in page
    document = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert document == {name: value for name, value in result.items() if name not in ("errors", "report", "scores")}


def test_the_same_job_gives_the_same_numbers(tmp_path, grid, write):
    proposal = write("part", *(line(*way) for way in GRID[:6]))
    assert run(tmp_path, grid, proposal) == run(tmp_path, grid, proposal)


def test_a_page_shows_names_as_text_and_asks_for_nothing_outside(tmp_path, grid):
    hostile = tmp_path / "<script>alert(1)<"
    hostile.mkdir()
    name = str(hostile / "<b>roads.gpkg")
    geopandas.read_file(grid).to_file(name, layer="roads")
    run(tmp_path, name, grid)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "script" not in page.elements and "b>roads" not in text
    assert "<b>roads.gpkg" in page.text
    assert "://" not in text


def polygons(path):
    write_layer(path, shapely.box(X, Y, X + 9, Y + 9))


def points_in_one_place(path):
    write_layer(path, line((0, 0), (0, 0)))


def far_away(path):
    layer(LineString([(100, 10), (100.1, 10)]), crs="EPSG:4326").to_file(path)


def missing(path):
    pass


@pytest.mark.parametrize("spoil", [polygons, points_in_one_place, far_away, missing])
def test_a_bad_layer_is_refused_and_nothing_left_behind(tmp_path, grid, spoil):
    (tmp_path / "out").mkdir()
    spoil(tmp_path / "bad roads.gpkg")
    with pytest.raises(LabelError) as refused:
        run(tmp_path / "out", str(tmp_path / "bad roads.gpkg"), grid)
    assert refused.value.message.endswith(".") and refused.value.remedy.endswith(".")
    assert "bad roads.gpkg" in refused.value.message or spoil is far_away
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("field", ["truth_bridge_field", "proposal_bridge_field"])
def test_a_field_that_is_not_there_is_refused_by_name(tmp_path, grid, field):
    with pytest.raises(LabelError, match="no field 'surface'.*They have: speed"):
        run(tmp_path, grid, grid, **{field: "surface"})


def test_a_speed_field_without_numbers_is_refused(tmp_path, grid, write):
    words = write("words", *(line(*way) for way in GRID), speed=["fast"] * 8)
    with pytest.raises(LabelError, match=r"'speed' of the proposed roads \(.*words.*\) has no number"):
        run(tmp_path, grid, words, truth_speed_field="speed", proposal_speed_field="speed")


def test_inputs_are_never_written_over(tmp_path, grid):
    with pytest.raises(RoadSegError, match="is an input"):
        run(tmp_path, grid, grid, errors=grid)


def test_a_job_that_is_stopped_leaves_nothing(tmp_path, grid):
    (tmp_path / "out").mkdir()
    with pytest.raises(Cancelled):
        run(tmp_path / "out", grid, grid, Reporter(is_cancelled=lambda: True))
    assert list((tmp_path / "out").iterdir()) == []


def test_the_pair_of_las_vegas_in_files(tmp_path, real_data):
    _, proposal = vegas(real_data)
    proposal.to_crs("EPSG:3857").to_file(tmp_path / "proposal.gpkg")
    truth = str(real_data / "vegas_img0_roads.geojson")
    result = run(tmp_path, truth, str(tmp_path / "proposal.gpkg"), truth_bridge_field="bridge_type")
    assert result["apls"]["score"] == pytest.approx(0.823, abs=0.001)
    assert result["truth"]["bridges"] == 0  # 2 means none
    errors = geopandas.read_file(result["errors"])
    assert errors.crs.to_epsg() == 4326
    assert errors.groupby("kind")["length_m"].sum()["missed"] < 50
