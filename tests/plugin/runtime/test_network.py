"""pip and uv get what QGIS knows of the network, and logs hold no password."""

import base64
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from qgis.core import QgsNetworkAccessManager
from qgis.PyQt.QtNetwork import QNetworkProxy
from roadseg.qgis_roadseg.runtime import build, network, sources
from roadseg.qgis_roadseg.runtime.sources import Sources
from roadseg.training_core.errors import RuntimeEnvironmentError

from ..support.acting import Ear
from ..support.wheels import make_wheel, no_own_index

BASE = Path(sys.base_prefix, "bin", "python3")
PASSWORD = "p@:/%41"
TOKEN = "Basic " + base64.b64encode(f"someone:{PASSWORD}".encode()).decode()


@pytest.fixture
def proxy(qgis_app, tmp_path, monkeypatch):
    """A proxy, set in QGIS, that answers for an index of one package, and only who has the password."""
    no_own_index(monkeypatch, tmp_path)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    wheel = Path(make_wheel(tmp_path / "shown"), "tiny-1.2-py3-none-any.whl")

    class Proxy(BaseHTTPRequestHandler):
        asked: ClassVar = []

        def do_GET(self):
            self.asked.append(self.path)
            if self.headers.get("Proxy-Authorization") != TOKEN:
                self.send_response(407)
                self.send_header("Proxy-Authenticate", 'Basic realm="office"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            is_wheel = urlsplit(self.path).path.endswith(".whl")
            body = wheel.read_bytes() if is_wheel else f'<a href="/{wheel.name}">{wheel.name}</a>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/zip" if is_wheel else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    manager = QgsNetworkAccessManager.instance()
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = QNetworkProxy(
            QNetworkProxy.ProxyType.HttpProxy, "127.0.0.1", server.server_port, "someone", PASSWORD
        )
        manager.setFallbackProxyAndExcludes(settings, ["https://intern.example.org/maps"], ["localhost"])
        yield Proxy
        server.shutdown()
    manager.setFallbackProxyAndExcludes(QNetworkProxy(), [], [])


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_packages_come_through_the_proxy_of_qgis_and_its_password_is_not_logged(proxy, tiny, monkeypatch, tool):
    uv = str(Path(sys.executable).with_name("uv"))
    monkeypatch.setattr(build.shutil, "which", lambda name: uv if (tool, name) == ("uv", "uv") else None)
    monkeypatch.setenv("PIP_TRUSTED_HOST", "packages.example.org")
    given = Sources(index_url="http://packages.example.org/simple")
    ear = Ear()
    assert build.build(tiny, given, BASE, ear)["tiny"] == "1.2"
    assert any(asked.startswith("http://packages.example.org/simple/tiny/") for asked in proxy.asked)

    monkeypatch.setattr(sys.modules[__name__], "TOKEN", "another one")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(RuntimeEnvironmentError) as why:
        build.build(tiny, given, BASE, ear)
    for text in (ear.text, str(why.value)):
        assert "p%40" not in text and PASSWORD not in text
    assert not sources.answers("http://packages.example.org", Ear())


def test_what_is_handed_on(proxy, monkeypatch):
    variables = network.handed_on(BASE)
    assert variables["HTTPS_PROXY"] == variables["HTTP_PROXY"]
    assert variables["HTTPS_PROXY"].startswith("http://someone:p%40%3A%2F%2541@127.0.0.1:")
    assert variables["NO_PROXY"] == "intern.example.org,localhost"
    assert variables["UV_SYSTEM_CERTS"] == "1"
    monkeypatch.setenv("https_proxy", "http://own.example.org:3128")
    assert not {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} & set(network.handed_on(BASE))


@pytest.mark.parametrize(
    ("pip", "asks"), [("23.2.1", False), ("23.3", True), ("24.0", True), ("24.2", False), ("25.1", False)]
)
def test_the_certificates_of_the_system_are_asked_for_where_pip_does_not_take_them_by_itself(tmp_path, pip, asks):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho 'pip {pip} from /usr/lib/python3.11/site-packages/pip (python 3.11)'\n")
    python.chmod(0o755)
    assert (network.handed_on(python).get("PIP_USE_FEATURE") == "truststore") == asks


def test_addresses_lose_their_passwords():
    text = "Looking in http://me:s3cret@mirror.example.org/simple, https://pypi.org/simple (a@b.org)"
    assert network.without_credentials(text) == (
        "Looking in http://***@mirror.example.org/simple, https://pypi.org/simple (a@b.org)"
    )
