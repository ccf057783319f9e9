"""Kinds of services, each from a server of this machine: what QGIS gives of them lands in the file."""

import json
import threading
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from osgeo import gdal
from qgis.core import QgsCoordinateReferenceSystem, QgsRasterLayer, QgsRectangle
from roadseg.qgis_roadseg.rendering import block_loader, rendering
from roadseg.training_core.errors import ImageryError

from ..support.rendered import color_of, render
from ..support.tiles import LAND, png_of, serve

pytestmark = pytest.mark.usefixtures("qgis_app")

UTM = QgsCoordinateReferenceSystem("EPSG:25833")
WHOLE = (380000, 5810000, 400000, 5830000)
EXTENT = QgsRectangle(390000, 5820000, 390200, 5820100)

MAP_SERVER = {
    "mapName": "Layers",
    "spatialReference": {"wkid": 25833},
    "singleFusedMapCache": False,
    "supportedImageFormatTypes": "PNG32,PNG24,PNG,JPG",
    "capabilities": "Map",
    "layers": [{"id": 0, "name": "photo", "type": "Raster Layer"}],
    "fullExtent": dict(zip(("xmin", "ymin", "xmax", "ymax"), WHOLE), spatialReference={"wkid": 25833}),
}
MAP_SERVER_LAYER = {"id": 0, "name": "photo", "type": "Raster Layer", "extent": MAP_SERVER["fullExtent"]}

COVERAGES = """<?xml version="1.0"?><WCS_Capabilities version="1.0.0" xmlns="http://www.opengis.net/wcs"
xmlns:gml="http://www.opengis.net/gml" xmlns:xlink="http://www.w3.org/1999/xlink"><Service><name>WCS</name>
<label>Test</label></Service><Capability><Request><GetCapabilities><DCPType><HTTP><Get><OnlineResource
xlink:href="ADDRESS/?"/></Get></HTTP></DCPType></GetCapabilities><DescribeCoverage><DCPType><HTTP><Get><OnlineResource
xlink:href="ADDRESS/?"/></Get></HTTP></DCPType></DescribeCoverage><GetCoverage><DCPType><HTTP><Get><OnlineResource
xlink:href="ADDRESS/?"/></Get></HTTP></DCPType></GetCoverage></Request></Capability><ContentMetadata>
<CoverageOfferingBrief><name>heights</name><label>Heights</label>
<lonLatEnvelope srsName="urn:ogc:def:crs:OGC:1.3:CRS84"><gml:pos>13 52</gml:pos>
<gml:pos>14 53</gml:pos></lonLatEnvelope></CoverageOfferingBrief></ContentMetadata>
</WCS_Capabilities>"""
COVERAGE = """<?xml version="1.0"?><CoverageDescription version="1.0.0" xmlns="http://www.opengis.net/wcs"
xmlns:gml="http://www.opengis.net/gml"><CoverageOffering><name>heights</name><label>Heights</label>
<lonLatEnvelope srsName="urn:ogc:def:crs:OGC:1.3:CRS84"><gml:pos>13 52</gml:pos><gml:pos>14 53</gml:pos>
</lonLatEnvelope><domainSet><spatialDomain><gml:Envelope srsName="EPSG:25833"><gml:pos>380000 5810000</gml:pos>
<gml:pos>400000 5830000</gml:pos></gml:Envelope><gml:RectifiedGrid dimension="2"><gml:limits><gml:GridEnvelope>
<gml:low>0 0</gml:low><gml:high>39999 39999</gml:high></gml:GridEnvelope></gml:limits><gml:axisName>x</gml:axisName>
<gml:axisName>y</gml:axisName><gml:origin><gml:pos>380000 5830000</gml:pos></gml:origin><gml:offsetVector>0.5 0
</gml:offsetVector><gml:offsetVector>0 -0.5</gml:offsetVector></gml:RectifiedGrid></spatialDomain></domainSet>
<rangeSet><RangeSet><name>bands</name><label>bands</label></RangeSet></rangeSet><supportedCRSs><requestResponseCRSs>
EPSG:25833</requestResponseCRSs><nativeCRSs>EPSG:25833</nativeCRSs></supportedCRSs><supportedFormats
nativeFormat="GeoTIFF"><formats>GeoTIFF</formats></supportedFormats><supportedInterpolations><interpolationMethod>
nearest neighbor</interpolationMethod></supportedInterpolations></CoverageOffering></CoverageDescription>"""


def query_of(path):
    return {name.lower(): value[0] for name, value in parse_qs(urlsplit(path).query).items()}


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(block_loader, "WAITS_S", ())


CAPABILITIES = """<?xml version="1.0"?>
<WMT_MS_Capabilities version="1.1.1"><Service><Name>OGC:WMS</Name><Title>Test</Title></Service><Capability><Request>
<GetMap><Format>image/png</Format><DCPType><HTTP><Get><OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink"
xlink:type="simple" xlink:href="{address}/?"/></Get></HTTP></DCPType></GetMap></Request>
<Layer><Title>All</Title><SRS>EPSG:25833</SRS><LatLonBoundingBox minx="12" miny="52" maxx="14" maxy="53"/>
<BoundingBox SRS="EPSG:25833" minx="380000" miny="5810000" maxx="400000" maxy="5830000"/>
<Layer queryable="0"><Name>photo</Name><Title>Photo</Title></Layer></Layer></Capability></WMT_MS_Capabilities>"""


def test_a_map_service_is_rendered_in_pieces_that_it_gives(tmp_path):
    asked, addresses = [], []

    def answer(path):
        query = query_of(path)
        if query.get("request") == "GetCapabilities":
            return 200, "application/xml", CAPABILITIES.format(address=addresses[0]).encode()
        asked.append((int(query["width"]), int(query["height"])))
        return 200, "image/png", png_of(*asked[-1])

    with serve(answer) as address:
        addresses.append(address)
        source = f"crs=EPSG:25833&format=image/png&layers=photo&styles=&dpiMode=0&url={address}/"
        layer, extent = QgsRasterLayer(source, "Luftbild", "wms"), QgsRectangle(390000, 5820000, 390040, 5820040)
        dataset, values = render(layer, tmp_path / "image.tif", extent=extent, resolution_m=0.02)
    assert dataset.GetSpatialRef().GetAuthorityCode(None) == "25833"
    assert dataset.GetGeoTransform()[1] == pytest.approx(0.02, rel=0.02)  # UTM's scale is within 0.04 %
    assert max(max(size) for size in asked) <= rendering.BLOCK_PX and len(asked) == 4
    assert (values[3] == 255).all() and color_of(values, 0, 0) == (LAND.red(), LAND.green(), LAND.blue())


def map_server(export):
    """Return what answers as an ArcGIS map server with one layer does."""

    def answer(path):
        parts = urlsplit(path).path
        if parts.endswith("export"):
            return export(query_of(path))
        return 200, "application/json", json.dumps(MAP_SERVER_LAYER if parts.endswith("0") else MAP_SERVER).encode()

    return answer


def map_server_layer(address):
    source = f"crs='EPSG:25833' format='PNG32' layer='0' url='{address}/MapServer'"
    return QgsRasterLayer(source, "Luftbild", "arcgismapserver")


def test_an_arcgis_map_server(tmp_path):
    def export(query):
        return 200, "image/png", png_of(*map(int, query["size"].split(",")))

    with serve(map_server(export)) as address:
        dataset, values = render(map_server_layer(address), tmp_path / "image.tif", extent=EXTENT)
    assert dataset.GetSpatialRef().GetAuthorityCode(None) == "25833"
    assert values.shape == (4, 200, 400) and (values[3] == 255).all()
    assert {tuple(color) for color in values[:3].reshape(3, -1).T} == {(LAND.red(), LAND.green(), LAND.blue())}


TILES = """<?xml version="1.0"?><Capabilities xmlns="http://www.opengis.net/wmts/1.0" version="1.0.0"
xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink"><Contents><Layer>
<ows:Title>Photo</ows:Title><ows:Identifier>photo</ows:Identifier><ows:WGS84BoundingBox>
<ows:LowerCorner>12 52</ows:LowerCorner><ows:UpperCorner>14 53</ows:UpperCorner></ows:WGS84BoundingBox>
<Style isDefault="true"><ows:Identifier>default</ows:Identifier></Style><Format>image/png</Format>
<TileMatrixSetLink><TileMatrixSet>utm</TileMatrixSet></TileMatrixSetLink><ResourceURL format="image/png"
resourceType="tile" template="ADDRESS/{TileMatrix}/{TileCol}/{TileRow}.png"/></Layer><TileMatrixSet>
<ows:Identifier>utm</ows:Identifier><ows:SupportedCRS>urn:ogc:def:crs:EPSG::25833</ows:SupportedCRS><TileMatrix>
<ows:Identifier>fine</ows:Identifier><ScaleDenominator>1785.7142857142858</ScaleDenominator>
<TopLeftCorner>380000 5830000</TopLeftCorner><TileWidth>256</TileWidth><TileHeight>256</TileHeight>
<MatrixWidth>157</MatrixWidth><MatrixHeight>157</MatrixHeight></TileMatrix></TileMatrixSet></Contents></Capabilities>"""


def test_a_tile_service_in_a_grid_of_its_own(tmp_path):
    """Its pixels are 0.5 m: 0.28 mm, as the standard has it, times the scale. One tile is not there."""
    asked = set()

    def answer(path):
        if path.startswith("/capabilities.xml"):
            return 200, "application/xml", TILES.replace("ADDRESS", addresses[0]).encode()
        asked.add(path)
        return (404, "text/plain", b"") if path == "/fine/79/78.png" else (200, "image/png", png_of(256, 256))

    addresses = []
    with serve(answer) as address:
        addresses.append(address)
        source = "crs=EPSG:25833&format=image/png&layers=photo&styles=default&tileMatrixSet=utm"
        layer = QgsRasterLayer(f"{source}&url={address}/capabilities.xml", "Kacheln", "wms")
        _, values = render(layer, tmp_path / "i.tif", extent=EXTENT)
    assert values.shape == (4, 200, 400)
    assert asked == {f"/fine/{column}/{row}.png" for column in (78, 79) for row in (77, 78)}
    missing = np.zeros((200, 400), bool)
    missing[168:, 224:] = True  # column 79 begins 10112 m from the left of the grid, row 78 9984 m from its top
    assert ((values[3] == 0) != missing).mean() < 0.01


def coverage_of(query):
    """Return a coverage whose values tell where a pixel is: its distance from the extent's left, in half meters."""
    west, south, east, north = map(float, query["bbox"].split(","))
    width, height = int(query["width"]), int(query["height"])
    dataset = gdal.GetDriverByName("GTiff").Create("/vsimem/coverage.tif", width, height, 1, gdal.GDT_UInt16)
    dataset.SetGeoTransform((west, (east - west) / width, 0, north, 0, (south - north) / height))
    dataset.SetProjection(UTM.toWkt())
    x = west + (np.arange(width) + 0.5) * (east - west) / width
    values = np.clip((x - EXTENT.xMinimum()) * 2, 0, 65000).astype(np.uint16)
    dataset.GetRasterBand(1).WriteArray(np.tile(values, (height, 1)))
    dataset = None
    file = gdal.VSIFOpenL("/vsimem/coverage.tif", "rb")
    content = bytes(gdal.VSIFReadL(1, gdal.VSIStatL("/vsimem/coverage.tif").size, file))
    gdal.VSIFCloseL(file)
    return content


@contextmanager
def serve_coverage(get_coverage):
    """Serve as a coverage service does, and give the server's address."""

    def answer(path):
        query = query_of(path)
        what = query.get("request", "GetCapabilities")
        if what == "GetCoverage":
            return get_coverage(query)
        document = COVERAGE if what == "DescribeCoverage" else COVERAGES.replace("ADDRESS", addresses[0])
        return 200, "application/xml", document.encode()

    addresses = []
    with serve(answer) as address:
        addresses.append(address)
        yield address


def coverage_layer(address):
    source = f"crs=EPSG:25833&format=GeoTIFF&identifier=heights&version=1.0.0&url={address}/"
    return QgsRasterLayer(source, "Höhen", "wcs")


def test_a_coverage_service_gives_data(tmp_path):
    with serve_coverage(lambda query: (200, "image/tiff", coverage_of(query))) as address:
        dataset, values = render(coverage_layer(address), tmp_path / "image.tif", extent=EXTENT)
    assert dataset.GetRasterBand(1).DataType == gdal.GDT_UInt16
    assert values.shape == (200, 400)
    assert np.abs(values[100].astype(int) - np.arange(400)).max() <= 1


def test_a_coverage_service_that_fails_later(tmp_path):
    is_broken = threading.Event()

    def get_coverage(query):
        return (502, "text/plain", b"gone") if is_broken.is_set() else (200, "image/tiff", coverage_of(query))

    with serve_coverage(get_coverage) as address:
        layer = coverage_layer(address)
        is_broken.set()
        with pytest.raises(ImageryError, match="Höhen could not be loaded completely: 127.0.0.1: HTTP status 502"):
            render(layer, tmp_path / "image.tif", extent=EXTENT)
