"""A town as Overpass writes it, for tests of the core, the plugin and both together."""

# A town around 85.50 E, 27.60 N: a street, a bridge over a river, a road that is being built, a railway, a runway and
# a lake whose shore is a way of its own, with an island.
TOWN = """<?xml version="1.0" encoding="UTF-8"?>
<osm version="0.6" generator="Overpass API 0.7.62">
<note>The data included in this document is from www.openstreetmap.org. The data is made available under ODbL.</note>
<meta osm_base="2026-11-28T12:00:00Z"/>
{nodes}
{ways}
<relation id="900" version="9"><member type="way" ref="106" role="outer"/><member type="way" ref="107" role="inner"/>
<tag k="type" v="multipolygon"/><tag k="natural" v="water"/><tag k="name" v="Taudaha"/></relation>
</osm>
"""
_WAYS = {
    101: ("highway=residential name=Straße maxspeed=30 surface=gravel", [(0, 0), (400, 0)]),
    102: ("highway=primary_link bridge=yes layer=1 oneway=yes maxspeed=25_mph", [(400, 0), (500, 0)]),
    103: ("highway=construction construction=tertiary", [(0, 300), (400, 300)]),
    104: ("waterway=river width=20", [(450, -400), (450, 400)]),
    105: ("railway=rail", [(0, -200), (400, -200)]),
    106: ("source=survey", [(600, 0), (800, 0), (800, 200), (600, 200), (600, 0)]),
    107: ("note=island", [(650, 50), (750, 50), (750, 150), (650, 150), (650, 50)]),
    108: ("aeroway=runway surface=grass", [(0, -600), (800, -600)]),
    109: ("landuse=residential", [(-100, -100), (100, -100), (100, 100), (-100, 100), (-100, -100)]),
    110: ("waterway=stream tunnel=culvert", [(0, 500), (400, 500)]),
    111: ("highway=footway bridge=no", [(0, 0), (0, 300)]),
}
WEST, SOUTH = 85.5, 27.6
DEGREES = (1 / 98_560, 1 / 110_800)  # of a meter to the east and to the north there
EXTENT = "85.49,85.52,27.59,27.61 [EPSG:4326]"


def town():
    """Return the town as Overpass writes it: nodes first, with versions."""
    nodes, ways = {}, []
    for number, (tags, points) in _WAYS.items():
        refs = "".join(f'<nd ref="{nodes.setdefault(point, 1000 + len(nodes))}"/>' for point in points)
        pairs = (pair.replace("_mph", " mph").split("=") for pair in tags.split())
        texts = "".join(f'<tag k="{key}" v="{value}"/>' for key, value in pairs)
        ways.append(f'<way id="{number}" version="{number - 98}">{refs}{texts}</way>')
    places = [
        f'<node id="{ref}" lat="{SOUTH + y * DEGREES[1]:.7f}" lon="{WEST + x * DEGREES[0]:.7f}" version="1"/>'
        for (x, y), ref in nodes.items()
    ]
    return TOWN.format(nodes="\n".join(places), ways="\n".join(ways))
