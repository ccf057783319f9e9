"""Try it: a scene is generated in the background, and opened as a project to try RoadSeg on.

Knows QGIS' tasks, projects and messages; what is in the project is known to `demo_project`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsApplication,
    QgsProcessingAlgRunnerTask,
    QgsProcessingContext,
    QgsProcessingFeedback,
)
from qgis.gui import QgisInterface

from ...training_core.errors import OutputError
from ..layers import demo_project
from ..translation import tr
from .dialogs import open_dialog, tell, tell_missing_runtime

MAKE_SCENE = "roadseg:makescene"


class Trial:
    """The demo, made where it is not there yet, and opened.

    Parameters
    ----------
    window : QgisInterface
        QGIS' window.
    folder : Path
        Where the demo lies.
    """

    def __init__(self, window: QgisInterface, folder: Path) -> None:
        self._window = window
        self._folder = folder
        self._scene: Optional[_SceneTask] = None

    def start(self) -> None:
        """Open the demo, or begin to make it."""
        if demo_project.is_made(self._folder):
            self._open()
        elif self._scene is not None:
            tell(self._window, tr("The scene is being generated; see the progress in the status bar."))
        else:
            self._generate()

    def stop(self) -> None:
        """Stop what is being made; nothing is opened any more."""
        if self._scene is not None:
            self._scene.executed.disconnect(self._on_scene)
            self._scene.cancel()
            self._scene = None

    def _generate(self) -> None:
        able, why = QgsApplication.processingRegistry().algorithmById(MAKE_SCENE).canExecute()
        if not able:
            tell_missing_runtime(self._window, why)
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = tr("{folder} cannot be made ({reason}).").format(folder=self._folder, reason=error.strerror)
            tell(self._window, why, Qgis.MessageLevel.Critical)
            return
        self._scene = _SceneTask(self._folder)
        self._scene.executed.connect(self._on_scene)
        QgsApplication.taskManager().addTask(self._scene)
        tell(self._window, tr("A scene to try RoadSeg on is being generated, which takes less than a minute."))

    def _on_scene(self, is_made: bool, _: dict[str, Any]) -> None:
        scene, self._scene = self._scene, None
        if is_made:
            try:
                demo_project.make(self._folder)
            except OutputError as error:
                tell(self._window, str(error), Qgis.MessageLevel.Critical)
            else:
                self._open()
        elif not scene.feedback.isCanceled():
            tell(self._window, scene.feedback.error, Qgis.MessageLevel.Critical)

    def _open(self) -> None:
        """Open the project, unless the person wants to keep the one that is open."""
        if not self._window.newProject(True):
            return
        self._window.addProject(str(demo_project.files(self._folder)["project"]))
        text = tr("Fine-tune a model, then extract roads; all is filled in.")
        tell(self._window, text, button=(tr("Fine-tune a model…"), lambda: open_dialog(self._window, "finetune")))


class _Ear(QgsProcessingFeedback):
    """Keeps the last error."""

    error = ""

    def reportError(self, error: str, fatalError: bool = False) -> None:  # noqa: N803  # QGIS' name
        self.error = error
        super().reportError(error, fatalError)


class _SceneTask(QgsProcessingAlgRunnerTask):
    """Generates the demo's scene in another thread."""

    def __init__(self, folder: Path) -> None:
        files = demo_project.files(folder)
        values = {**demo_project.SCENE, "RASTER": str(files["image"]), "OUTPUT": str(files["true"])}
        # These the task only borrows.
        self.feedback, self._context = _Ear(), QgsProcessingContext()
        self._algorithm = QgsApplication.processingRegistry().createAlgorithmById(MAKE_SCENE)
        super().__init__(self._algorithm, values, self._context, self.feedback)
