"""The project's road probability, and sessions of workers that answer about one: for tracing and for the threshold.

Scope: choice of the layer, start and end of workers. Independent of what is asked.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Optional

from qgis.core import QgsMapLayer, QgsProject, QgsRasterLayer
from qgis.gui import QgisInterface
from qgis.PyQt.QtWidgets import QInputDialog

from ...training_core import jobs
from ...training_core.errors import ImageryError
from .. import settings
from ..layers import exchange, work_area
from ..runtime import runtime
from ..translation import tr
from .session_client import SessionClient

# How the band of a probability is named that RoadSeg has written; QGIS puts its number before it.
BAND = "road probability"
# Where a project keeps the id of the layer that was chosen.
_ENTRY = ("roadseg", "probability")


def is_probability(layer: Optional[QgsMapLayer]) -> bool:
    """Return whether a layer is a road probability that RoadSeg has written."""
    return isinstance(layer, QgsRasterLayer) and layer.bandCount() == 1 and layer.bandName(1).endswith(BAND)


def choose_probability(window: QgisInterface, title: str, question: str) -> Optional[QgsRasterLayer]:
    """Return the project's road probability; ask where there are several, and return None if nobody answers.

    Raises ImageryError if the project has no raster.
    """
    project = QgsProject.instance()
    layers = [each for each in project.mapLayers().values() if each.isValid()]
    rasters = [each for each in layers if isinstance(each, QgsRasterLayer)]
    found = [each for each in rasters if is_probability(each)]
    chosen = [each for each in rasters if each.id() == project.readEntry(*_ENTRY)[0]]
    if chosen or len(found) == 1:
        return (chosen or found)[0]
    by_name = sorted(found or rasters, key=lambda each: each.name())
    names = {f"{number}: {each.name()}": each for number, each in enumerate(by_name, 1)}
    if not names:
        raise ImageryError(
            tr("The project has no road probability."),
            tr("Run Segment roads or Extract roads with a road probability, and add it to the project."),
        )
    name, is_chosen = QInputDialog.getItem(window.mainWindow(), title, question, list(names), 0, False)
    if not is_chosen:
        return None
    project.writeEntry(*_ENTRY, names[name].id())
    return names[name]


def forget_choice() -> None:
    """Have the next choice asked for again: the layer cannot be used."""
    QgsProject.instance().removeEntry(*_ENTRY)


class Sessions:
    """Workers of the job trace; `on_ended` is called with each that has ended, and its result or error."""

    def __init__(self, on_ended: Callable[[SessionClient, Any], None]) -> None:
        self._on_ended = on_ended
        # Those that run, and those that have been asked to end, and have not yet.
        self.running: list[SessionClient] = []

    def start(self, raster: QgsRasterLayer) -> SessionClient:
        """Start a worker; raises RoadSegError if the layer or the runtime cannot be used, or OSError."""
        work_area.check_image_crs(raster)
        job = jobs.from_options(jobs.Trace, {"raster": exchange.raster_path(raster)})
        python, folder = runtime.find(), Path(tempfile.mkdtemp(prefix="roadseg-trace-"))
        session = SessionClient(python, job, folder, settings.load().variables())
        self.running.append(session)
        session.ended.connect(partial(self._end, session))
        return session

    def close(self) -> None:
        """End all of them, and wait for them: the plugin is unloaded."""
        for session in self.running:
            session.close()
            shutil.rmtree(session.folder, ignore_errors=True)
        self.running = []

    def _end(self, session: SessionClient, end: Any) -> None:
        self._on_ended(session, end)
        self.running.remove(session)
        shutil.rmtree(session.folder, ignore_errors=True)
