"""RoadSeg live in a window: the panel and what runs it, made when they are first asked for.

Scope: the dock widget's place in the window. Independent of sessions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import Qt

from .live_control import LiveControl
from .live_panel import LivePanel


class Live:
    """The panel in a window.

    Parameters
    ----------
    window : QgisInterface
        QGIS' window.
    folder : Path
        The folder of all sessions.
    """

    def __init__(self, window: QgisInterface, folder: Path) -> None:
        self._window, self._folder = window, folder
        self.panel: Optional[LivePanel] = None
        self.control: Optional[LiveControl] = None

    def toggle(self) -> None:
        """Show the panel, or hide it; a session goes on behind it."""
        if self.panel is None:
            self.panel = LivePanel(self._window.mainWindow())
            self.control = LiveControl(self._window, self.panel, self._folder)
            self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.panel)
        else:
            self.panel.setUserVisible(not self.panel.isUserVisible())

    def close(self) -> None:
        """Remove the panel; a session is stopped, and its worker waited for."""
        if self.panel is not None:
            self.control.close()
            self._window.removeDockWidget(self.panel)
            self.panel.deleteLater()
            self.panel = self.control = None
