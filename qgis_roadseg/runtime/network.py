"""The network as QGIS is set to use it, for tools that download: proxy with password, the system's certificates.

Scope: environment variables of pip and uv. Independent of packages. Passwords are handed on by variables alone, which
neither a log nor a list of processes shows.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

from qgis.core import QgsNetworkAccessManager
from qgis.PyQt.QtCore import QUrl
from qgis.PyQt.QtNetwork import QNetworkProxy

from ...training_core.errors import RuntimeEnvironmentError
from .process import run_to_end

_SCHEMES = {
    QNetworkProxy.ProxyType.HttpProxy: "http",
    QNetworkProxy.ProxyType.HttpCachingProxy: "http",
    QNetworkProxy.ProxyType.Socks5Proxy: "socks5h",
}
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_CREDENTIALS = re.compile(r"://[^/\s]*@")
# pip has the package truststore since the first of these, and uses it without being told since the second.
_ASKED_FOR_TRUSTSTORE = ((23, 3), (24, 2))


def handed_on(python: Path) -> dict[str, str]:
    """Return environment variables for pip and uv; what is set already stays as it is.

    Parameters
    ----------
    python : Path
        The Python whose pip is to run, if one does.
    """
    variables = {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", **_proxy()}
    if _must_ask_for_truststore(python):
        variables["PIP_USE_FEATURE"] = "truststore"
    return {name: value for name, value in variables.items() if not os.environ.get(name)}


def without_credentials(text: str) -> str:
    """Return a text in which the addresses have no user and no password."""
    return _CREDENTIALS.sub("://***@", text)


def _proxy() -> dict[str, str]:
    if any(os.environ.get(name) for each in _PROXIES for name in (each, each.lower())):
        return {}
    manager = QgsNetworkAccessManager.instance()
    proxy = manager.fallbackProxy()  # with the user and the password of its authentication configuration
    scheme = _SCHEMES.get(proxy.type())
    if scheme is None or not proxy.hostName():
        return {}
    user = f"{quote(proxy.user(), '')}:{quote(proxy.password(), '')}@" if proxy.user() else ""
    port = f":{proxy.port()}" if proxy.port() else ""
    address = f"{scheme}://{user}{proxy.hostName()}{port}"
    excluded = [QUrl.fromUserInput(each).host() for each in [*manager.excludeList(), *manager.noProxyList()]]
    variables = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "NO_PROXY": ",".join(filter(None, excluded))}
    return {name: value for name, value in variables.items() if value}


def _must_ask_for_truststore(python: Path) -> bool:
    try:
        said = run_to_end(python, ["-I", "-B", "-m", "pip", "--version"])
    except RuntimeEnvironmentError:
        return False
    version = tuple(map(int, re.findall(r"\d+", said)[:2]))
    return _ASKED_FOR_TRUSTSTORE[0] <= version < _ASKED_FOR_TRUSTSTORE[1]
