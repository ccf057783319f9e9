"""RoadSeg's menu under Raster, its toolbar, settings page and panels: added to a window, and removed.

Scope: entries and icons. Independent of their targets.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Optional

from qgis.core import QgsApplication, QgsProject
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtGui import QIcon
from qgis.PyQt.QtWidgets import QAction, QToolBar

from ..layers import demo_project
from ..paths import ICON, LIVE_ICON, data_folder
from ..runtime import runtime
from ..translation import tr
from .demo import Demo
from .dialogs import SET_UP, open_dialog
from .field_sheet import make_sheet
from .live.control import LiveControl
from .live.panel import LivePanel
from .review.control import Review
from .settings_page import PAGE, SettingsPageFactory
from .threshold.control import Threshold
from .tracing.control import Tracing

NAME = "RoadSeg"
# The most used algorithms, each with an icon of QGIS; without one, RoadSeg's own.
ALGORITHMS = {
    "finetune": "/mActionCaptureLine.svg",
    "segment": "/mIconRaster.svg",
    "extractroads": "",
    "getosmdata": "/downloading_svg.svg",
    "roadstatus": "/algorithms/mAlgorithmNetworkAnalysis.svg",
    "comparenetworks": "/algorithms/mAlgorithmSymmetricalDifference.svg",
}


class Menu:
    """RoadSeg's part of a QGIS window."""

    def __init__(
        self, window: QgisInterface, demo_folder: Optional[Path] = None, live_folder: Optional[Path] = None
    ) -> None:
        self._window = window
        self._demo = Demo(window, demo_folder or demo_project.folder())
        self._live = Live(window, live_folder or data_folder() / "live")
        self._tracing, self._threshold = Tracing(window), Threshold(window)
        self._review = Review(window, self._tracing)
        self._factory = SettingsPageFactory()
        self._actions: list[QAction] = []
        self._status: Optional[QAction] = None
        self._toolbar: Optional[QToolBar] = None

    def add(self) -> None:
        """Add all of it to the window; the algorithms must be registered by now."""
        algorithms = [self._algorithm_action(name, icon) for name, icon in ALGORITHMS.items()]
        live = self._action("live", tr("RoadSeg live"), str(LIVE_ICON), self._live.toggle)
        trace = self._action("trace", tr("Trace roads"), "/mActionTracing.svg", self._tracing.toggle)
        trace.setCheckable(True)
        self._tracing.action = trace
        self._status = self._action("runtime", "", "/mIconPythonFile.svg", lambda: open_dialog(self._window, SET_UP))
        self._actions = [
            *algorithms,
            live,
            trace,
            self._action("threshold", tr("Threshold"), "/mActionIncreaseContrast.svg", self._threshold.begin),
            self._action("review", tr("Review"), "/algorithms/mAlgorithmCheckGeometry.svg", self._review.begin),
            self._separator(),
            self._action("try", tr("Try it on a generated scene"), "/mActionPlay.svg", self._demo.start),
            self._action("sheet", tr("Field sheet…"), "/mActionNewLayout.svg", self._open_sheet),
            self._separator(),
            self._status,
            self._action("settings", tr("Settings…"), "/mActionOptions.svg", self._show_settings),
            self._algorithm_action("reportproblem", "/mActionHelpContents.svg"),
        ]
        for action in self._actions:
            self._window.addPluginToRasterMenu(NAME, action)
        self._toolbar = self._window.addToolBar(NAME)
        self._toolbar.setObjectName("RoadSegToolBar")  # by which QGIS remembers its place
        self._toolbar.addActions([*algorithms, live, trace])
        self._window.registerOptionsWidgetFactory(self._factory)
        self._window.rasterMenu().aboutToShow.connect(self._update_status)
        self._update_status()

    def remove(self) -> None:
        """Remove all of it from the window."""
        self._demo.stop()
        self._live.close()
        self._review.close()
        self._tracing.close()
        self._threshold.close()
        self._window.rasterMenu().aboutToShow.disconnect(self._update_status)
        self._window.unregisterOptionsWidgetFactory(self._factory)
        self._window.mainWindow().removeToolBar(self._toolbar)
        self._toolbar.deleteLater()
        for action in self._actions:
            self._window.removePluginRasterMenu(NAME, action)
            action.deleteLater()
        self._actions = []

    def _algorithm_action(self, name: str, icon: str) -> QAction:
        algorithm = QgsApplication.processingRegistry().algorithmById(f"roadseg:{name}")
        action = self._action(name, f"{algorithm.displayName()}…", icon, lambda: open_dialog(self._window, name))
        action.setToolTip(f"<b>{algorithm.displayName()}</b><br>{algorithm.shortDescription()}")
        return action

    def _action(self, name: str, text: str, icon: str, act: Callable[[], None]) -> QAction:
        is_own = not icon or Path(icon).is_file()
        picture = QIcon(icon or str(ICON)) if is_own else QgsApplication.getThemeIcon(icon)
        action = QAction(picture, text, self._window.mainWindow())
        action.setObjectName(f"roadseg_{name}")
        action.triggered.connect(lambda: act())
        return action

    def _separator(self) -> QAction:
        separator = QAction(self._window.mainWindow())
        separator.setSeparator(True)
        return separator

    def _update_status(self) -> None:
        status = runtime.status()
        self._status.setText(tr("Runtime: {status}…").format(status=status.text))
        self._status.setStatusTip(str(status.python or ""))
        icon = "/mIconSuccess.svg" if status.is_ready else "/mIconWarning.svg"
        self._status.setIcon(QgsApplication.getThemeIcon(icon))

    def _open_sheet(self) -> None:
        """Open the layout designer with what the map shows."""
        canvas = self._window.mapCanvas()
        crs = canvas.mapSettings().destinationCrs()
        self._window.openLayoutDesigner(make_sheet(QgsProject.instance(), canvas.layers(), canvas.extent(), crs))

    def _show_settings(self) -> None:
        self._window.showOptionsDialog(self._window.mainWindow(), PAGE)


class Live:
    """The panel in a window."""

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
