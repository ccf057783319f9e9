"""STAC on the web, from a server on the loopback interface, which also misbehaves."""

import http.server
import json
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import geopandas
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely.geometry import box, mapping

from tests.core.support.http_files import QuietHandler
from tests.core.support.rasters import write_layer
from training_core.errors import ImageryError
from training_core.events import Log, Reporter, Warning
from training_core.geodata.vectors import read_area
from training_core.jobs.fields import parse_interval
from training_core.regions import stac, web_json
from training_core.regions.catalog import find_scenes
from training_core.regions.stac import ALL_ITEMS, OUTSIDE, ItemFilter, ItemImages, area_in_degrees

HERE, ELSEWHERE = box(10, 50, 10.1, 50.1), box(20, 50, 20.1, 50.1)
TIFF = "image/tiff; application=geotiff"


class Site:
    """A server whose pages are bytes, JSON, or functions that answer a handler. `asked` has all requests in order."""

    def __init__(self):
        self.pages, self.asked = {}, []
        site = self

        class Handler(QuietHandler):
            def answer(self, has_body):
                site.asked.append(self.path)
                page = site.pages.get(urlsplit(self.path).path)
                if callable(page):
                    page(self)
                else:
                    send(
                        self,
                        404 if page is None else 200,
                        page if isinstance(page, bytes) else json.dumps(page).encode(),
                    )

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def find(self, path, wanted=ALL_ITEMS, reporter=None):
        """Return what GDAL opens, without its own prefix and the server."""
        return [
            each.removeprefix(f"/vsicurl/{self.address}")
            for each in find_scenes([], self.address + path, wanted, reporter)
        ]


def send(handler, status, content, **headers):
    handler.send_response(status)
    for name, value in {"Content_Length": len(content), **headers}.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()
    handler.wfile.write(content)


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setattr(web_json, "RETRY_S", (0.0, 0.0))
    site = Site()
    threading.Thread(target=site.server.serve_forever, args=(0.01,), daemon=True).start()
    yield site
    site.server.shutdown()
    site.server.server_close()


def item(name, place=HERE, day="2024-09-15", href=None, **properties):
    return {
        "type": "Feature",
        "id": name,
        "geometry": mapping(place) if place else None,
        "properties": {"datetime": f"{day}T10:00:00.25Z", **properties},
        "links": [],
        "assets": {"visual": {"href": href or f"./{name}.tif", "type": TIFF}, "thumbnail": {"href": "t.png"}},
    }


def node(kind, *hrefs, relation="child", **members):
    return {"type": kind, "links": [{"rel": relation, "href": href} for href in hrefs], **members}


def page(*items, following=None):
    links = [{"rel": "next", "href": following}] if following else []
    return {"type": "FeatureCollection", "features": list(items), "links": links}


def extent(place):
    return {"spatial": {"bbox": [list(place.bounds)]}, "temporal": {"interval": [["2024-01-01T00:00:00Z", None]]}}


ITEMS = {
    "wanted": item("wanted", **{"eo:cloud_cover": 5}),
    "before": item("before", day="2024-08-31"),
    "cloudy": item("cloudy", **{"eo:cloud_cover": 60.5}),
    "cloudy2": item("cloudy2", **{"tile:clouds_percent": 60}),
    "beside": item("beside", box(10.2, 50, 10.3, 50.1)),
    "nowhere": item("nowhere", None),
}


@pytest.fixture
def september(tmp_path):
    """The filter for the place, and one beside it, with at most 30 % of clouds, made from a layer in meters."""
    area = geopandas.GeoSeries([box(10.02, 50.02, 10.05, 50.05), box(10.6, 50, 10.7, 50.1)], crs="EPSG:4326")
    path = write_layer(tmp_path / "aoi.gpkg", *area.to_crs("EPSG:32632"), crs="EPSG:32632")
    return ItemFilter(area_in_degrees(read_area(path)), parse_interval("2024-09-01/2024-09-30"), 30.0)


def test_a_static_catalog_gives_the_items_of_place_dates_and_clouds(site, september):
    site.pages = {
        "/catalog.json": node("Catalog", "a/collection.json", "./b/collection.json", "a/collection.json"),
        "/a/collection.json": node(
            "Collection", *(f"items/{n}.json" for n in ITEMS), relation="item", extent=extent(HERE)
        ),
        "/b/collection.json": node("Collection", "c.json", relation="item", extent=extent(ELSEWHERE)),
        "/b/c.json": item("c", ELSEWHERE),
        **{f"/a/items/{name}.json": each for name, each in ITEMS.items()},
    }
    heard = []
    found = site.find("/catalog.json", september, Reporter(heard.append))
    assert found == ["/a/items/wanted.tif", "/a/items/nowhere.tif"]
    assert "/b/c.json" not in site.asked and len(site.asked) == len(set(site.asked))
    told = " ".join(event.message for event in heard if isinstance(event, Log))
    assert "1 outside the dates, 2 too cloudy, 1 outside the area of interest" in told
    assert len(site.find("/catalog.json")) == len(ITEMS) + 1


def test_an_area_of_interest_of_two_polygons_does_not_take_what_lies_between_them(september):
    between = item("between", box(10.3, 50, 10.4, 50.1))
    assert september.objection(between) and not september.objection(item("in it"))


@pytest.mark.parametrize("gap_deg, is_wanted", [(0.0005, True), (0.002, False)])
def test_an_item_hardly_beside_the_area_of_interest_is_looked_at(september, gap_deg, is_wanted):
    beside = item("beside", box(10.05 + gap_deg, 50, 10.1, 50.1))
    assert bool(september.objection(beside)) != is_wanted


def test_a_collection_in_a_file_is_filtered_as_well(tmp_path, september):
    path = tmp_path / "items.json"
    path.write_text(json.dumps(page(*ITEMS.values())))
    assert [Path(each).name for each in find_scenes([], str(path), september)] == ["wanted.tif", "nowhere.tif"]


@pytest.mark.parametrize(
    "start", ["/stac", "/stac/collections/oam", "/stac/collections/oam/items", "/stac/search?collections=oam"]
)
def test_an_api_is_asked_for_place_and_dates_and_followed_from_page_to_page(site, september, start):
    second = {**item("second"), "links": [{"rel": "self", "href": f"{site.address}/own/second"}]}
    first_page = page(item("first", href="https://images.example.org/first.tif"), following="?token=2")

    def answer(handler):
        pages = page(second) if "token" in handler.path else first_page
        send(handler, 200, json.dumps(pages).encode())

    search, items = "/stac/search", "/stac/collections/oam/items"
    site.pages = {
        "/stac": node("Catalog", search, relation="search"),
        "/stac/collections/oam": node("Collection", items, relation="items"),
        search: answer,
        items: answer,
    }
    assert site.find(start, september) == ["/vsicurl/https://images.example.org/first.tif", "/own/second.tif"]
    asked = parse_qs(urlsplit(next(each for each in site.asked if "bbox" in each)).query)
    assert asked["datetime"] == ["2024-09-01T00:00:00Z/2024-09-30T23:59:59Z"]
    assert [float(each) for each in asked["bbox"][0].split(",")] == pytest.approx([10.02, 50, 10.7, 50.1], abs=0.002)
    assert ("collections" in asked) == ("?" in start)


def test_only_images_on_the_web_are_taken_from_the_web(site):
    local = [item(href[:4], href=href) for href in ("file:///etc/a.tif", "vrt:///etc/a.tif", "s3://b/c.tif")]
    site.pages["/items.json"] = page(*local)
    with pytest.raises(ImageryError, match="3 without an image that may be opened"):
        site.find("/items.json")
    jp2 = {"href": "s3://b/c.jp2", "type": "image/jp2", "roles": ["visual"]}
    site.pages["/items.json"] = page(*local, {**item("web"), "assets": {"jp2": jp2, **item("web")["assets"]}})
    assert site.find("/items.json") == ["/web.tif"]
    site.pages["/items.json"] = page(item("ä b"), item("%C3%A4%20c"))
    assert site.find("/items.json") == ["/%C3%A4%20b.tif", "/%C3%A4%20c.tif"]


@pytest.mark.parametrize("status, headers", [(503, {}), (429, {"Retry_After": "0"})])
def test_a_busy_server_is_asked_again(site, status, headers):
    def answer(handler):
        busy = len(site.asked) < 3
        send(
            handler,
            status if busy else 200,
            b"" if busy else json.dumps(item("a")).encode(),
            **(headers if busy else {}),
        )

    site.pages["/item.json"] = answer
    assert site.find("/item.json") == ["/a.tif"] and len(site.asked) == 3


def cut_off(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"type": ')


def trickle(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(20):
        handler.wfile.write(b" ")
        time.sleep(0.05)


def redirect_to_file(handler):
    send(handler, 302, b"", Location="file:///etc/passwd")


def more_than_promised(handler):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b" " * 3_000_000)


HOSTILE = {
    "a page": (b"<!DOCTYPE html><html>", "is a web page"),
    "no JSON": (b"PK\x03\x04", "is no JSON"),
    "other JSON": ({"a": 1}, "is not STAC"),
    "a list": ([], "is not a STAC document"),
    "deep": (b"[" * 5000, "is no JSON"),
    "links of all kinds": (
        {
            "type": "Catalog",
            "links": [
                3,
                {"rel": "child"},
                {"rel": "item", "href": "file:///etc/a.json"},
                {"rel": "item", "href": "http://["},
            ],
        },
        "there are none",
    ),
    "items of all kinds": (
        page(
            7,
            {"assets": {"a": 3}, "geometry": {"type": "Polygon", "coordinates": "x"}, "properties": 3, "bbox": [1, 2]},
        ),
        "1 without an image",
    ),
    "a circle": (page(item("a"), following="/hostile"), "link in a circle"),
    "a missing file": (None, "answers 404"),
    "a login": (lambda handler: send(handler, 403, b""), "answers 403.*signed addresses"),
    "always busy": (lambda handler: send(handler, 500, b""), "answers 500, also after 2 retries"),
    "cut off": (cut_off, "ended after 9 of 5,000 bytes"),
    "a trickle": (trickle, "too slow"),
    "silence": (lambda handler: time.sleep(0.3), "too slow"),
    "a file": (redirect_to_file, "answers 302"),
    "more than a document may have": (more_than_promised, "exceeds the"),
    "a promise of more": (lambda handler: send(handler, 200, b"{}", Content_Length=10**12), "exceeds the"),
}


@pytest.mark.parametrize("content, message", HOSTILE.values(), ids=HOSTILE)
def test_a_server_that_misbehaves_is_an_error_that_names_the_address(site, monkeypatch, content, message):
    silence_s = 0.1 if message == "too slow" else 10.0  # a busy machine is no slow server
    monkeypatch.setattr(web_json, "SILENCE_S", silence_s)
    monkeypatch.setattr(web_json, "DOCUMENT_S", 2 * silence_s)
    monkeypatch.setattr(stac, "MAX_JSON_BYTES", 2_000_000)
    site.pages["/hostile"] = content
    with pytest.raises(ImageryError, match=message) as caught:
        site.find("/hostile")
    assert site.address in caught.value.message and caught.value.remedy


def test_some_items_that_cannot_be_read_do_not_stop_the_others(site):
    heard = []
    site.pages = {"/c.json": node("Collection", "a.json", "b.json", relation="item"), "/b.json": item("b")}
    assert site.find("/c.json", reporter=Reporter(heard.append)) == ["/b.tif"]
    assert ["/a.json" in event.message for event in heard if isinstance(event, Warning)] == [True]
    site.pages["/c.json"] = node("Collection", "b.json", *(f"{number}.json" for number in range(21)), relation="item")
    with pytest.raises(ImageryError, match="answers 404"):
        site.find("/c.json")


def test_a_server_that_goes_on_for_ever_is_left(site, monkeypatch):
    monkeypatch.setattr(stac, "MAX_ITEMS", 20)
    monkeypatch.setattr(stac, "MAX_DOCUMENTS", 30)
    site.pages["/pages"] = lambda handler: send(
        handler, 200, json.dumps(page(item("a"), following=f"/pages?{len(site.asked)}")).encode()
    )
    site.pages["/tree"] = lambda handler: send(
        handler, 200, json.dumps(node("Catalog", f"/tree?{len(site.asked)}")).encode()
    )
    for path, bound in (("/pages", "20 items"), ("/tree", "30 documents")):
        with pytest.raises(ImageryError, match=bound):
            site.find(path)


def test_a_server_that_is_not_there_is_named_at_once():
    with pytest.raises(ImageryError, match="http://127.0.0.1:9/.*refused"):
        find_scenes([], "http://127.0.0.1:9/catalog.json", ItemFilter())


def test_a_password_in_an_address_is_not_shown():
    with pytest.raises(ImageryError, match="user's name or password") as caught:
        find_scenes([], "http://me:S3CRET@127.0.0.1:9/catalog.json")
    assert "S3CRET" not in str(caught.value)


ACROSS = shapely.MultiPolygon([box(179, 0, 180, 1), box(-180, 0, -179, 1)])


@pytest.mark.parametrize(
    "area",
    [box(179.9, 0.4, 180.1, 0.6), box(-180.1, 0.4, -179.9, 0.6), box(20030000, 45000, 20045000, 66000),
     shapely.MultiPolygon([box(179.9, 0.4, 180, 0.6), box(-180, 0.4, -179.9, 0.6)])],
)  # fmt: skip
def test_an_area_across_the_antimeridian_takes_the_items_of_both_sides_and_no_others(tmp_path, area):
    path = write_layer(tmp_path / "aoi.gpkg", area, crs="EPSG:4326" if area.bounds[2] < 360 else "EPSG:3857")
    wanted = ItemFilter(area_in_degrees(read_area(path)), parse_interval(""), 100.0)
    jump = shapely.Polygon([(179, 0), (-179, 0), (-179, 1), (179, 1)])
    for place in (box(179, 0, 180, 1), box(-180, 0, -179, 1), box(-181, 0, -179, 1), box(170, 0, 190, 1), jump, ACROSS):
        assert not wanted.objection(item("a", place))
    for place in (box(178, 0, 179.5, 1), box(180.5, 0, 181, 1), box(10, 0, 11, 1)):
        assert wanted.objection(item("a", place)) == OUTSIDE
    for bbox in ([179, 0, -179, 1], [-181, 0, 5, -179, 1, 9], [-180, -90, 180, 90]):
        assert not wanted.objection({**item("a", None), "bbox": bbox})
    for bbox in ([179, 2, -179, 3], [-179, 0, 179, 1]):
        assert wanted.objection({**item("a", None), "bbox": bbox}) == OUTSIDE
    west, _, east, _ = map(float, wanted.query()["bbox"].split(","))
    assert west == pytest.approx(179.9, abs=0.04) and east == pytest.approx(-179.9, abs=0.04)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(0, 10**20)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(("type", "href", "roles", "a")), inner, max_size=3)
    ),
    max_leaves=6,
)
SHAPES = st.fixed_dictionaries(
    {"type": st.sampled_from(("Point", "Polygon", "MultiPolygon", "Feature")), "coordinates": JSON}
)
MEMBERS = {"bbox": JSON, "geometry": JSON | SHAPES, "assets": JSON, "links": JSON, "extent": JSON, "properties": JSON}


@given(st.fixed_dictionaries({}, optional=MEMBERS), JSON, JSON)
def test_members_of_any_kind_break_nothing(members, times, clouds):
    wanted = ItemFilter(HERE, parse_interval("2024-09-01/.."), 10.0)
    properties = {"datetime": times, "end_datetime": times, "eo:cloud_cover": clouds}
    for each in (members, {**members, "properties": properties}):
        ItemImages(wanted).add(each, "items.json", str)
        wanted.objection({**each, "geometry": None})
    wanted.may_hold(
        {"extent": {"spatial": {"bbox": [members.get("bbox")]}, "temporal": {"interval": [[times, clouds]]}}}
    )
