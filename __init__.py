"""RoadSeg, a QGIS plugin: maps roads from satellite and aerial imagery on the analyst's own processor."""


def classFactory(iface):  # noqa: N802  # QGIS calls it by this name
    """Return the plugin, as QGIS asks for it."""
    from .algorithms import ALGORITHMS
    from .qgis_roadseg.plugin import RoadSegPlugin

    return RoadSegPlugin(iface, ALGORITHMS)
