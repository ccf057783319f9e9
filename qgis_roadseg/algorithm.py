"""What every RoadSeg algorithm shares in Processing's eyes.

Knows how an algorithm is made anew, translated and pictured; knows nothing of what one does.
"""

from __future__ import annotations

from collections.abc import Iterable

from qgis.core import QgsProcessingAlgorithm, QgsProcessingParameterDefinition
from qgis.PyQt.QtGui import QIcon

from .paths import ICON
from .translation import tr


class RoadSegAlgorithm(QgsProcessingAlgorithm):
    """An algorithm of the RoadSeg provider."""

    def createInstance(self) -> "RoadSegAlgorithm":
        """Return a new one, as Processing wants one a run."""
        return type(self)()

    def tr(self, text: str) -> str:
        """Return the text in the person's language."""
        return tr(text)

    def icon(self) -> QIcon:
        """Return the provider's icon."""
        return QIcon(str(ICON))

    def svgIconPath(self) -> str:
        """Return the icon as a file."""
        return str(ICON)


def help_text(what: str, parameters: Iterable[QgsProcessingParameterDefinition]) -> str:
    """Return the help for the dialog and for qgis_process: what the algorithm does, and what each parameter is."""
    return "\n\n".join([what, *(f"{parameter.description()}: {parameter.help()}" for parameter in parameters)])
