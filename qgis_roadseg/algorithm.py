"""What every RoadSeg algorithm shares in Processing's eyes.

Knows how an algorithm is made anew, grouped, translated, pictured and helped with; knows nothing of what one does.
"""

from __future__ import annotations

from collections.abc import Iterable

from qgis.core import QgsProcessingAlgorithm, QgsProcessingParameterDefinition
from qgis.PyQt.QtGui import QIcon

from .documentation import page_url
from .paths import ICON
from .translation import tr

# The groups of the toolbox by their ids, which, like those of the algorithms, stay for ever.
GROUPS = {
    "runtime": "Runtime",
    "training": "Training",
    "roads": "Roads",
    "network": "Network",
    "workflows": "Workflows",
}


class InToolbox:
    """How the toolbox shows what RoadSeg has, whether written in Python or made in Model Designer.

    Attributes
    ----------
    group_id : str
        One of GROUPS.
    keywords : str
        Words, separated by commas, that the toolbox also finds it by.
    """

    group_id: str
    keywords: str

    def tr(self, text: str) -> str:
        """Return the text in the person's language."""
        return tr(text)

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr(GROUPS[self.group_id])

    def groupId(self) -> str:
        """Return the group's id."""
        return self.group_id

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr(self.keywords).split(",")

    def helpUrl(self) -> str:
        """Return the address of the algorithm's page, which the dialog's button opens."""
        return page_url(self.name())

    def icon(self) -> QIcon:
        """Return the provider's icon."""
        return QIcon(str(ICON))

    def svgIconPath(self) -> str:
        """Return the icon as a file."""
        return str(ICON)


class RoadSegAlgorithm(InToolbox, QgsProcessingAlgorithm):
    """An algorithm of the RoadSeg provider, written in Python."""

    def createInstance(self) -> "RoadSegAlgorithm":
        """Return a new one, as Processing wants one a run."""
        return type(self)()


def help_text(what: str, parameters: Iterable[QgsProcessingParameterDefinition]) -> str:
    """Return the help for the dialog and for qgis_process: what the algorithm does, and what each parameter is.

    The short description is no part of it: it would stand there twice in qgis_process, which shows both.
    """
    return "\n\n".join([what, *(f"{parameter.description()}: {parameter.help()}" for parameter in parameters)])
