"""Ways, and a town of them, as Overpass writes them, for tests of the core, the plugin and both together."""

ANSWER = """<?xml version="1.0" encoding="UTF-8"?>
<osm version="0.6" generator="Overpass API 0.7.62">
<note>The data included in this document is from www.openstreetmap.org. The data is made available under ODbL.</note>
<meta osm_base="2026-11-28T12:00:00Z"/>
{nodes}
{ways}
{relations}
</osm>
"""
LAKE = """<relation id="900" version="9"><member type="way" ref="106" role="outer"/>
<member type="way" ref="107" role="inner"/>
<tag k="type" v="multipolygon"/><tag k="natural" v="water"/><tag k="name" v="Taudaha"/></relation>"""
# A town around 85.50 E, 27.60 N: a street, a bridge over a river, a road that is being built, a railway, a runway and
# a lake whose shore is a way of its own, with an island.
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
    """Return the town: nodes first, with versions."""
    ways = {
        number: (
            dict(pair.replace("_mph", " mph").split("=") for pair in tags.split()),
            [(WEST + x * DEGREES[0], SOUTH + y * DEGREES[1]) for x, y in points],
        )
        for number, (tags, points) in _WAYS.items()
    }
    return answer(ways, LAKE)


def answer(ways, relations=""):
    """Return ways as Overpass writes them, of their tags and their longitudes and latitudes by number."""
    nodes, written = {}, []
    for number, (tags, points) in ways.items():
        places = [f'lat="{latitude:.7f}" lon="{longitude:.7f}"' for longitude, latitude in points]
        refs = "".join(f'<nd ref="{nodes.setdefault(place, 1000 + len(nodes))}"/>' for place in places)
        texts = "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items())
        written.append(f'<way id="{number}" version="{number - 98}">{refs}{texts}</way>')
    points = [f'<node id="{ref}" {place} version="1"/>' for place, ref in nodes.items()]
    return ANSWER.format(nodes="\n".join(points), ways="\n".join(written), relations=relations)
