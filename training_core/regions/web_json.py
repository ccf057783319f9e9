"""JSON documents from web servers, which are not trusted: within bounds of time and size, with retries.

Scope: HTTP. Independent of what the documents mean. Proxies are those that the environment names.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import ImageryError
from ..jobs.json_fields import CONTROL_CHARACTERS, parse

# A collection of a hundred thousand items has some 300 MB.
MAX_JSON_BYTES = 1 << 30
# Within a document, a server may be silent for SILENCE_S; the whole of it must arrive within DOCUMENT_S.
SILENCE_S = 30.0
DOCUMENT_S = 300.0
# Seconds before each further try, where the server does not name them; it is not waited longer than the last.
RETRY_S = (1.0, 4.0, 16.0)
_PASSING = (408, 429, 500, 502, 503, 504)
_TRIED_AGAIN = (ConnectionError, TimeoutError, http.client.HTTPException)
_NEED_LOGIN = (401, 402, 403)
# What stands for itself in an address (RFC 3986), and the sign of what is already quoted.
_RESERVED = ":/?#[]@!$&'()*+,;=~%"
_HEADERS = {"Accept": "application/geo+json, application/json", "User-Agent": "RoadSeg"}
_PIECE_BYTES = 1 << 16
SMALLER = "Give a smaller area of interest (aoi) or range of dates (dates), or the address of one collection."
_OFFLINE = "Check the address and the connection; a proxy is taken from the variables http_proxy and https_proxy."


@dataclass(frozen=True)
class WebDocument:
    """A JSON object, and the address from which it came after redirections."""

    address: str
    content: dict[str, Any]


class ByteBudget:
    """How many bytes may still arrive, in all threads together."""

    def __init__(self, left_bytes: int) -> None:
        self.left_bytes = left_bytes
        self._lock = threading.Lock()

    def take(self, count: int) -> None:
        """Take bytes that have arrived from what is left, which becomes negative when there were too many."""
        with self._lock:
            self.left_bytes -= count


@cache
def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for http and https alone, since that of the library also reads files; certificates load once."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def is_web_address(text: str) -> bool:
    """Whether a text is an http or https address with a host, and can be shown."""
    try:
        parts = urlsplit(text)
        has_host = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # as of a port that is no number
        return False
    return has_host and not CONTROL_CHARACTERS.search(text)


def quoted(address: str) -> str:
    """Return an address without spaces and other characters that must be quoted; those that are remain."""
    return quote(address, _RESERVED)


def fetch_json(address: str, budget: ByteBudget) -> WebDocument:
    """Return the JSON object behind an http or https address.

    Raises ImageryError if the server cannot be reached, refuses, sends more than the budget or something else, or takes
    too long.
    """
    if "@" in urlsplit(address).netloc:
        raise ImageryError(f"{address} has a user's name or password.", "Only servers without a login are supported.")
    wait_s, reason = 0.0, ""
    for next_wait_s in (*RETRY_S, 0.0):
        time.sleep(min(wait_s, RETRY_S[-1]))
        wait_s = next_wait_s
        try:
            found_at, content = _fetch(address, budget)
            return WebDocument(found_at, _parsed(content, address))
        except urllib.error.HTTPError as error:
            if error.code not in _PASSING:
                raise _refused(address, error.code) from error
            asked_s = error.headers.get("Retry-After", "")
            wait_s = max(wait_s, float(asked_s) if asked_s.isdecimal() and len(asked_s) < 6 else 0.0)
            reason = f"the server answers {error.code}, also after {len(RETRY_S)} retries"
        except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a host that cannot be named
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            reason = str(cause).rstrip(".") or type(cause).__name__
            if isinstance(cause, TimeoutError):
                reason = f"the server is too slow ({cause})"
            if isinstance(cause, ConnectionRefusedError) or not isinstance(cause, _TRIED_AGAIN):
                break
    raise ImageryError(f"{address} cannot be read: {reason}.", _OFFLINE)


def _fetch(address: str, budget: ByteBudget) -> tuple[str, bytes]:
    """Return where a document was found, and its bytes, unless they are too many or come too slowly."""
    request = urllib.request.Request(quoted(address), headers=_HEADERS)
    with _opener().open(request, timeout=SILENCE_S) as response:
        promised = int(response.headers.get("Content-Length") or -1)
        content, until_s = bytearray(), time.monotonic() + DOCUMENT_S
        while piece := response.read1(_PIECE_BYTES):
            content += piece
            budget.take(len(piece))
            if max(promised - len(content), 0) > budget.left_bytes:
                raise ImageryError(
                    f"{address} exceeds the {MAX_JSON_BYTES / 1e9:.1f} GB that a source may have.", SMALLER
                )
            if time.monotonic() > until_s:
                raise TimeoutError(f"it took longer than {DOCUMENT_S:g} s")
        if promised > len(content):
            raise ConnectionError(f"it ended after {len(content):,} of {promised:,} bytes")
        return response.geturl(), bytes(content)


def _parsed(content: bytes, address: str) -> dict[str, Any]:
    try:
        document = parse(content.decode("utf-8-sig"))
    except ValueError as error:
        kind = "a web page" if content.lstrip()[:1] == b"<" else f"no JSON ({str(error).rstrip('.')})"
        raise ImageryError(
            f"{address} is {kind}, not a document of STAC.",
            "Give the address of an item, a collection, a catalog or a STAC API itself, not of a page that shows it; "
            "before the address of an image, put /vsicurl/.",
        ) from error
    if not isinstance(document, dict):
        raise ImageryError(f"{address} is not a STAC document.", "Give an item, a collection, a catalog or a STAC API.")
    return document


def _refused(address: str, code: int) -> ImageryError:
    if code in _NEED_LOGIN:
        return ImageryError(
            f"{address} is not there, or not open to all: the server answers {code}.",
            "Servers that need a login, or signed addresses, are not supported: take an open one, or download the "
            "images.",
        )
    return ImageryError(f"{address} cannot be read: the server answers {code}.", _OFFLINE)
