"""Feedback of an algorithm that runs in the background: its last error, for a message.

Scope: Processing's feedback. Independent of the algorithm.
"""

from __future__ import annotations

from qgis.core import QgsProcessingFeedback


class ErrorRecorder(QgsProcessingFeedback):
    """Keeps the last error."""

    error = ""

    def reportError(self, error: str, fatalError: bool = False) -> None:  # noqa: N803  # QGIS' name
        """Keep the error.

        Parameters
        ----------
        error : str
            The error.
        fatalError : bool
            Whether the algorithm ends with it.
        """
        self.error = error
        super().reportError(error, fatalError)
