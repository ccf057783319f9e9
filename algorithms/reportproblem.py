"""Processing algorithm *Report a problem*: a text file to attach to a report of a bug."""

from __future__ import annotations

from typing import Any

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterFileDestination,
)
from qgis.PyQt.QtCore import QIODevice, QSaveFile

from ..qgis_roadseg.paths import metadata
from ..qgis_roadseg.runtime.problem_report import problem_report
from ..qgis_roadseg.toolbox.algorithm import RoadSegAlgorithm, Values
from ..training_core.errors import OutputError


class ReportProblem(RoadSegAlgorithm):
    """Nothing in; what developers ask first out."""

    own_name = "reportproblem"
    title = "Report a problem"
    summary = "Write a text file with the information that developers need about a problem."
    description = (
        "The file contains the versions of RoadSeg, QGIS and the system, the processor with its instruction sets, "
        "the memory, the runtime with its packages, and RoadSeg's settings. It also contains the log of the last "
        "run with its error, even if QGIS crashed during that run. Run this algorithm right after the problem. It "
        "works even if the runtime is broken or missing. Nothing is sent: read the file, and attach it to your "
        "report."
    )
    group_id = "runtime"
    keywords = "bug,error,issue,support,log,versions,diagnostics"
    is_logged = False

    PATHS = "PATHS"
    OUTPUT = "OUTPUT"

    def initAlgorithm(self, config: Any = None) -> None:
        self._add(
            QgsProcessingParameterBoolean(self.PATHS, self.tr("Include file paths"), False),
            self.tr(
                "Keep the paths of your files. Otherwise, each path is replaced by a number and the extension. "
                "Passwords, and addresses beyond the name of the server, are always left out."
            ),
        )
        self._add(
            QgsProcessingParameterFileDestination(self.OUTPUT, self.tr("Report"), self.tr("Text files (*.txt)")),
            self.tr("Text file to write."),
        )

    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        path = self.parameterAsFileOutput(parameters, self.OUTPUT, context)
        feedback.setProgressText(self.tr("Importing the packages of the runtime"))
        text = problem_report(self.parameterAsBoolean(parameters, self.PATHS, context), feedback.isCanceled)
        file = QSaveFile(path)
        data = text.encode("utf-8", "backslashreplace")
        written = file.open(QIODevice.OpenModeFlag.WriteOnly) and file.write(data) == len(data) and file.commit()
        if not written:
            raise OutputError(f"{path} cannot be written: {file.errorString()}.", "Choose another folder.")
        message = self.tr("The report is {path}. Read it, and attach it to a new issue: {address}")
        feedback.pushInfo(message.format(path=path, address=metadata("tracker")))
        return {self.OUTPUT: path}
