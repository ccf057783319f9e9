"""Errors of layer providers that their blocks do not show: failed requests, and critical messages in QGIS' log.

A provider returns a block even if a tile could not be loaded, and the PostGIS provider a black one if its database is
gone. Scope: network replies and the message log. Independent of layers and pixels.
"""

from __future__ import annotations

import threading

from qgis.core import Qgis, QgsApplication, QgsNetworkAccessManager, QgsNetworkReplyContent
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtNetwork import QNetworkReply, QNetworkRequest

_NOT_THERE = (QNetworkReply.NetworkError.ContentNotFoundError, QNetworkReply.NetworkError.ContentGoneError)
# Content types of servers' error messages, where an image is expected.
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/vnd.ogc.se_xml")
# The headings in the log under which a critical message means that pixels could not be read.
_HEADINGS = ("PostGIS",)


class RequestErrors:
    """Context manager that collects the failed network requests of this thread.

    A request that succeeded on a retry has not failed. Tiles of a service may be missing; elsewhere, "not found" is a
    failure.
    """

    def __init__(self, is_tiled: bool) -> None:
        self._is_tiled = is_tiled
        self._failed: dict[str, str] = {}
        self.missing: set[str] = set()  # the URLs that were not found

    def __enter__(self) -> "RequestErrors":
        self._manager = QgsNetworkAccessManager.instance()
        self._manager.finished[QgsNetworkReplyContent].connect(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.finished[QgsNetworkReplyContent].disconnect(self._hear)

    @property
    def failures(self) -> list[str]:
        """A message per failed request, with the server's name; the whole URL may hold a key."""
        return list(self._failed.values())

    def _hear(self, reply: QgsNetworkReplyContent) -> None:
        url = reply.request().url()
        address = url.toString()
        if self._is_tiled and reply.error() in _NOT_THERE:
            self.missing.add(address)
            return
        cause = _failure(reply)
        if cause:
            self._failed[address] = f"{url.host() or 'the file'}: {cause}"
        else:
            self._failed.pop(address, None)


def _failure(reply: QgsNetworkReplyContent) -> str:
    status = reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
    if reply.error() == QNetworkReply.NetworkError.OperationCanceledError:
        return "timeout"
    if reply.error() != QNetworkReply.NetworkError.NoError:
        return f"HTTP status {status}" if status else reply.errorString()
    content_type = bytes(reply.rawHeader(b"Content-Type")).decode("latin-1").lower()
    is_redirect = status is not None and 300 <= status < 400
    if content_type.startswith(_TEXT_TYPES) and not is_redirect:
        return f"the answer is not an image, but {content_type}"
    return ""


class LogErrors:
    """Context manager that collects the critical messages of this thread in QGIS' log."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def __enter__(self) -> "LogErrors":
        self._thread = threading.get_ident()
        self._signal = QgsApplication.messageLog().messageReceived[str, str, Qgis.MessageLevel]
        self._signal.connect(self._hear, Qt.ConnectionType.DirectConnection)  # in the thread that logs
        return self

    def __exit__(self, *_: object) -> None:
        self._signal.disconnect(self._hear)

    def _hear(self, message: str, heading: str, level: Qgis.MessageLevel) -> None:
        is_ours = threading.get_ident() == self._thread
        if is_ours and heading in _HEADINGS and level == Qgis.MessageLevel.Critical:
            self.messages.append(message.partition("\n")[0].rstrip("."))  # a query may follow
