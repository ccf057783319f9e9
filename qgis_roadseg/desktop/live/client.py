"""The worker of a live session, which is sent many labels at once.

Scope: changes of labels as commands. Independent of layers and widgets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from qgis.PyQt.QtCore import QTimer

from ..session_client import SessionClient

# Characters of the geometries of one command, and its changes: lines of commands are of limited length.
MAX_COMMAND, MAX_CHANGES = 200_000, 200


class LiveClient(SessionClient):
    """A worker that does the job `live`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waiting: deque[list[Mapping[str, Any]]] = deque()
        self._sender = QTimer(self)
        self._sender.setInterval(0)
        self._sender.timeout.connect(self._send_next)

    def send_labels(self, changes: Sequence[Mapping[str, Any]]) -> None:
        """Send changes of labels, in commands of limited length, one in each turn of the event loop."""
        command: Optional[list[Mapping[str, Any]]] = None
        length = 0
        for change in changes:
            its_length = len(change["geometry"] or "")
            if command is None or len(command) == MAX_CHANGES or length + its_length > MAX_COMMAND:
                command, length = [], 0
                self._waiting.append(command)
            command.append(change)
            length += its_length
        self._sender.start()

    def flush(self) -> None:
        """Send what waits to be sent."""
        while self._waiting:
            self._send_next()

    def _send_next(self) -> None:
        if self._waiting:
            self.send_numbered("labels", changes=self._waiting.popleft())
        else:
            self._sender.stop()
