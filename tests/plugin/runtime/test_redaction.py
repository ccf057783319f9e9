from pathlib import Path

import pytest
from roadseg.qgis_roadseg.runtime.redaction import shareable

HOME = str(Path.home())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/data/town.tif cannot be read.", "<path 1>.tif cannot be read."),
        ("{'INPUT': '/mnt/My Client AG/Town 1.tif', 'N': 2}", "{'INPUT': '<path 1>.tif', 'N': 2}"),
        ("/mnt/My Client AG/old plan/Town 1.tif has no bands.", "<path 1>.tif has no bands."),
        ("Of /a/x.tif and /b/y.gpkg, other.tif", "Of <path 1>.tif and <path 2>.gpkg, other.tif"),
        ("/a/town.tif: read. town.tif: no offset.", "<path 1>.tif: read. <path 1>.tif: no offset."),
        (r"C:\Users\Jo Doe\Town 1.tif is open.", "<path 1>.tif is open."),
        (r"\\server\share\plan.gpkg|layername=roads", "<path 1>.gpkg|layername=roads"),
        ('NETCDF:"/data/a.nc":red', 'NETCDF:"<path 1>.nc":red'),
        ("GTIFF_DIR:2:/data/a.tif", "GTIFF_DIR:2:<path 1>.tif"),
        ("vrt:///data/a.tif?a_srs=EPSG:32645", "vrt:<path 1>.tif"),
        ("clients/acme/plan.tif", "<path 1>.tif"),
        ("https://maps.example.org/v1/T0KEN/{z}/{x}.png?key=K3Y is slow", "https://maps.example.org/… is slow"),
        ("url=https%3A%2F%2Fme%3AS3CRET%40x.org%2Fa%3Ft%3DT0KEN&zmax=18", "url=https://x.org/…"),
        ("http://me:S3CRET@proxy.example.org:3128/", "http://proxy.example.org:3128/…"),
        ("PG:host=x password='S3 CRET' table=a", "PG:host=x password=*** table=a"),
        ("The folder /data holds no raster. Give another.", "The folder <path 1> holds no raster. Give another."),
        ("WGS 84 / UTM zone 33N, 3 / 4, and/or, n/a", "WGS 84 / UTM zone 33N, 3 / 4, and/or, n/a"),
        ("Loss 0.5, 12 px/s, torch 2.8.0+cu128", "Loss 0.5, 12 px/s, torch 2.8.0+cu128"),
    ],
)
def test_paths_become_numbers_and_addresses_their_server(text, shown):
    assert shareable(text) == shown


def test_own_folders_stay_below_the_home_folder():
    text = f'File "{HOME}/plugins/roadseg/a.py", line 3; {HOME}/plugins/roadsegment/b.py; {HOME}/data/town.tif'
    shown = 'File "~/plugins/roadseg/a.py", line 3; <path 1>.py; <path 2>.tif'
    assert shareable(text, [Path(HOME, "plugins/roadseg")]) == shown
    assert shareable(text, [Path(HOME), Path(HOME).parent, Path("/")]).count("<path") == 3  # all of the user's data


def test_with_paths_secrets_are_hidden_still():
    text = f"{HOME}/a.tif, vrt:///b.tif?a_srs=EPSG:1, /vsicurl/https://x.org/c.tif?token=T0KEN, password=S3CRET"
    shown = "~/a.tif, vrt:///b.tif?a_srs=EPSG:1, /vsicurl/https://x.org/… password=***"
    assert shareable(text, with_paths=True) == shown


@pytest.mark.parametrize(
    "part", ["a.", "a-", "/a ", "a/", "'/a b ", "https://", "%3A%2F%2F", "/data/{n}/town {n}.tif\n"]
)
def test_a_long_line_comes_to_an_end(part):
    line = "".join(part.format(n=number) for number in range(20_000 // len(part)))
    assert shareable(line)  # no expression may try all pairs of places in it
