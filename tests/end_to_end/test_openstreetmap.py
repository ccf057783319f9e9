"""Data of OpenStreetMap, from a server to a graph for routing, through QGIS' own command line client."""

import pytest
from osgeo import ogr

from scripts import headless
from tests.osm_town import EXTENT, town
from tests.plugin.support.overpass import BUSY, Answer, overpass

LAYERS = ("OUTPUT", "BRIDGES", "WATER", "RAILS", "RUNWAYS", "NO_ROAD")


def get(folder, **values):
    outputs = {name: str(folder / f"{name.lower()}.gpkg") for name in LAYERS}
    folder.mkdir()
    return headless.run("roadseg:getosmdata", {"EXTENT": EXTENT, **values, **outputs})


def content(path):
    source = ogr.Open(path)  # which must outlive its layer
    return sorted(
        (feature["osm_type"], feature["osm_id"], feature["osm_version"], feature["all_tags"], feature.geometry().Area())
        for feature in source.GetLayer(0)
    )


@pytest.mark.slow  # its server is shown by plugin/toolbox
def test_a_town_comes_from_a_busy_server_or_a_file_and_is_routable(tmp_path):
    file = str(tmp_path / "town.osm")
    with overpass(BUSY[429], Answer(town().encode())) as (server, queries):
        asked = get(tmp_path / "asked", SERVER=server, DOWNLOAD=file)
    read = get(tmp_path / "read", EXTRACT=file)
    assert len(queries) == 2 and (asked["COUNTS_ROADS"], asked["COUNTS_BRIDGES"]) == (4, 1)
    assert "OpenStreetMap contributors" in asked["ATTRIBUTION"]
    for name in LAYERS:
        assert content(asked[name]) == content(read[name]) != []
    fields = {"BRIDGE_FIELD": "bridge", "ONEWAY_FIELD": "oneway", "CLASS_FIELD": "highway", "SPEED_FIELD": "speed_kmh"}
    graph = str(tmp_path / "town.graphml")
    routable = headless.run("roadseg:exportnetwork", {"INPUT": asked["OUTPUT"], **fields, "GRAPHML": graph})
    # Street and footway in both directions, the bridge in one; what is being built is left out.
    assert routable["EDGES"] == 5 and routable["LENGTH_M"] == pytest.approx(400 + 100 + 300, rel=0.01)
    for name in ("WATER", "NO_ROAD"):
        metadata = ogr.Open(asked[name]).ExecuteSQL("SELECT metadata FROM gpkg_metadata")
        assert "OpenStreetMap contributors" in metadata.GetNextFeature()["metadata"]
