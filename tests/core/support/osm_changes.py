"""Files of OpenStreetMap written, and changes applied to them as its database would, by a few lines of their own."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import geopandas
import numpy as np
import osmium
import shapely
from osmium.osm.mutable import Node, Way

from tests.core.support.disasters import line
from tests.core.support.disasters import run as compare
from tests.core.support.rasters import UTM, write_layer

FIRST_NODE, FIRST_WAY = 1000, 500
STREET, AVENUE = [(0, 0), (100, 0), (200, 0)], [(0, 100), (100, 100), (200, 100)]
# From the inside of the street, past a vertex of the avenue, to a place where nothing is.
ROAD = [(30, 4), (30, 60), (100, 96), (100, 180)]


def placed(*coordinates, crs="EPSG:4326"):
    """Return lines in meters from a corner of the map."""
    return geopandas.GeoSeries([line(*points) for points in coordinates], crs=UTM).to_crs(crs)


def changed(folder, before=(STREET, AVENUE), after=(STREET, AVENUE, ROAD), tags=None, version=3, **fields):
    """Return an extract, and the changes that the comparison with it finds."""
    extract = write_extract(folder / "before.osm", placed(*before), tags, version)
    path = write_layer(folder / "after.gpkg", *placed(*after, crs=UTM), **fields)
    return extract, compare(folder, extract, path, align=False)["changes"]


def write_extract(path, lines, tags=None, version=3):
    """Write lines in degrees as ways, with one node for each different vertex."""
    nodes, ways = {}, []
    for each in lines:
        at = map(tuple, np.round(shapely.get_coordinates(each), 7).tolist())
        ways.append([nodes.setdefault(place, FIRST_NODE + len(nodes)) for place in at])
    writer = osmium.SimpleWriter(str(path), overwrite=True)
    for place, number in nodes.items():
        writer.add_node(Node(id=number, version=version and 1, visible=True, location=place))
    for row, refs in enumerate(ways):
        own = tags[row] if tags else {"highway": "residential"}
        writer.add_way(Way(id=FIRST_WAY + row, version=version, visible=True, nodes=refs, tags=own))
    writer.close()
    return str(path)


def read_extract(path):
    """Return the places of nodes, and the version, nodes and tags of ways, by id."""
    nodes, ways = {}, {}
    for each in osmium.FileProcessor(str(path), osmium.osm.NODE | osmium.osm.WAY):
        if each.is_node():
            nodes[each.id] = (each.lon, each.lat)
        else:
            ways[each.id] = (each.version, [node.ref for node in each.nodes], dict(each.tags))
    return nodes, ways


def apply_change(nodes, ways, change):
    """Return nodes and ways after a change, given as text, and the ids of what it creates and modifies."""
    nodes, ways, touched = dict(nodes), dict(ways), {"create": set(), "modify": set()}
    root = ElementTree.fromstring(change)
    assert root.tag == "osmChange" and root.get("version") == "0.6"
    for action in root:
        for each in action:
            number = int(each.get("id"))
            known = nodes if each.tag == "node" else ways
            touched[action.tag].add((each.tag, number))
            assert (number in known) == (action.tag == "modify")
            if each.tag == "node":
                nodes[number] = (float(each.get("lon")), float(each.get("lat")))
                continue
            refs = [int(node.get("ref")) for node in each.findall("nd")]
            assert set(refs) <= set(nodes) and len(refs) >= 2
            if action.tag == "modify":  # the database refuses any other version
                assert int(each.get("version")) == ways[number][0]
            else:
                assert number < 0 and each.get("version") is None
            ways[number] = (None, refs, {tag.get("k"): tag.get("v") for tag in each.findall("tag")})
    return nodes, ways, touched


def applied(extract, path):
    """Return nodes and ways of an extract after the change in a file, and what it touches; see `apply_change`."""
    return apply_change(*read_extract(extract), Path(path).read_text(encoding="utf-8"))
