"""Data of OpenStreetMap: what is asked of a server that plays Overpass, and what becomes of its answers."""

import base64
import time
from urllib.parse import urlsplit

import pytest
from qgis.core import (
    QgsApplication,
    QgsAuthMethodConfig,
    QgsCoordinateReferenceSystem,
    QgsNetworkAccessManager,
    QgsProcessingContext,
    QgsProcessingOutputLayerDefinition,
    QgsProject,
    QgsRectangle,
    QgsSettings,
    QgsVectorLayer,
)
from qgis.gui import QgsGui, QgsProcessingGui
from roadseg.training_core.jobs.overpass import MAX_ANSWER_MB

from tests.osm_town import EXTENT, town

from ..support.acting import Ear, failure, memory_layer, run, run_in_task
from ..support.overpass import BUSY, Answer, overpass
from ..support.parts import WRITE

GOOD = Answer(town().encode())
LOGIN = {"User": "someone", "Password": "p@:/%41"}
BASIC = "Basic " + base64.b64encode(":".join(LOGIN.values()).encode()).decode()
# A worker that keeps the file that it was given, and finds a road and no runway.
WORKER = (
    WRITE
    + """
import shutil
options = job()["options"]
shutil.copy(options["extract"], KEPT)
line = ("LINESTRING (350001 3059999, 350011 3059999)", {"osm_id": "5"})
for name in ("roads", "bridges", "water", "rails", "runways", "no_road"):
    if options.get(name):
        kind = ogr.wkbLineString if name in ("roads", "bridges", "rails") else ogr.wkbPolygon
        write(options[name], name, kind, {"osm_id": ogr.OFTString}, [line] if name == "roads" else [])
send("result", result={"counts": {"roads": 1, "bridges": 0, "no_road": 0}, "attribution": "Mappers"})
"""
)


@pytest.fixture
def place(provider, play_runtime, tmp_path):
    """Return a folder with a worker that keeps the file that it gets as kept.osm there."""
    play_runtime(f"KEPT = {str(tmp_path / 'kept.osm')!r}\n{WORKER}")
    return tmp_path


@pytest.fixture
def short_timeout():
    usual = QgsNetworkAccessManager.timeout()
    QgsNetworkAccessManager.setTimeout(1500)
    yield
    QgsNetworkAccessManager.setTimeout(usual)


def values(place, server, **more):
    return {"EXTENT": EXTENT, "SERVER": server, "OUTPUT": str(place / "roads.gpkg"), **more}


def test_the_query_is_for_the_area_and_the_answer_reaches_the_worker_as_it_came(place):
    with overpass(GOOD) as (server, queries):
        result = run("getosmdata", values(place, server, DOWNLOAD=str(place / "kept for later.osm")))
    (query,) = queries
    assert 'way["highway"](27.5900000,85.4900000,27.6100000,85.5200000);' in query
    assert query.startswith("[out:xml][timeout:55];") and query.rstrip().endswith("out meta;")
    assert 'wr["aeroway"~"^(runway|taxiway|apron)$"]' in query
    assert (place / "kept.osm").read_bytes() == (place / "kept for later.osm").read_bytes() == GOOD.content
    assert (result["COUNTS_ROADS"], result["ATTRIBUTION"]) == (1, "Mappers")


@pytest.mark.parametrize("suffix", [".gpkg", ".geojson", "memory"])
def test_the_layers_bear_the_license(place, suffix):
    path = "memory:" if suffix == "memory" else str(place / f"roads{suffix}")
    with overpass(GOOD) as (server, _):
        context = QgsProcessingContext()
        found = run("getosmdata", values(place, server, OUTPUT=path), context=context)["OUTPUT"]
    layer = found if suffix == "memory" else QgsVectorLayer(found, "roads", "ogr")
    if suffix == ".geojson":  # beside which it lies
        layer.loadDefaultMetadata()
    metadata = layer.metadata()
    assert metadata.rights() == ["© OpenStreetMap contributors"]
    assert "ODbL" in metadata.licenses()[0] and "openstreetmap.org/copyright" in metadata.licenses()[0]


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (BUSY[429], "busy (HTTP 429)"),
        (BUSY[504], "busy (HTTP 504)"),
        (Answer(b"<!DOCTYPE html><html><p><b>Error</b>: too busy</p></html>"), "Error : too busy"),
        (Answer(town().replace("</osm>", "<remark> runtime error: out of memory </remark></osm>").encode()), "memory"),
        (Answer(town()[:-60].encode()), "ends too early"),
        (Answer(town().encode(), cut=900), "cannot be reached"),
        (Answer(b""), "it is empty"),
    ],
)
def test_what_may_pass_is_told_and_asked_for_once_more(place, first, told):
    ear = Ear()
    with overpass(first, GOOD) as (server, queries):
        run("getosmdata", values(place, server), ear)
    assert len(queries) == 2 and told in ear.text and "asked once more" in ear.text
    assert (place / "kept.osm").read_bytes() == GOOD.content


@pytest.mark.parametrize(
    ("answer", "told", "count"),
    [
        (BUSY[504], "busy (HTTP 504)", 2),
        (Answer(b"<html>hello</html>"), "no data of OpenStreetMap, but says: hello", 2),
        (Answer(b"gone", 404), "refuses (HTTP 404)", 1),
        (Answer(b"<osm>" + bytes(MAX_ANSWER_MB * 1_000_000)), f"more than {MAX_ANSWER_MB} MB", 1),
    ],
)
def test_what_does_not_pass_is_told_and_nothing_is_written(place, answer, told, count):
    with overpass(answer) as (server, queries):
        text = failure("getosmdata", values(place, server, DOWNLOAD=str(place / "kept for later.osm")))
    assert told in text and len(queries) == count and "Traceback" not in text
    assert not list(place.glob("*.osm")) and not list(place.glob("*.gpkg"))


def test_a_server_that_sends_nothing_is_left_after_the_time_out_of_qgis(place, short_timeout):
    ear = Ear()
    with overpass(Answer(GOOD.content, after_s=4), GOOD) as (server, queries):
        run("getosmdata", values(place, server), ear)
    assert "sent nothing for 1 s" in ear.text and len(queries) == 2


def test_no_server_and_no_address_are_told(place):
    with overpass(GOOD) as (server, _):
        pass
    assert "127.0.0.1 cannot be reached: Connection refused." in failure("getosmdata", values(place, server))
    for address in ("overpass", "file:///etc/passwd", "ftp://example.org/api"):
        assert "(SERVER)" in failure("getosmdata", values(place, address))


@pytest.fixture
def passing_threads():
    """Let threads of tasks end at once, whose network managers keep what was set when they began."""
    pool = QgsApplication.taskManager().threadPool()
    usual = pool.expiryTimeout()
    pool.setExpiryTimeout(0)
    yield
    pool.setExpiryTimeout(usual)


def test_the_proxy_of_qgis_is_asked_also_beside_the_window(place, provider, qgis_app, passing_threads):
    address, settings = "http://overpass.example/api/interpreter", QgsSettings()
    refusal = Answer(b"", 407, {"Proxy-Authenticate": 'Basic realm="office"'})
    algorithm, ear = provider.algorithm("getosmdata").create(), Ear()
    with overpass(refusal, GOOD) as (server, queries):
        proxy = {"Type": "HttpProxy", "Host": urlsplit(server).hostname, "Port": urlsplit(server).port, **LOGIN}
        settings.setValue("proxy/proxyEnabled", True)
        for name, value in proxy.items():
            settings.setValue(f"proxy/proxy{name}", value)
        try:
            QgsNetworkAccessManager.instance().setupDefaultProxyAndCache()
            run("getosmdata", values(place, address))
            ends = run_in_task(algorithm, values(place, address), QgsProcessingContext(), ear, qgis_app)
        finally:
            settings.remove("proxy")
            QgsNetworkAccessManager.instance().setupDefaultProxyAndCache()
    assert {path for path, _ in queries.heads} == {address} and [fine for fine, _ in ends] == [True]
    assert queries.heads[1][1]["Proxy-Authorization"] == BASIC and len(queries) == 3


def test_a_login_of_qgis_is_sent_and_one_that_is_refused_is_told(place):
    manager = QgsApplication.authManager()
    if manager.isDisabled():
        pytest.skip("this QGIS was built without authentication")
    assert manager.setMasterPassword("of the tests", True)
    login = QgsAuthMethodConfig("Basic")
    login.setName("Overpass")
    login.setConfigMap({"username": LOGIN["User"], "password": LOGIN["Password"]})
    assert manager.storeAuthenticationConfig(login)[0]
    with overpass(GOOD, Answer(b"", 401)) as (server, queries):
        run("getosmdata", values(place, server, AUTHCFG=login.id()))
        text = failure("getosmdata", values(place, server))
    manager.removeAuthenticationConfig(login.id())
    assert [headers.get("Authorization") for _, headers in queries.heads] == [BASIC, None]
    assert "refuses (HTTP 401)" in text and "AUTHCFG" in text


@pytest.mark.parametrize("answer", [Answer(GOOD.content, after_s=8), BUSY[429]])
def test_cancel_ends_the_wait_for_an_answer_and_the_wait_for_the_second_try(place, provider, qgis_app, answer):
    answer = Answer(answer.content, answer.status, {}, answer.after_s)
    ear, begin = Ear(cancel_on="once more" if answer.status == 429 else "Asking"), time.monotonic()
    with overpass(answer) as (server, _):
        text = failure("getosmdata", values(place, server), ear)
    assert "Stopped" in text or "cancel" in text.lower()
    assert time.monotonic() - begin < 5 and not list(place.glob("*.gpkg"))


def test_it_runs_beside_the_window(place, provider, qgis_app):
    ear, context = Ear(), QgsProcessingContext()
    with overpass(BUSY[429], GOOD) as (server, queries):
        ends = run_in_task(provider.algorithm("getosmdata").create(), values(place, server), context, ear, qgis_app)
    assert [fine for fine, _ in ends] == [True] and len(queries) == 2


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"EXTENT": "84,86,27,28 [EPSG:4326]"}, "The area has 21,"),
        ({"EXTENT": "-180,180,-90,90 [EPSG:4326]"}, "2,500 km²"),
        ({"EXTENT": None}, "There is no area"),
        ({"EXTENT": "85,85,27,27 [EPSG:4326]"}, "is empty"),
    ],
)
def test_limits_and_missing_areas_are_told_before_anything_is_asked(place, more, told):
    with overpass(GOOD) as (server, queries):
        text = failure("getosmdata", values(place, server, **more))
    assert told in text and queries == []


def test_polygons_are_asked_for_one_by_one_and_take_precedence(place):
    layer = memory_layer(
        "MultiPolygon", "towns",
        "MultiPolygon (((345000 3055000, 346000 3055000, 346000 3056000, 345000 3055000)), "
        "((365000 3055000, 366000 3055000, 366000 3056000, 365000 3055000)))",
    )  # fmt: skip
    with overpass(GOOD) as (server, queries):
        run("getosmdata", values(place, server, INPUT=layer.id()))
    QgsProject.instance().clear()
    assert queries[0].count('way["highway"]') == 2 and "85.49" not in queries[0]


def test_an_area_across_the_antimeridian_is_two_boxes(place):
    with overpass(GOOD) as (server, queries):
        run("getosmdata", values(place, server, EXTENT="179.99,180.01,-16.6,-16.58 [EPSG:4326]"))
        run("getosmdata", values(place, server, EXTENT="3336000,3340000,8134000,8136000 [EPSG:3832]"))
    for query in queries:
        assert query.count('way["highway"]') == 2 and ",180.0000000)" in query and ",-180.0000000," in query


def test_a_dialog_begins_with_the_view_of_the_map(provider, qgis_canvas, monkeypatch):
    class Window:
        def mapCanvas(self):  # noqa: N802
            return qgis_canvas

    monkeypatch.setattr("qgis.utils.iface", Window())
    qgis_canvas.setDestinationCrs(QgsCoordinateReferenceSystem("EPSG:32645"))
    qgis_canvas.resize(400, 400)
    qgis_canvas.setExtent(QgsRectangle(350000, 3059000, 351000, 3060000))
    algorithm, context = provider.algorithm("getosmdata").create(), QgsProcessingContext()
    definition = algorithm.parameterDefinition("EXTENT")
    wrapper = QgsGui.processingGuiRegistry().createParameterWidgetWrapper(
        definition, QgsProcessingGui.WidgetType.Standard
    )
    widget = wrapper.createWrappedWidget(context)
    values = {"EXTENT": wrapper.parameterValue()}
    assert algorithm.parameterAsExtentCrs(values, "EXTENT", context).authid() == "EPSG:32645"
    shown, visible = algorithm.parameterAsExtent(values, "EXTENT", context), qgis_canvas.mapSettings().visibleExtent()
    assert visible.contains(QgsRectangle(350001, 3059001, 350999, 3059999)) and widget
    assert shown.center().distance(visible.center()) < 1 and shown.width() == pytest.approx(visible.width(), abs=1)
    assert definition.defaultValue() is None  # for scripts, none is chosen


def test_an_empty_layer_is_no_layer_on_the_map(place, provider, qgis_app):
    project, context = QgsProject.instance(), QgsProcessingContext()
    context.setProject(project)
    named = {name: QgsProcessingOutputLayerDefinition("TEMPORARY_OUTPUT", project) for name in ("OUTPUT", "RUNWAYS")}
    ear = Ear()
    with overpass(GOOD) as (server, _):
        run_in_task(provider.algorithm("getosmdata").create(), values(place, server, **named), context, ear, qgis_app)
    assert [details.name for details in context.layersToLoadOnCompletion().values()] == ["Roads"]
    assert "Runways" in ear.text


def test_a_file_needs_no_network(place):
    file = place / "earlier.osm"
    file.write_bytes(GOOD.content)
    with overpass(GOOD) as (server, queries):
        more = {"EXTRACT": str(file), "EXTENT": "80,90,20,30 [EPSG:4326]", "DOWNLOAD": str(place / "again.osm")}
        run("getosmdata", values(place, server, **more))
    assert queries == [] and (place / "kept.osm").read_bytes() == GOOD.content
    assert not (place / "again.osm").exists()
