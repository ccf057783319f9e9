"""The network as QGIS is set to use it, for tools that download: proxy with password, the system's certificates.

Scope: environment variables of pip and uv, and their errors. Independent of packages. Passwords are handed on by
variables alone, which neither a log nor a list of processes shows.
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

# pip before 25.1 takes a wheel that was cut off for whole: its content or hash is wrong then. Newer ones say it.
_CUT_OFF = re.compile(r" is invalid\.$|DO NOT MATCH THE HASHES|IncompleteRead|Read timed out|incomplete-download", re.M)
_REMEDIES = {
    re.compile(r"407 .*Proxy Authentication Required|proxy authorization required"): (
        "The proxy asks for a user and a password. Choose an authentication in QGIS under Settings > Options > "
        "Network > Use proxy for web access, and run Set up runtime again."
    ),
    re.compile(r"CERTIFICATE_VERIFY_FAILED|invalid peer certificate"): (
        "The certificate of the index, or of a proxy that inspects traffic, is not trusted. Ask your administrator "
        "for the issuing certificate. Add it to the certificates of the system, or set the variables PIP_CERT and "
        "SSL_CERT_FILE to its file and start QGIS again."
    ),
    _CUT_OFF: "The connection was lost. Run Set up runtime again: completed packages are not downloaded again.",
}


def handed_on(python: Path) -> dict[str, str]:
    """Return environment variables for uv, or the pip of a Python; what is set already stays as it is."""
    variables = {
        **{"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", "UV_HTTP_TIMEOUT": "60"},
        **{"PIP_DEFAULT_TIMEOUT": "60", "PIP_RESUME_RETRIES": "20"},  # the latter from 25.1; others do not read it
        **_proxy(),
    }
    if _must_ask_for_truststore(python):
        variables["PIP_USE_FEATURE"] = "truststore"
    return {name: value for name, value in variables.items() if not os.environ.get(name)}


def without_credentials(text: str) -> str:
    """Return a text in which the addresses have no user and no password."""
    return _CREDENTIALS.sub("://***@", text)


def was_cut_off(said: str) -> bool:
    """Return whether pip has said that a download ended early; uv tries again by itself."""
    return _CUT_OFF.search(said) is not None


def remedy_of(said: str) -> str:
    """Return what helps against an error of the network that pip or uv has said; empty for others."""
    return next((remedy for words, remedy in _REMEDIES.items() if words.search(said)), "")


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
