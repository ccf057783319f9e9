"""The review of a layer of changes: where anything is decided, the accepted features alone are exported."""

from __future__ import annotations

from pathlib import Path

import geopandas
import pytest
from shapely import LineString

from tests.core.support.rasters import write_layer
from training_core.comparison.review import without_rejected
from training_core.errors import LabelError
from training_core.events import Reporter
from training_core.jobs import ExportNetwork, MakeChallenge
from training_core.pipelines import exportnetwork, makechallenge

ROADS = [LineString([(390000, 5820000 + y), (390200, 5820000 + y)]) for y in (0, 60, 120)]


def kept(*review, **fields):
    layer = geopandas.GeoDataFrame({"change": ["new"] * 3, "review": list(review), **fields}, geometry=ROADS)
    return without_rejected(layer, "changes", "changes.gpkg").geometry.map(ROADS.index).tolist()


@pytest.mark.parametrize(
    ("review", "expected"),
    [
        ((None, None, None), [0, 1, 2]),
        (("", " ", float("nan")), [0, 1, 2]),
        (("later", None, ""), [0, 1, 2]),
        (("accepted", None, "rejected"), [0]),
        ((" ACCEPTED", None, "Accepted"), [0, 2]),
    ],
)
def test_what_is_neither_accepted_nor_rejected_counts_only_where_nothing_is_decided(review, expected):
    assert kept(*review) == expected


def test_a_layer_without_changes_has_a_field_of_its_own_called_review():
    layer = geopandas.GeoDataFrame({"review": ["rejected"] * 3}, geometry=ROADS)
    assert len(without_rejected(layer, "lines", "lines.gpkg")) == 3


def test_where_all_is_rejected_there_is_nothing_to_export():
    with pytest.raises(LabelError, match=r"changes \(changes.gpkg\) are rejected, and none is accepted"):
        kept("rejected", None, None)


def test_challenges_and_networks_are_made_of_what_is_accepted(tmp_path):
    changes = write_layer(tmp_path / "changes.gpkg", *ROADS, change=["new"] * 3, review=["accepted", "rejected", None])
    challenge, osm = str(tmp_path / "challenge.geojson"), str(tmp_path / "roads.graphml")
    makechallenge.run(MakeChallenge(layer=changes, challenge=challenge), Reporter())
    assert Path(challenge).read_text(encoding="utf-8").count("\n") == 1
    assert exportnetwork.run(ExportNetwork(lines=changes, graphml=osm), Reporter())["nodes"] == 2
