"""Entry point of the plugin: registers the Processing provider, adds the menu, and removes both.

Scope: loading and unloading. Independent of provider and menu.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from qgis.core import QgsApplication, QgsProcessingAlgorithm

from .toolbox.provider import RoadSegProvider
from .translation import set_locale


class RoadSegPlugin:
    """RoadSeg in a running QGIS."""

    def __init__(self, iface: Optional[Any], algorithms: Sequence[type[QgsProcessingAlgorithm]]) -> None:
        self.iface = iface
        self._algorithms = algorithms
        self.provider: Optional[RoadSegProvider] = None
        self._menu: Optional[Any] = None
        set_locale(QgsApplication.locale())

    def initProcessing(self) -> None:
        """Register the provider; qgis_process calls this alone."""
        self.provider = RoadSegProvider(self._algorithms)
        QgsApplication.processingRegistry().addProvider(self.provider)
        self.provider.refreshAlgorithms()  # models find RoadSeg's algorithms only now that they are registered

    def initGui(self) -> None:
        """Start in a window: the provider, and a menu with a toolbar."""
        from .desktop import dialogs, first_result, menu  # which only a window has the libraries for

        self.initProcessing()
        self._menu = menu.Menu(self.iface)
        self._menu.add()
        self.provider.runtime_ready.connect(lambda: first_result.offer(self.iface))
        self.provider.packages_missing.connect(lambda why, name: dialogs.show_missing_packages(self.iface, why, name))

    def unload(self) -> None:
        """Remove the menu from the window, and the provider from the registry, which deletes it."""
        if self._menu is not None:
            self._menu.remove()
            self._menu = None
        if self.provider is not None:
            QgsApplication.processingRegistry().removeProvider(self.provider)
            self.provider = None
