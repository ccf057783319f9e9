"""A live session from its start to its end: joins panel, worker, label layers and overlay.

Scope: what follows from what. Independent of how each of them does its part.
"""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Optional

from qgis.core import Qgis, QgsFileUtils, QgsMapLayer, QgsMessageLog, QgsPointXY, QgsProject, QgsTask
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import QObject, QTimer
from qgis.PyQt.QtWidgets import QFileDialog

from ....training_core import jobs
from ....training_core.errors import Cancelled, JobError, LayerError, RoadSegError, RuntimeEnvironmentError
from ... import settings
from ...layers import exchange, work_area
from ...layers.label_layers import NAMES, ROADS, SURE_FIELD, WIDTH_FIELD
from ...runtime import runtime
from ...translation import tr
from ..dialogs import show_message, show_missing_runtime
from .client import LiveClient
from .corrections import Corrections
from .end import LiveEnd
from .features import add_features, edit, save_edits
from .image import frame_of_view, render_image
from .label_files import create_label_layers
from .labels import Label, LabelWatcher, decimals_of
from .overlay import LiveOverlay
from .panel import IDLE, PAUSED, RUNNING, STARTING, STOPPING, LivePanel, numbers_of, state_hint, state_words
from .session_store import IMAGE, LABELS, SessionStore, choices_in, clean_up, last_session, new_folder, read_known
from .view import ViewSender

_FILTER = "GeoPackage (*.gpkg)"


class LiveControl(QObject):
    """Runs one session at a time, as the panel asks for it."""

    def __init__(self, window: QgisInterface, panel: LivePanel, root: Path) -> None:
        super().__init__()
        self._window, self._panel, self._root = window, panel, root
        self._image: Optional[QgsMapLayer] = None
        self._folder: Optional[SessionStore] = None
        self._rendering: Optional[QgsTask] = None
        self._session: Optional[LiveClient] = None
        self._watcher: Optional[LabelWatcher] = None
        self._overlay: Optional[LiveOverlay] = None
        self._view: Optional[ViewSender] = None
        self._corrections: Optional[Corrections] = None
        self._end: Optional[LiveEnd] = None
        self._places: list[QgsPointXY] = []
        self._learned_s: Optional[float] = None
        self._state: Optional[Any] = None
        panel.started.connect(self.start)
        panel.resumed.connect(self.resume)
        panel.paused.connect(self.pause_or_go_on)
        panel.stopped.connect(self.stop)
        panel.visited.connect(self._visit)
        panel.kept.connect(lambda: self._end and self._end.keep())
        panel.mapped.connect(lambda: self._end and self._end.keep(maps_next=True))
        panel.corrected.connect(lambda is_on: self._corrections and self._corrections.switch(is_on))
        panel.show_changed.connect(lambda style: self._view and self._view.show(style))
        for name, box in panel.choices.labels.items():
            box.activated.connect(lambda _, name=name, box=box: self._on_label_layer(name, box.currentLayer()))
        project = QgsProject.instance()
        self._connections = [
            project.layersWillBeRemoved.connect(self._on_layers_removed),
            project.layersRemoved.connect(panel.choices.forget),
            project.aboutToBeCleared.connect(self._on_project_cleared),
            # Once the layers are in the layer tree, too.
            project.layersAdded.connect(lambda _: QTimer.singleShot(0, self._suggest)),
        ]
        Thread(target=clean_up, args=(root,), daemon=True).start()  # models of some 400 MB each
        self._finish(tr("Not started"), tr("Choose an image, and press Start."))

    @property
    def is_idle(self) -> bool:
        """Whether no session runs."""
        return self._panel.phase == IDLE

    def start(self) -> None:
        """Begin a session with the choices; missing label layers are created first."""
        if not self.is_idle:
            return
        image = self._panel.choices.image.currentLayer()
        if image is None:
            self._panel.tell(tr("Choose an image: a raster layer of the project."))
        elif self._panel.choices.labels[ROADS].currentLayer() is None:
            self._create_labels(image)
        else:
            self._begin(image, None)

    def resume(self) -> None:
        """Go on with the last session, with the layers that it had."""
        path = last_session(self._root)
        if not self.is_idle or path is None:
            return
        self._panel.choices.restore(choices_in(path))
        image = self._panel.choices.image.currentLayer()
        if image is None:
            self._panel.tell(
                tr("The image of the last session is not in this project. Add it, choose it and press Start.")
            )
            return
        self._begin(image, path)

    def pause_or_go_on(self) -> None:
        """Pause learning, or go on with it; views are predicted in any case."""
        if self._session is None:
            return
        is_paused = self._panel.phase == PAUSED
        self._session.send("learn" if is_paused else "pause")
        self._panel.set_phase(RUNNING if is_paused else PAUSED)
        self._panel.set_state(tr("Continuing") if is_paused else tr("Pausing"))

    def stop(self) -> None:
        """End the session in order; asked for a second time, at once."""
        if self._rendering is not None:
            self._rendering.cancel()
            self._rendering = None
            self._finish(tr("Stopped"), tr("The image was not rendered completely."))
        elif self._session is not None and self._panel.phase == STOPPING:
            self._session.kill()
        elif self._session is not None:
            self._panel.set_phase(STOPPING)
            self._panel.set_state(
                tr("Stopping"), tr("The current step is being finished and the model is being written.")
            )
            self._session.stop()

    def close(self) -> None:
        """End all of it, and wait for the worker: the plugin is unloaded."""
        if self._rendering is not None:
            self._rendering.cancel()
        if self._session is not None:
            self._session.close()
        self._drop()
        for connection in self._connections:
            QObject.disconnect(connection)
        self._connections = []

    def _begin(self, image: QgsMapLayer, path: Optional[Path]) -> None:
        """Begin in a new folder, or in that of an earlier session; say why not where that cannot be."""
        try:
            runtime.find()
            work_area.check_image_crs(image)
            self._folder = new_folder(self._root) if path is None else SessionStore(path)
            self._folder.note(self._panel.choices.chosen())
            self._image = image
            self._panel.tell("")
            self._panel.set_phase(STARTING)
            rendered = self._folder.path / IMAGE
            if not exchange.why_no_file(image):
                self._launch(exchange.raster_path(image))
            elif rendered.is_file():
                self._launch(str(rendered))
            else:
                self._render(image, rendered)
        except RuntimeEnvironmentError as error:
            self._fail(error)
            show_missing_runtime(self._window, str(error))
        except (RoadSegError, OSError) as error:
            self._fail(error)

    def _render(self, image: QgsMapLayer, path: Path) -> None:
        frame = frame_of_view(image, self._panel.choices.model_name(), self._window.mapCanvas(), path.parent)
        self._panel.set_state(
            tr("Rendering"), tr("The visible part of {layer} is being rendered.").format(layer=image.name())
        )
        self._rendering = render_image(image, frame, path, lambda error: self._on_rendered(path, error))

    def _on_rendered(self, path: Path, error: Optional[Exception]) -> None:
        self._rendering = None
        try:
            if error is not None:
                raise error
            self._launch(str(path))
        except (RoadSegError, OSError) as error_:
            self._fail(error_)

    def _launch(self, raster: str) -> None:
        """Start the worker; commands and events begin in the next turn of the event loop."""
        folder, model = str(self._folder.path), self._panel.choices.model_name()
        job = jobs.from_options(jobs.Live, {"raster": raster, "base_model": model, "folder": folder})
        self._panel.set_state(tr("Loading"), tr("The worker is starting and reading the model."))
        session = LiveClient(runtime.find(), job, self._folder.path, settings.load().variables())
        session.noted.connect(self._panel.tell)
        session.ended.connect(self._on_ended)
        self._session = session
        QTimer.singleShot(0, lambda: self._join(session))

    def _join(self, session: LiveClient) -> None:
        """Join the worker with panel, label layers and overlay."""
        if session is not self._session or self._image is None:  # it has ended, or its image has gone
            return
        folder, image, choices = self._folder.path, self._image, self._panel.choices
        session.received.connect(self._on_event)
        self._watcher = LabelWatcher(image.crs(), read_known(folder / LABELS, decimals_of(image.crs())))
        self._watcher.changed.connect(session.send_labels)
        self._watcher.changed.connect(lambda _: self._show_numbers())
        self._watcher.failed.connect(self._panel.tell)
        self._watcher.lost.connect(self._on_label_lost)
        self._watcher.forgotten.connect(self._on_forgotten)
        layers = {name: choices.labels[name].currentLayer() for name in NAMES}
        for name, layer in layers.items():
            self._watcher.watch(name, layer)
        canvas = self._window.mapCanvas()
        self._overlay = LiveOverlay(canvas, folder, image, filter(None, layers.values()))
        self._view = ViewSender(canvas, image, session, self._panel.shown_style)
        self._corrections = Corrections(self._window, self._panel, image, session, self._watcher)
        self._end = LiveEnd(self._window, image, session)
        session.send("learn")
        self._panel.chart.clear()
        self._panel.set_phase(RUNNING)
        if layers[ROADS] is not None:
            QTimer.singleShot(0, partial(self._make_ready, layers[ROADS].id()))

    def _make_ready(self, layer_id: str) -> None:
        """Have the roads ready to be drawn: chosen, and then editable where they can be edited."""
        layer = QgsProject.instance().mapLayer(layer_id)
        if layer is not None:
            self._window.setActiveLayer(layer)
            QTimer.singleShot(0, lambda: edit(layer_id))

    def _on_event(self, event: Any) -> None:
        if event.kind == "state":
            self._show_state(event)
        elif event.kind == "prediction":
            self._overlay.show(event.path, event.show)
        elif event.kind == "metric" and event.name == "validation_f1":
            self._panel.chart.add(self._session.seconds, event.value)
        elif event.kind == "learned":
            self._learned_s = event.seconds
            self._panel.tell("")
            self._show_numbers()
        elif event.kind == "correction":
            self._corrections.answer(event)
        elif event.kind == "kept":
            self._end.on_kept(event)
        elif event.kind == "log":
            QgsMessageLog.logMessage(event.message, "RoadSeg", Qgis.MessageLevel.Info)
        elif event.kind == "warning":
            show_message(self._window, event.message, Qgis.MessageLevel.Warning)

    def _show_state(self, event: Any) -> None:
        if self._panel.phase == STOPPING:
            return
        if event.state == "paused" or self._panel.phase == PAUSED:
            self._panel.set_phase(PAUSED if event.state in ("paused", "predicting") else RUNNING)
        self._panel.set_state(state_words(event.state), state_hint(event.state))
        self._places = [QgsPointXY(*place) for place in event.next]
        self._panel.set_places(len(self._places))
        self._state = event
        self._show_numbers()

    def _show_numbers(self) -> None:
        self._panel.set_numbers(numbers_of(self._state, self._watcher.count(ROADS), self._learned_s))

    def _visit(self, number: int) -> None:
        if self._view is not None and number < len(self._places):
            with contextlib.suppress(RoadSegError):
                self._view.zoom_to(self._places[number])

    def _on_ended(self, end: Any) -> None:
        """Say how the session ended, and offer to go on where it was not meant to."""
        was_asked = self._panel.phase == STOPPING
        self._offer_to_save()
        if isinstance(end, RoadSegError) and not (isinstance(end, Cancelled) and was_asked):
            kept = tr("Your drawn features are in your layers. The model is kept as of its last checkpoint.")
            self._finish(tr("Ended"), f"{end} {kept}")
            show_message(self._window, f"{end} {kept}", Qgis.MessageLevel.Critical, (tr("Continue"), self.resume))
        else:
            self._finish(tr("Stopped"), tr("Resume continues with the learned model."))

    def _offer_to_save(self) -> None:
        """Remind of unsaved edits."""
        watched = map(self._watcher.layer, NAMES) if self._watcher is not None else ()
        layers = [layer for layer in watched if layer is not None and layer.isModified()]
        if layers:
            names, ids = ", ".join(layer.name() for layer in layers), [layer.id() for layer in layers]
            text = tr("These layers have unsaved edits: {layers}.").format(layers=names)
            button = (tr("Save the edits"), lambda: save_edits(ids))
            show_message(self._window, text, Qgis.MessageLevel.Info, button)

    def _on_label_layer(self, name: str, layer: Optional[QgsMapLayer]) -> None:
        """Watch the label layer that was chosen in place of another one."""
        if self._watcher is not None and layer is not self._watcher.layer(name):
            self._panel.tell("")
            self._watcher.watch(name, layer)

    def _on_label_lost(self, name: str, layer_name: str) -> None:
        text = tr(
            "The layer {layer} was removed. The model keeps everything that it learned from the layer. Choose "
            "another layer for drawing."
        )
        self._panel.tell(text.format(layer=layer_name))

    def _on_forgotten(self, labels: list[Label]) -> None:
        """Offer to restore features that an earlier session learned from and the layers lack."""
        text = tr(
            "{count} drawn features of the session are missing from the layers: "
            "QGIS may have ended before they were saved."
        )
        button = (tr("Put them back"), lambda: self._put_back(labels))
        show_message(self._window, text.format(count=len(labels)), Qgis.MessageLevel.Warning, button)

    def _put_back(self, labels: list[Label]) -> None:
        problems = []
        for label in labels if self._watcher is not None and self._image is not None else ():
            layer, content = self._watcher.layer(label.layer), label.content
            if layer is not None:
                try:
                    values = {WIDTH_FIELD: content.width_m, SURE_FIELD: content.sure}
                    add_features(layer, content.geometry, self._image.crs(), tr("Put back"), values)
                except LayerError as error:
                    problems.append(str(error))
        if problems:
            show_message(self._window, problems[0], Qgis.MessageLevel.Warning)

    def _on_layers_removed(self, layer_ids: list[str]) -> None:
        if self._image is not None and self._image.id() in layer_ids:
            name = self._image.name()
            self._lose_image()
            self._panel.tell(tr("The image {layer} was removed. The session ends.").format(layer=name))

    def _on_project_cleared(self) -> None:
        if not self.is_idle:
            self._lose_image()

    def _lose_image(self) -> None:
        """End the session in order: one that is being stopped is let write its model."""
        self._image = None
        if self._panel.phase != STOPPING:
            self.stop()

    def _create_labels(self, image: QgsMapLayer) -> None:
        """Ask for a file, make label layers in it, and begin."""
        beside = exchange.absolute(image.source()) if not exchange.why_no_file(image) else str(Path.home() / "labels")
        title, start = tr("Where to store the labels"), str(Path(beside).with_suffix("")) + " labels.gpkg"
        path, _ = QFileDialog.getSaveFileName(self._panel, title, start, _FILTER)
        if not path:
            return
        path = QgsFileUtils.addExtensionFromFilter(path, _FILTER)
        self._panel.set_phase(STARTING)
        self._panel.set_state(tr("Creating label layers"))
        create_label_layers(image, path, self._on_labels_created)

    def _on_labels_created(self, layers: dict[str, Any], error: str) -> None:
        if not self._connections:  # the plugin has been unloaded
            return
        self._panel.set_phase(IDLE)
        if error:
            self._fail(JobError(error))
            return
        for name, layer in layers.items():
            self._panel.choices.choose(name, layer)
        QTimer.singleShot(0, self.start)

    def _suggest(self) -> None:
        if self._connections and self.is_idle:
            self._panel.choices.suggest()

    def _fail(self, error: Exception) -> None:
        self._finish(tr("Not started"))
        self._panel.tell(str(error))

    def _finish(self, title: str, text: str = "") -> None:
        self._drop()
        self._panel.set_phase(IDLE)
        self._panel.set_state(title, text)
        self._panel.resume.setEnabled(last_session(self._root) is not None)
        self._suggest()

    def _drop(self) -> None:
        """Release all parts of the session; drawn features stay."""
        for part in (self._watcher, self._view, self._corrections, self._overlay):
            if part is not None:
                part.close()
        self._session = self._watcher = self._overlay = self._view = self._corrections = self._end = None
        self._image, self._places, self._learned_s, self._state = None, [], None, None
        if self._folder is not None:
            self._folder.release()
            self._folder = None
