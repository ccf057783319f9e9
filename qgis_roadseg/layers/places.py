"""Places: the file or database, and the table in it, that holds a layer.

Scope: names of layers as QGIS' providers write them. Independent of algorithms and their parameters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qgis.core import QgsDataSourceUri, QgsMapLayer, QgsProviderRegistry, QgsVirtualLayerDefinition
from qgis.PyQt.QtCore import QUrl

from ...training_core.jobs.file_identity import SIDECARS, files_in, identities

OGR = "ogr"
# Files that virtual rasters and layers refer to.
_REFERENCE = re.compile(r"<(?:SourceFilename|SourceDataset|SrcDataSource)\b[^>]*>([^<]+)<")
_MAX_VIRTUAL_BYTES = 10_000_000


@dataclass(frozen=True)
class Place:
    """Where a layer is, or is to be written.

    Parameters
    ----------
    names : frozenset
        All by which its file, the files that go with it, or its database are known.
    table : str
        The table in it, in lower case; empty for the whole file, or an unknown table.
    """

    names: frozenset[Any]
    table: str = ""

    def overlaps(self, other: "Place") -> bool:
        """Return whether writing one of both would touch the other."""
        same_table = not self.table or not other.table or self.table == other.table
        return same_table and not self.names.isdisjoint(other.names)


def places_of_layer(layer: QgsMapLayer) -> list[Place]:
    """Return where a layer's data are: one place, or those of the layers that a virtual layer is made of."""
    if layer.providerType() == "virtual":
        definition = QgsVirtualLayerDefinition.fromUrl(QUrl.fromEncoded(layer.source().encode()))
        inner = [(each.provider(), each.source()) for each in definition.sourceLayers() if not each.isReferenced()]
        return [place for provider, source in inner for place in _places(provider, source)]
    return _places(layer.providerType(), layer.source())


def places_of_text(text: str) -> list[Place]:
    """Return the places that a path, or the name of a layer or raster in a file, means."""
    of_layer = _places(OGR, text)
    return of_layer if of_layer[0].table else _places("gdal", text)


def place_of_table(uri: QgsDataSourceUri) -> Place:
    """Return the place of a table in a database on a server; hosts do not count, which have more than one name."""
    names = [name for name in (uri.schema(), uri.table()) if name]
    return Place(frozenset([("database", uri.service() or uri.database())]), ".".join(names).lower())


def files_of_output(path: str) -> list[str]:
    """Return a file to be written, and those that are written or removed with it, whether they exist or not."""
    family = QgsProviderRegistry.instance().providerMetadata(OGR).sidecarFilesForUri(path)
    return [path, *family, *(f"{path}{ending}" for ending in SIDECARS)]


def place_of_output(path: str, table: str = "") -> Place:
    """Return the place of a file to be written, or of a table in it."""
    return Place(_names(files_of_output(path)), table.lower())


def _places(provider: str, source: str) -> list[Place]:
    parts = QgsProviderRegistry.instance().decodeUri(provider, source)
    uri, path = QgsDataSourceUri(source), parts.get("path")
    if uri.table() and not path:
        return [place_of_table(uri)]
    files = files_in(source)
    if isinstance(path, str):
        files.append(path)
    table = parts.get("layerName")  # NULL without one
    referred = [file for name in files for file in _referred_to(name)]
    return [
        Place(_existing_names(files), table.lower() if isinstance(table, str) else ""),
        Place(_existing_names(referred)),
    ]


def _existing_names(files: Iterable[str]) -> frozenset[Any]:
    """Return all by which files that exist, and the sidecar files that belong to them, are known."""
    registry = QgsProviderRegistry.instance()
    metadata = [registry.providerMetadata(key) for key in (OGR, "gdal")]
    family = {sidecar for file in files for each in metadata for sidecar in each.sidecarFilesForUri(file)}
    return _names(filter(os.path.exists, family.union(files)))


def _names(files: Iterable[str]) -> frozenset[Any]:
    return frozenset(name for file in files for name in identities(Path(file)))


def _referred_to(path: str) -> list[str]:
    """Return the files that a virtual raster or layer (VRT) refers to."""
    if not path.lower().endswith(".vrt") or not os.path.isfile(path) or os.path.getsize(path) > _MAX_VIRTUAL_BYTES:
        return []
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    sources = [source for name in _REFERENCE.findall(text) for source in files_in(name)]
    return [os.path.join(os.path.dirname(os.path.abspath(path)), source) for source in sources]
