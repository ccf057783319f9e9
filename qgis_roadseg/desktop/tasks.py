"""Work in the background: algorithms and functions in QGIS' task manager, and what follows in the main thread.

Scope: tasks. Independent of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Optional

from qgis.core import (
    QgsApplication,
    QgsProcessingAlgRunnerTask,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingUtils,
    QgsProject,
    QgsTask,
)

from ...training_core.errors import RoadSegError

# Tasks that run, with what they work on: QGIS keeps neither alive, also after a cancellation.
_RUNNING: "dict[QgsTask, tuple[Any, ...]]" = {}


def run_algorithm(name: str, values: Mapping[str, Any], on_end: Callable[[bool, str], None]) -> QgsTask:
    """Run an algorithm of RoadSeg, named without its provider, on the open project; return the task.

    Results whose destination names a project are added to it. `on_end` is called with whether it succeeded, and with
    the error, which is empty after a cancellation.
    """
    feedback, context = _ErrorRecorder(), QgsProcessingContext()
    context.setProject(QgsProject.instance())
    algorithm = QgsApplication.processingRegistry().createAlgorithmById(f"roadseg:{name}")
    task = QgsProcessingAlgRunnerTask(algorithm, dict(values), context, feedback)

    def end(is_done: bool, _: dict[str, Any]) -> None:
        del _RUNNING[task]
        if is_done:
            _add_results(context, feedback)
        on_end(is_done, "" if feedback.isCanceled() else feedback.error)

    task.executed.connect(end)
    _RUNNING[task] = (feedback, context, algorithm, values)
    QgsApplication.taskManager().addTask(task)
    return task


def _add_results(context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> None:
    """Add results to their project, named and styled, in their group on top; as the toolbox does."""
    for destination, details in context.layersToLoadOnCompletion().items():
        layer = context.temporaryLayerStore().takeMapLayer(QgsProcessingUtils.mapLayerFromString(destination, context))
        details.setOutputLayerName(layer)
        root = details.project.layerTreeRoot()
        details.project.addMapLayer(layer, False)
        (root.findGroup(details.groupName) or root.insertGroup(0, details.groupName)).insertLayer(0, layer)
        details.postProcessor().postProcessLayer(layer, context, feedback)


def run_function(
    title: str, work: Callable[[QgsProcessingFeedback], Any], on_end: Callable[[Any, Optional[Exception]], None]
) -> QgsTask:
    """Run a function in another thread; return the task.

    `on_end` is called with its result or with the RoadSegError or OSError that it has raised, but never after a
    cancellation.
    """
    task = _FunctionTask(title, work, on_end)
    _RUNNING[task] = ()
    QgsApplication.taskManager().addTask(task)
    return task


class _FunctionTask(QgsTask):
    def __init__(
        self,
        title: str,
        work: Callable[[QgsProcessingFeedback], Any],
        on_end: Callable[[Any, Optional[Exception]], None],
    ) -> None:
        super().__init__(title, QgsTask.Flag.CanCancel)
        self._work, self._on_end = work, on_end
        self._feedback = QgsProcessingFeedback(False)
        self._feedback.progressChanged.connect(self.setProgress)
        self._result: Any = None
        self._error: Optional[Exception] = None

    def run(self) -> bool:
        """Do the work; QGIS calls this in another thread."""
        try:
            self._result = self._work(self._feedback)
        except (RoadSegError, OSError) as error:
            self._error = error
        return self._error is None

    def cancel(self) -> None:
        """Tell the work to stop."""
        self._feedback.cancel()
        super().cancel()

    def finished(self, is_done: bool) -> None:
        """Report the end; QGIS calls this in the main thread."""
        del _RUNNING[self]
        if not self._feedback.isCanceled():
            self._on_end(self._result, self._error)


class _ErrorRecorder(QgsProcessingFeedback):
    """Keeps the last error."""

    error = ""

    def reportError(self, error: str, fatalError: bool = False) -> None:  # noqa: N803  # QGIS' name
        self.error = error
        super().reportError(error, fatalError)
