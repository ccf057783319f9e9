"""What becomes of the requests that providers of web layers make: which failed, and which found that nothing is there.

A provider gives a block all the same when a tile could not be loaded, and nobody could tell it from one that does not
exist. Knows replies; knows nothing of layers or pixels.
"""

from __future__ import annotations

from qgis.core import QgsNetworkAccessManager, QgsNetworkReplyContent
from qgis.PyQt.QtNetwork import QNetworkReply, QNetworkRequest

_NOT_THERE = (QNetworkReply.NetworkError.ContentNotFoundError, QNetworkReply.NetworkError.ContentGoneError)
# What servers answer with in place of a picture to tell of an error.
_WORDS = ("text/", "application/json", "application/xml", "application/vnd.ogc.se_xml")


class Downloads:
    """Listens to the downloads of this thread. A context manager.

    A request that failed and then succeeded, as providers try several times, has not failed.

    Parameters
    ----------
    is_tiled : bool
        Whether the service has tiles, of which some may not be there; where it has none, that is a failure too.
    """

    def __init__(self, is_tiled: bool) -> None:
        self._is_tiled = is_tiled
        self._failed: dict[str, str] = {}
        self._missing: set[str] = set()

    def __enter__(self) -> "Downloads":
        self._manager = QgsNetworkAccessManager.instance()
        self._manager.finished[QgsNetworkReplyContent].connect(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.finished[QgsNetworkReplyContent].disconnect(self._hear)

    @property
    def failures(self) -> list[str]:
        """What failed, in words that hold the server's name, but not the address: that may hold a key."""
        return list(self._failed.values())

    @property
    def missing(self) -> frozenset[str]:
        """The addresses at which nothing is."""
        return frozenset(self._missing)

    def _hear(self, reply: QgsNetworkReplyContent) -> None:
        url = reply.request().url()
        address = url.toString()
        if self._is_tiled and reply.error() in _NOT_THERE:
            self._missing.add(address)
            return
        why = _why_failed(reply)
        if why:
            self._failed[address] = f"{url.host() or 'the file'}: {why}"
        else:
            self._failed.pop(address, None)


def _why_failed(reply: QgsNetworkReplyContent) -> str:
    status = reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
    if reply.error() == QNetworkReply.NetworkError.OperationCanceledError:
        return "no answer in time"
    if reply.error() != QNetworkReply.NetworkError.NoError:
        return f"HTTP status {status}" if status else reply.errorString()
    content_type = bytes(reply.rawHeader(b"Content-Type")).decode("latin-1").lower()
    is_redirect = status is not None and 300 <= status < 400
    if content_type.startswith(_WORDS) and not is_redirect:
        return f"the answer is no picture, but {content_type}"
    return ""
