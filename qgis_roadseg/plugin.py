"""The plugin as QGIS loads it: registers the Processing provider, and takes it back.

Knows when the provider comes and goes; knows nothing of what it offers.
"""

from __future__ import annotations

from typing import Any, Optional

from qgis.core import QgsApplication

from .provider import RoadSegProvider
from .translation import speak


class RoadSegPlugin:
    """RoadSeg in a running QGIS.

    Parameters
    ----------
    iface : QgisInterface, optional
        The window; None in qgis_process.
    """

    def __init__(self, iface: Optional[Any]) -> None:
        self.iface = iface
        self.provider: Optional[RoadSegProvider] = None
        speak(QgsApplication.locale())

    def initProcessing(self) -> None:
        """Register the provider; qgis_process calls this alone."""
        self.provider = RoadSegProvider()
        QgsApplication.processingRegistry().addProvider(self.provider)
        self.provider.refreshAlgorithms()  # models find RoadSeg's algorithms only now that they are registered

    def initGui(self) -> None:
        """Start in a window: there is nothing beside the toolbox."""
        self.initProcessing()

    def unload(self) -> None:
        """Take the provider out of the registry, which deletes it."""
        if self.provider is not None:
            QgsApplication.processingRegistry().removeProvider(self.provider)
            self.provider = None
