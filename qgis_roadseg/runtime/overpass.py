"""Data of OpenStreetMap from an Overpass server, by QGIS' network manager: its proxies, certificates and logins hold.

Scope: one request, its failures, and a second try. Independent of the query, see `jobs.overpass`, and of layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from urllib.parse import quote

from qgis.core import QgsApplication, QgsNetworkAccessManager, QgsProcessingFeedback
from qgis.PyQt.QtCore import QEventLoop, QTimer, QUrl
from qgis.PyQt.QtNetwork import QNetworkReply, QNetworkRequest

from ...training_core.errors import Cancelled, JobError, LayerError, ResourceError
from ...training_core.jobs.overpass import MAX_ANSWER_MB, Box, fault_of, query
from ..translation import tr
from .feedback import wait

_MAX_BYTES = MAX_ANSWER_MB * 1_000_000
# A server that is busy is asked again after so long, unless it says when.
_PAUSE_S, _MAX_PAUSE_S = 15, 60
_POLL_MS = 100
# The server gives up before QGIS does, and says why.
_EARLIER_S = 5
_BUSY = (429, 502, 503, 504)
_OVERLOAD = "Try again in some minutes, choose a smaller area or another server, or give a file (EXTRACT)."
_SMALLER = "Choose a smaller area, or give an extract of it as a file (EXTRACT)."
_WRONG = "Check the address of the server (SERVER), its login (AUTHCFG), and the proxy in Settings > Options > Network."
_PASSING = (
    QNetworkReply.NetworkError.RemoteHostClosedError,
    QNetworkReply.NetworkError.TimeoutError,
    QNetworkReply.NetworkError.TemporaryNetworkFailureError,
    QNetworkReply.NetworkError.NetworkSessionFailedError,
    QNetworkReply.NetworkError.UnknownNetworkError,
)


@dataclass(frozen=True)
class Server:
    """An address of Overpass, and the id of a login that QGIS keeps for it, or an empty text."""

    address: str
    login: str = ""

    @property
    def name(self) -> str:
        """The name of the host, without what an address may hide."""
        return QUrl(self.address).host()

    def check(self) -> None:
        """Raise JobError if the address is not one of the web."""
        url = QUrl(self.address, QUrl.ParsingMode.StrictMode)
        if url.scheme() not in ("http", "https") or not url.host():
            raise JobError(
                "The address of the server (SERVER) is not one of the web.", "Give one that begins with https://."
            )


@dataclass(frozen=True)
class _Failure:
    """Why there are no data, what to do, and after how many seconds to ask again: None for never."""

    reason: str
    remedy: str
    pause_s: Optional[int] = None


def download(server: Server, boxes: Iterable[Box], path: Path, feedback: QgsProcessingFeedback) -> None:
    """Write what a server has in some boxes to a file; ask it once more if the failure may pass.

    Raises ResourceError if that is too much, LayerError for any other failure, and Cancelled if the user stopped it.
    """
    timeout_s = QgsNetworkAccessManager.timeout() // 1000
    text = query(boxes, max(1, timeout_s - _EARLIER_S))
    failure = _ask(server, text, path, feedback)
    if failure and failure.pause_s is not None:
        message = tr("{reason} It is asked once more in {seconds} s.")
        feedback.pushWarning(message.format(reason=failure.reason, seconds=failure.pause_s))
        wait(failure.pause_s, feedback)
        failure = _ask(server, text, path, feedback)
    if failure:
        raise LayerError(failure.reason, failure.remedy)


def _ask(server: Server, text: str, path: Path, feedback: QgsProcessingFeedback) -> Optional[_Failure]:
    """Send a query and write the answer to a file; return why there is none, or it is of no use."""
    request = QNetworkRequest(QUrl(server.address))
    request.setHeader(QNetworkRequest.KnownHeaders.ContentTypeHeader, "application/x-www-form-urlencoded")
    request.setAttribute(
        QNetworkRequest.Attribute.RedirectPolicyAttribute, QNetworkRequest.RedirectPolicy.NoLessSafeRedirectPolicy
    )
    logins = QgsApplication.authManager()
    if server.login and not logins.updateNetworkRequest(request, server.login)[0]:
        return _Failure(f"QGIS has no login {server.login} (AUTHCFG).", "Choose another one.")
    reply = QgsNetworkAccessManager.instance().post(request, f"data={quote(text)}".encode())
    if server.login:
        logins.updateNetworkReply(reply, server.login)
    received = _receive(reply, path, feedback)
    reply.deleteLater()
    if feedback.isCanceled():
        raise Cancelled
    if received > _MAX_BYTES:
        raise ResourceError(f"{server.name} has more than {MAX_ANSWER_MB} MB of data there.", _SMALLER)
    return _failure_of(reply, server.name, path)


def _receive(reply: QNetworkReply, path: Path, feedback: QgsProcessingFeedback) -> int:
    """Write a reply to a file until it ends, is too large, or the user cancels; return how many bytes came."""
    loop, timer = QEventLoop(), QTimer()
    with path.open("wb") as file:

        def take() -> None:
            file.write(bytes(reply.readAll()))
            if feedback.isCanceled() or file.tell() > _MAX_BYTES:
                reply.abort()

        reply.readyRead.connect(take)
        timer.timeout.connect(take)
        reply.finished.connect(loop.quit)
        timer.start(_POLL_MS)
        if not reply.isFinished():
            loop.exec()
        timer.stop()
        file.write(bytes(reply.readAll()))
        return file.tell()


def _failure_of(reply: QNetworkReply, name: str, path: Path) -> Optional[_Failure]:
    """Return what is wrong with a reply that has ended, or with the file that it was written to."""
    status = reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
    if status in _BUSY:
        pause = bytes(reply.rawHeader(b"Retry-After")).decode(errors="replace")
        pause_s = min(int(pause), _MAX_PAUSE_S) if pause.isdecimal() else _PAUSE_S
        return _Failure(tr("{server} is busy (HTTP {status}).").format(server=name, status=status), _OVERLOAD, pause_s)
    error = reply.error()
    if error == QNetworkReply.NetworkError.OperationCanceledError:  # by QGIS, after its time-out
        seconds = QgsNetworkAccessManager.timeout() // 1000
        return _Failure(
            tr("{server} sent nothing for {seconds} s.").format(server=name, seconds=seconds),
            f"{_OVERLOAD} The time-out is in Settings > Options > Network.",
            0,
        )
    if status is not None and status >= 300:
        return _Failure(tr("{server} refuses (HTTP {status}).").format(server=name, status=status), _WRONG)
    if error != QNetworkReply.NetworkError.NoError:
        reason = tr("{server} cannot be reached: {reason}.").format(server=name, reason=reply.errorString().rstrip("."))
        return _Failure(reason, _WRONG, 0 if error in _PASSING else None)
    fault = fault_of(path)
    reason = tr("The answer of {server} is of no use: {fault}.").format(server=name, fault=fault.rstrip("."))
    return _Failure(reason, _OVERLOAD, 0) if fault else None
