"""Environment variables for a process of another Python, without those of QGIS.

Scope: environment variables. Independent of processes.
"""

from __future__ import annotations

from collections.abc import Mapping

# Prefixes of the variables that QGIS sets for its own Python, libraries and data; in another Python they load the wrong
# ones. Those for the internet stay: proxies, certificates (SSL_*), pip's settings (PIP_*).
FOREIGN = (
    "PYTHON", "__PYVENV", "VIRTUAL_ENV", "CONDA_",
    "PROJ_", "GDAL_", "OGR_", "GEOTIFF_",
    "LD_", "DYLD_",
    "QT_", "QML", "QGIS", "OSGEO4W", "O4W_", "GISBASE", "GISRC",
)  # fmt: skip


def cleaned(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables without those that belong to QGIS and its Python."""
    return {name: value for name, value in variables.items() if not name.upper().startswith(FOREIGN)}
