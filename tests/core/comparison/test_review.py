"""The review of a layer of changes: where anything is decided, the accepted features alone are exported."""

from __future__ import annotations

from pathlib import Path

import geopandas
import numpy as np
import pytest
from shapely import LineString

from tests.core.support.rasters import write_layer
from training_core.comparison.change_results import without_rejected
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.jobs import ExportNetwork, MakeChallenge
from training_core.pipelines import exportnetwork, makechallenge

ROADS = [LineString([(390000, 5820000 + y), (390200, 5820000 + y)]) for y in (0, 60, 120)]


def kept(*review, field="review"):
    layer = geopandas.GeoDataFrame({"change": ["new"] * 3, field: review}, geometry=ROADS)
    return without_rejected(layer, "changes", "changes.gpkg").geometry.map(ROADS.index).tolist()


@pytest.mark.parametrize(
    ("review", "expected"),
    [
        ((None, None, None), [0, 1, 2]),
        (("", " ", float("nan")), [0, 1, 2]),
        (("accepted", None, "rejected"), [0]),
        ((" ACCEPTED", None, "Accepted"), [0, 2]),
        (("accept", "reject", "Reject "), [0]),
        (("no", "yes", ""), [1]),
        (("True", "false", None), [0]),
        (("0", "0", "1"), [2]),
        ((False, True, None), [1]),
        ((np.nan, 1.0, 0.0), [1]),
        ((0, 0, 1), [2]),
    ],
)
@pytest.mark.parametrize("field", ["review", "Review", "REVIEW"])
def test_where_anything_is_decided_in_any_of_the_known_words_what_is_accepted_is_kept(review, expected, field):
    assert kept(*review, field=field) == expected


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (("accepted", "later", None), r"field 'review' of the changes \(changes.gpkg\) has 1 unknown values: 'later'"),
        (("b", "a", 2), "has 3 unknown values: 'b', 'a', '2'"),
    ],
)
def test_other_words_are_refused_with_their_number_and_those_that_are_understood(review, message):
    with pytest.raises(LayerError, match=message) as caught:
        kept(*review)
    assert all(word in caught.value.remedy for word in ("accepted", "reject", "yes", "0"))


def test_of_two_fields_that_differ_in_case_the_person_chooses():
    layer = geopandas.GeoDataFrame({"change": ["new"], "review": [None], "Review": ["no"]}, geometry=ROADS[:1])
    with pytest.raises(LayerError, match="have the fields 'review' and 'Review'"):
        without_rejected(layer, "changes", "changes.gpkg")


def test_a_layer_that_is_none_of_changes_has_a_field_of_its_own_called_review():
    for fields in ({}, {"change": ["repaved", "2019", None]}):
        layer = geopandas.GeoDataFrame({"review": ["rejected", "later", "0"], **fields}, geometry=ROADS)
        assert len(without_rejected(layer, "lines", "lines.gpkg")) == 3


def test_where_all_is_rejected_there_is_nothing_to_export():
    with pytest.raises(LayerError, match=r"changes \(changes.gpkg\) are rejected, but none is accepted"):
        kept("rejected", None, None)


def test_challenges_and_networks_are_made_of_what_is_accepted(tmp_path):
    changes = write_layer(tmp_path / "changes.gpkg", *ROADS, Change=["New "] * 3, REVIEW=["yes", "reject", None])
    challenge, osm = str(tmp_path / "challenge.geojson"), str(tmp_path / "roads.graphml")
    makechallenge.run(MakeChallenge(layer=changes, challenge=challenge), Reporter())
    assert Path(challenge).read_text(encoding="utf-8").count("\n") == 1
    assert exportnetwork.run(ExportNetwork(lines=changes, graphml=osm), Reporter())["nodes"] == 2
