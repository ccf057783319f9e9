"""Map services that paint on request, rendered to files."""

from urllib.parse import parse_qs, urlsplit

import pytest
from qgis.core import QgsRasterLayer, QgsRectangle
from roadseg.qgis_roadseg.rendering import rendering

from ..support.rendered import color_of, render
from ..support.tiles import LAND, png_of, serve

pytestmark = pytest.mark.usefixtures("qgis_app", "short_waits")

CAPABILITIES = """<?xml version="1.0"?>
<WMT_MS_Capabilities version="1.1.1"><Service><Name>OGC:WMS</Name><Title>Test</Title></Service><Capability><Request>
<GetMap><Format>image/png</Format><DCPType><HTTP><Get><OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink"
xlink:type="simple" xlink:href="{address}/?"/></Get></HTTP></DCPType></GetMap></Request>
<Layer><Title>All</Title><SRS>EPSG:25833</SRS><LatLonBoundingBox minx="12" miny="52" maxx="14" maxy="53"/>
<BoundingBox SRS="EPSG:25833" minx="380000" miny="5810000" maxx="400000" maxy="5830000"/>
<Layer queryable="0"><Name>photo</Name><Title>Photo</Title></Layer></Layer></Capability></WMT_MS_Capabilities>"""
TEN_M = QgsRectangle(390000, 5820000, 390040, 5820040)


def wms_layer(address):
    source = f"crs=EPSG:25833&format=image/png&layers=photo&styles=&dpiMode=0&url={address}/"
    layer = QgsRasterLayer(source, "Luftbild", "wms")
    assert layer.isValid(), layer.error().message()
    return layer


@pytest.fixture
def map_service():
    """Return a function that serves maps as `get_map(query)` makes them."""

    def make(get_map):
        def answer(path):
            query = {name.lower(): value[0] for name, value in parse_qs(urlsplit(path).query).items()}
            if query.get("request") == "GetCapabilities":
                return 200, "application/xml", CAPABILITIES.format(address=address[0]).encode()
            return get_map(query)

        address = []
        server = serve(answer)
        address.append(server.__enter__())
        servers.append(server)
        return address[0]

    servers = []
    yield make
    for server in servers:
        server.__exit__(None, None, None)


def test_a_map_service_is_rendered_in_pieces_that_it_gives(tmp_path, map_service):
    asked = []

    def get_map(query):
        asked.append((int(query["width"]), int(query["height"])))
        return 200, "image/png", png_of(*asked[-1])

    layer = wms_layer(map_service(get_map))
    dataset, values = render(layer, tmp_path / "image.tif", extent=TEN_M, resolution_m=0.02)
    assert dataset.GetSpatialRef().GetAuthorityCode(None) == "25833"
    assert dataset.GetGeoTransform()[1] == pytest.approx(0.02, rel=0.02)  # UTM's scale is within 0.04 %
    assert max(max(size) for size in asked) <= rendering.BLOCK_PX and len(asked) == 4
    assert (values[3] == 255).all() and color_of(values, 0, 0) == (LAND.red(), LAND.green(), LAND.blue())
