"""The demo: generates a scene in a background task, and opens it as a project.

Scope: tasks, projects, messages. Independent of the project's content; see `demo_project`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from qgis.core import Qgis, QgsTask
from qgis.gui import QgisInterface

from ...training_core.errors import OutputError
from ..layers import demo_project
from ..translation import tr
from .dialogs import can_run, open_dialog, show_message
from .tasks import run_algorithm

MAKE_SCENE = "makescene"


class Demo:
    """The demo project, generated if it does not exist, and opened."""

    def __init__(self, window: QgisInterface, folder: Path) -> None:
        self._window = window
        self._folder = folder
        self._scene: Optional[QgsTask] = None

    def start(self) -> None:
        """Open the demo, or start to generate it."""
        if demo_project.is_made(self._folder):
            self._open()
        elif self._scene is not None:
            show_message(self._window, tr("RoadSeg is generating the scene. The status bar shows the progress."))
        else:
            self._generate()

    def stop(self) -> None:
        """Cancel the generation; nothing is opened any more."""
        if self._scene is not None:
            scene, self._scene = self._scene, None
            scene.cancel()

    def _generate(self) -> None:
        if not can_run(self._window, MAKE_SCENE):
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = tr("{folder} cannot be created ({reason}).").format(folder=self._folder, reason=error.strerror)
            show_message(self._window, why, Qgis.MessageLevel.Critical)
            return
        files = demo_project.files(self._folder)
        values = {**demo_project.SCENE, "RASTER": str(files["image"]), "OUTPUT": str(files["true"])}
        self._scene = run_algorithm(MAKE_SCENE, values, self._on_scene)
        show_message(
            self._window, tr("RoadSeg generates a scene on which you can try it. This takes less than a minute.")
        )

    def _on_scene(self, is_made: bool, error_text: str) -> None:
        if self._scene is None:  # it was stopped
            return
        self._scene = None
        if is_made:
            try:
                demo_project.make(self._folder)
            except OutputError as error:
                show_message(self._window, str(error), Qgis.MessageLevel.Critical)
            else:
                self._open()
        elif error_text:
            show_message(self._window, error_text, Qgis.MessageLevel.Critical)

    def _open(self) -> None:
        """Open the project, unless the user wants to keep the one that is open."""
        if not self._window.newProject(True):
            return
        self._window.addProject(str(demo_project.files(self._folder)["project"]))
        text = tr("Fine-tune a model, then extract roads. All parameters are filled in.")
        button = (tr("Fine-tune a model…"), lambda: open_dialog(self._window, "finetune"))
        show_message(self._window, text, Qgis.MessageLevel.Info, button)
