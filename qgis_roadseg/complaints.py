"""What providers complain of in QGIS' message log alone, as the one for PostGIS does when it gives a black block.

Knows the log; knows nothing of layers or pixels.
"""

from __future__ import annotations

import threading

from qgis.core import Qgis, QgsApplication
from qgis.PyQt.QtCore import Qt

# The headings in the log under which a critical message means that pixels could not be read.
_HEADINGS = ("PostGIS",)


class Complaints:
    """Listens to the critical messages of this thread. A context manager."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __enter__(self) -> "Complaints":
        self._thread = threading.get_ident()
        self._signal = QgsApplication.messageLog().messageReceived[str, str, Qgis.MessageLevel]
        self._signal.connect(self._hear, Qt.ConnectionType.DirectConnection)  # in the thread that complains
        return self

    def __exit__(self, *_: object) -> None:
        self._signal.disconnect(self._hear)

    def _hear(self, message: str, heading: str, level: Qgis.MessageLevel) -> None:
        is_ours = threading.get_ident() == self._thread
        if is_ours and heading in _HEADINGS and level == Qgis.MessageLevel.Critical:
            self.heard.append(message.partition("\n")[0].rstrip("."))  # a query may follow
