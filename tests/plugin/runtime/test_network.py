"""pip and uv get what QGIS knows of the network, and logs hold no password."""

import base64
import ssl
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
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

        do_HEAD = do_CONNECT = do_GET  # noqa: N815

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


@pytest.fixture(params=[pytest.param("pip", marks=pytest.mark.slow), "uv"])
def tool(request, monkeypatch, tmp_path):
    """Each of the tools that install, which do not wait."""
    no_own_index(monkeypatch, tmp_path)
    uv = str(Path(sys.executable).with_name("uv"))
    which = {"uv": uv} if request.param == "uv" else {}
    monkeypatch.setattr(build.shutil, "which", which.get)
    return request.param


def test_packages_come_through_the_proxy_of_qgis_and_its_password_is_not_logged(proxy, tool, tiny, monkeypatch):
    monkeypatch.setenv("PIP_TRUSTED_HOST", "packages.example.org")
    given = Sources(index_url="http://packages.example.org/simple")
    ear = Ear()
    assert build.build(tiny, given, BASE, ear)["tiny"] == "1.2"
    assert any(asked.startswith("http://packages.example.org/simple/tiny/") for asked in proxy.asked)

    monkeypatch.setattr(sys.modules[__name__], "TOKEN", "another one")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(RuntimeEnvironmentError) as why:
        build.build(tiny, Sources(index_url="https://packages.example.org/simple"), BASE, ear)
    assert "The proxy asks for a user and a password" in why.value.remedy
    for text in (ear.text, str(why.value)):
        assert "p%40" not in text and PASSWORD not in text
    assert not sources.answers("http://packages.example.org", Ear())


@pytest.fixture
def index(tmp_path):
    """A server on this machine with the packages of a folder; some of its answers are cut off."""

    class Index(SimpleHTTPRequestHandler):
        cuts: ClassVar = Counter()
        asked: ClassVar = Counter()

        def copyfile(self, source, outputfile):
            name = Path(self.path).name
            self.asked[name] += 1
            content = source.read()
            is_cut = self.asked[name] <= self.cuts[name]
            outputfile.write(content[: len(content) // 2] if is_cut else content)

        def end_headers(self):
            self.send_header("Cache-Control", "max-age=3600")
            super().end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Index, directory=tmp_path / "index")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Index.server = server
        yield Index
        server.shutdown()


def test_a_download_that_is_cut_off_is_continued(index, tool, tiny, tmp_path, monkeypatch):
    make_wheel(tmp_path / "index" / "tiny", requires=["more"])
    make_wheel(tmp_path / "index" / "more", name="more")
    more = "more-1.2-py3-none-any.whl"
    index.cuts[more] = 2
    given = Sources(index_url=f"http://127.0.0.1:{index.server.server_port}")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "127.0.0.1")  # else its cache is used with https alone
    assert build.build(tiny, given, BASE, Ear())["tiny"] == "1.2"
    assert index.asked[more] >= 3
    if tool == "pip":
        assert index.asked["tiny-1.2-py3-none-any.whl"] == 1  # afterwards from the cache


def test_a_certificate_that_nobody_trusts_is_told(index, tool, tiny, tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["-nodes", "-newkey", "rsa:2048", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", "req", "-x509", *subject, *made], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    index.server.socket = context.wrap_socket(index.server.socket, server_side=True)
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(RuntimeEnvironmentError) as why:
        build.build(tiny, Sources(index_url=f"https://localhost:{index.server.server_port}"), BASE, Ear())
    assert "is not trusted" in why.value.remedy and "PIP_CERT and SSL_CERT_FILE" in why.value.remedy


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


CUT_OFF = "The connection was lost. Run Set up runtime again"
PROXY = "The proxy asks for a user and a password"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("ERROR: Wheel 'big' located at /tmp/pip-unpack-1/big-1-py3-none-any.whl is invalid.", CUT_OFF),  # pip 23.0
        ("error: incomplete-download\n\nDownload failed because not enough bytes were received", CUT_OFF),  # pip 26.3
        ("OSError('Tunnel connection failed: 407 Proxy Authentication Required'))': /simple/x/", PROXY),  # pip
        ("  cause: tunnel error: proxy authorization required", PROXY),  # uv
        ("ERROR: No matching distribution found for tiny", ""),
    ],
)
def test_what_tools_say_of_a_network_gets_a_remedy(said, remedy):
    assert network.remedy_of(said).startswith(remedy) and bool(network.remedy_of(said)) == bool(remedy)
    assert network.was_cut_off(said) == (remedy == CUT_OFF)


def test_addresses_lose_their_passwords():
    text = "Looking in http://me:s3cret@mirror.example.org/simple, https://pypi.org/simple (a@b.org)"
    assert network.without_credentials(text) == (
        "Looking in http://***@mirror.example.org/simple, https://pypi.org/simple (a@b.org)"
    )
