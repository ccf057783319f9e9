import json
from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
from rasterio import shutil
from shapely.geometry import box

from tests.core.support.rasters import UTM, write_layer, write_raster
from training_core.errors import ImageryError
from training_core.regions.catalog import find_scenes, gdal_path, natural_key


@pytest.fixture
def folder(tmp_path):
    """A folder with four images, one of them below, a mask file, and something else."""
    images = tmp_path / "images"
    (images / "below").mkdir(parents=True)
    for name in ("s10.tif", "s2.tif", "S1.tif", "below/s3.tif"):
        write_raster(images / name, np.ones((4, 4), np.uint8))
    (images / "s2.tif.aux.xml").write_text("<PAMDataset/>")
    (images / "notes.txt").write_text("no image")
    return images


def names(found):
    return [Path(path).name for path in found]


def write_index(path, *places, field="location", crs=UTM):
    return write_layer(path, *(box(i, 0, i + 1, 1) for i in range(len(places))), crs=crs, **{field: list(places)})


def item(number, **assets):
    return {"type": "Feature", "id": f"item {number}", "geometry": None, "properties": {}, "assets": assets}


def collection(path, *items):
    path.write_text(json.dumps({"type": "FeatureCollection", "features": list(items)}))
    return str(path)


def test_a_folder_or_a_pattern_gives_rasters_in_natural_order(folder):
    assert names(find_scenes([], str(folder))) == ["S1.tif", "s2.tif", "s10.tif"]
    assert names(find_scenes([], str(folder / "s*.tif"))) == ["s2.tif", "s10.tif"]
    assert names(find_scenes([str(folder / "**" / "s*.tif")])) == ["s3.tif", "s2.tif", "s10.tif"]
    assert sorted(["a10", "a9", "A1", "b", "9", "a"], key=natural_key) == ["9", "a", "A1", "a9", "a10", "b"]


def test_files_keep_their_order_and_count_once(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "link.tif").symlink_to(folder / "s2.tif")
    given = ["s10.tif", str(folder / "s2.tif"), "./s10.tif", "link.tif", str(folder / "S1.tif")]
    assert find_scenes(given) == [str(folder / name) for name in ("s10.tif", "s2.tif", "S1.tif")]


def test_each_entry_may_be_of_any_kind(folder, tmp_path):
    index = write_index(tmp_path / "index.gpkg", "images/s10.tif")
    items = collection(tmp_path / "items.json", item(1, image={"href": "images/s2.tif", "roles": ["data"]}))
    found = find_scenes([index, items, str(folder / "below")], str(folder / "S*.tif"))
    assert names(found) == ["s10.tif", "s2.tif", "s3.tif", "S1.tif"]


def test_a_virtual_raster_is_one_image(folder):
    source = "<SimpleSource><SourceFilename relativeToVRT='1'>s2.tif</SourceFilename></SimpleSource>"
    vrt = folder / "all.vrt"
    vrt.write_text(
        "<VRTDataset rasterXSize='4' rasterYSize='4'><VRTRasterBand dataType='Byte' band='1'>"
        f"{source}</VRTRasterBand></VRTDataset>"
    )
    assert find_scenes([str(vrt)]) == [str(vrt)]
    assert names(find_scenes([str(folder)])) == ["all.vrt", "S1.tif", "s10.tif"]  # of which s2.tif is a part


@pytest.mark.parametrize("suffix", [".gpkg", ".shp", ".geojson", ".fgb"])
def test_a_tile_index_gives_the_rasters_of_its_field(tmp_path, folder, suffix):
    elsewhere = "/vsicurl/https://example.com/a.tif"
    crs = "EPSG:4326" if suffix == ".geojson" else UTM
    index = write_index(tmp_path / f"index{suffix}", "images/s10.tif", str(folder / "s2.tif"), elsewhere, crs=crs)
    assert sorted(find_scenes([index])) == sorted([str(folder / "s10.tif"), str(folder / "s2.tif"), elsewhere])


def test_a_layer_of_an_index_may_be_named(tmp_path, folder):
    for name, tile in (("first", "images/s10.tif"), ("second", "images/s2.tif")):
        layer = geopandas.GeoDataFrame({"Location": [tile]}, geometry=[box(0, 0, 1, 1)], crs=UTM)
        layer.to_file(tmp_path / "index.gpkg", layer=name)
    assert names(find_scenes([f"{tmp_path}/index.gpkg|layername=second"])) == ["s2.tif"]


def test_an_index_without_the_field_or_paths_is_refused(tmp_path):
    index = write_index(tmp_path / "index.gpkg", "a.tif", field="place")
    with pytest.raises(ImageryError, match=r"index\.gpkg is not an index of rasters.*location.*place"):
        find_scenes([], index)
    with pytest.raises(ImageryError, match="names no raster"):
        find_scenes([write_index(tmp_path / "index.gpkg", " ", "")])


def test_a_raster_geopackage_is_an_image(tmp_path):
    path = tmp_path / "image.gpkg"
    tif = write_raster(tmp_path / "image.tif", np.ones((3, 8, 8), np.uint8))
    with rasterio.open(tif) as dataset:
        shutil.copy(dataset, path, driver="GPKG")
    assert find_scenes([str(path)]) == [str(path)]


def test_a_collection_gives_the_image_of_each_item(tmp_path, folder):
    cog = "image/tiff; application=geotiff; profile=cloud-optimized"
    png = {"href": "t.png", "type": "image/png"}
    items = [
        item(1, image={"href": "./images/s10.tif", "roles": ["data"]}, thumbnail=png),
        item(2, B04={"href": "b4.tif", "roles": ["data"]}, rgb={"href": "images/s2.tif", "roles": ["visual"]}),
        item(3, anything={"href": "https://example.com/c.tif", "type": cog}),
        item(4, anything={"href": "s3://bucket/d.tif", "type": "image/vnd.stac.geotiff"}),
        item(5, metadata={"href": "m.xml", "type": "application/xml", "roles": ["metadata"]}),
        item(6, preview={"href": "p.tif", "type": cog, "roles": ["overview"]}),
        item(7, table={"href": "t.csv", "type": "text/csv", "roles": ["data"]}),
    ]
    assert find_scenes([collection(tmp_path / "items.json", *items)]) == [
        str(folder / "s10.tif"), str(folder / "s2.tif"), "/vsicurl/https://example.com/c.tif", "/vsis3/bucket/d.tif"
    ]  # fmt: skip


def test_an_item_alone_is_a_collection_of_one_and_one_with_several_images_is_refused(tmp_path, folder):
    path = tmp_path / "item.json"
    path.write_text(json.dumps(item(1, image={"href": "images/s2.tif", "roles": ["data"]})))
    assert names(find_scenes([str(path)])) == ["s2.tif"]
    both = collection(
        tmp_path / "i.json", item(1, B04={"href": "4.tif", "roles": ["data"]}, B03={"href": "3.tif", "roles": ["data"]})
    )
    with pytest.raises(ImageryError, match=r"'item 1'.*several images: 'B04', 'B03'"):
        find_scenes([both])


HOSTILE = {
    "no JSON": b"{",
    "a list": b"[1, 2]",
    "deep": b"[" * 5000,
    "twice": b'{"type": "FeatureCollection", "type": "x"}',
    "NaN": b'{"type": "FeatureCollection", "features": NaN}',
    "binary": bytes(range(256)),
    "no assets": b'{"type": "FeatureCollection", "features": [{"assets": {"a": {"href": 3, "roles": "data"}}}, 7]}',
    "assets of all kinds": b'{"assets": {"a": 1, "b": {"href": ["x"]}, "c": {"href": "x", "roles": 3}}}',
    "nothing": b"",
}


@pytest.mark.filterwarnings("ignore:GPKG")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("items.json", content) for content in HOSTILE.values()),
        *(("index.gpkg", content) for content in (b"", b"SQLite format 3\0" + bytes(100), b"nonsense")),
    ],
)
def test_a_damaged_collection_or_index_is_an_error_that_names_it(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ImageryError, match=name):
        find_scenes([str(tmp_path / name)])


@pytest.mark.parametrize("nothing", ["/nowhere/*.tif", "empty"])
def test_nothing_found_is_an_error(tmp_path, nothing):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImageryError):
        find_scenes([], str(tmp_path / nothing))
    with pytest.raises(ImageryError, match="no scenes"):
        find_scenes([], "")


def test_addresses_are_given_as_gdal_opens_them_within_virtual_rasters(tmp_path, monkeypatch):
    assert gdal_path("https://x.org/a.tif?t=1") == "/vsicurl/https://x.org/a.tif?t=1"
    assert gdal_path("gs://b/a.tif") == "/vsigs/b/a.tif" and gdal_path("/vsizip/a.zip/a.tif") == "/vsizip/a.zip/a.tif"
    (tmp_path / "a.tif").touch()
    monkeypatch.chdir(tmp_path)
    assert gdal_path("a.tif") == gdal_path(f"file://{tmp_path}/a.tif") == str(tmp_path / "a.tif")
    assert gdal_path("GTIFF_DIR:1:a.tif") == "GTIFF_DIR:1:a.tif"
    assert gdal_path("file:///C:/maps/a.tif") == "C:/maps/a.tif"
