"""The job scorenetwork: from two layers to scores, a layer of errors, and a report."""

from __future__ import annotations

import json
import re

import geopandas
import pytest
import shapely
from shapely import MultiLineString

from tests.core.support.browser import Page
from tests.core.support.disasters import GRID, X, Y, line, score
from tests.core.support.rasters import UTM
from training_core.errors import JobError
from training_core.events import Reporter


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
    result = score(tmp_path, grid, other, truth_speed_field="speed", proposal_speed_field="speed")
    assert all_scores(result) == pytest.approx([1] * 6, abs=1e-6)
    assert result["apls_time"]["score"] == pytest.approx(1, abs=1e-6)
    assert result["truth"]["length_m"] == pytest.approx(8 * 210, rel=1e-3)  # on the ground, not on the map


def test_lines_are_matched_missed_or_false(tmp_path, write):
    truth = write("truth", line((0, 0), (200, 0)))
    proposal = write("proposal", line((0, 2), (120, 2)), line((60, 2), (60, 52)))
    result = score(tmp_path, truth, proposal, tolerance_m=4)
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
    assert score(tmp_path, grid, proposal)["lines"]["completeness"] < 0.9
    result = score(tmp_path, grid, proposal, aoi=aoi)
    assert all_scores(result) == pytest.approx([1] * 6)
    assert result["truth"]["length_m"] == pytest.approx(4 * 105 + 2 * 210, rel=1e-3)


def test_a_bridge_is_crossed_without_a_junction(tmp_path, write):
    roads = line((0, 0), (100, 0)), line((50, -50), (50, 50))
    truth = write("truth", *roads, bridge=["yes", "no"])
    proposal = write("proposal", *roads, bridge=["viaduct", "no"])
    fields = {"truth_bridge_field": "bridge", "proposal_bridge_field": "bridge"}
    honored = score(tmp_path, truth, proposal, **fields)
    assert all_scores(honored) == pytest.approx([1] * 6)
    assert (honored["truth"]["edges"], honored["truth"]["bridges"], honored["truth"]["components"]) == (2, 1, 2)
    ignored = score(tmp_path, truth, proposal, truth_bridge_field="bridge")
    assert ignored["apls"]["proposal_in_truth"]["missing"] > 0
    assert ignored["apls"]["score"] < 0.9


def test_paths_are_compared_by_time_where_both_have_speeds(tmp_path, grid, write):
    slow = write("slow", *(line(*way) for way in GRID), speed=["15", "none", *["15"] * 6])
    reporter = Reporter()
    options = {"truth_speed_field": "speed", "proposal_speed_field": "speed", "speed_unit": "mph"}
    result = score(tmp_path, grid, slow, reporter, **options)
    assert result["apls"]["score"] == pytest.approx(1)
    assert result["apls_time"]["score"] == 0  # each path takes twice as long, and back, half as long
    assert result["apls_time"]["truth_in_proposal"]["score"] == pytest.approx(0)
    assert result["apls_time"]["proposal_in_truth"]["score"] == pytest.approx(0.5)
    assert "1 of 8 values in the field 'speed' of the proposed roads are not numbers" in reporter.warnings[0]
    assert "1 of 8 proposed roads have no speed" in reporter.warnings[1]
    with pytest.raises(JobError, match="proposal_speed_field"):
        score(tmp_path, grid, slow, truth_speed_field="speed")


def test_every_score_is_given_with_all_that_it_depends_on(tmp_path, grid, write):
    said = []
    reporter = Reporter(lambda event: said.append(getattr(event, "message", "")))
    options = {"snap_m": 6.5, "spacing_m": 40.0, "tolerance_m": 7.0, "relaxed_m": 2.0, "radius_m": 140.0, "hole_m": 9.0}
    result = score(tmp_path, grid, write("half", *(line(*way) for way in GRID[:5])), reporter, **options)
    page = re.sub(r"\s+", " ", Page((tmp_path / "report.html").read_text(encoding="utf-8")).text)
    texts = ["snap distance 6.5 m", "at most 40 m apart", "radius 140 m", "hole size 9 m", "within 7 m", "within 2 m"]
    texts += [f"TOPO F1 {result['topo']['f1']:.4f}", f"APLS by length {result['apls']['score']:.4f}"]
    for expected in texts:
        assert any(expected in sentence for sentence in said) and expected in page
    document = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert document == {name: value for name, value in result.items() if name not in ("errors", "report", "scores")}


def test_what_a_layer_may_hold_beside_clean_lines_changes_nothing(tmp_path, grid, write):
    parts = MultiLineString([line(*GRID[0]), line(*GRID[4])])
    with_height = line((0, 70, 5), (210, 70, 9))
    point, twice = line((9, 9), (9, 9)), line(*GRID[3][::-1])
    rest = [line(*way) for way in (*GRID[2:4], *GRID[5:])]
    dirty = write("dirty", parts, with_height, point, twice, line((30, 70), (150, 70)), *rest)
    assert all_scores(score(tmp_path, grid, dirty)) == pytest.approx([1] * 6)
