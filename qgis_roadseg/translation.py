"""The person's language. Knows the one context of all of RoadSeg's texts."""

from qgis.PyQt.QtCore import QCoreApplication


def tr(text: str) -> str:
    """Return a text in the person's language."""
    return QCoreApplication.translate("RoadSeg", text)
