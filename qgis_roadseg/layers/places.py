"""Places: the file or database, and the table in it, that holds a layer.

Scope: names of layers as QGIS' providers write them. Independent of algorithms and their parameters.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qgis.core import Qgis, QgsDataSourceUri, QgsMapLayer, QgsProject, QgsProviderRegistry, QgsVirtualLayerDefinition
from qgis.PyQt.QtCore import QUrl

from ...training_core.jobs.file_systems import SIDECARS, files_in, identities

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
    """Return where a layer's data are: one place, or those of all layers that a virtual layer may be made of."""
    if layer.providerType() != "virtual":
        return _places(layer.providerType(), layer.source())
    definition = QgsVirtualLayerDefinition.fromUrl(QUrl.fromEncoded(layer.source().encode()))
    sources = [each for each in definition.sourceLayers() if not each.isReferenced()]
    places = [place for each in sources for place in _places(each.provider(), each.source())]
    words = " ".join([definition.query(), *(each.reference() for each in definition.sourceLayers())])
    project = layer.project() or QgsProject.instance()
    others = [each for each in project.mapLayers().values() if each.providerType() != "virtual"]
    meant = [each for each in others if each.id() in words or each.name() in words]
    return places + [place for each in meant for place in places_of_layer(each)]


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
    files = [] if source.lstrip().startswith("<") else files_in(source)
    if isinstance(path, str):
        files.append(path)
    referred = [file for name in (source, *files) for file in _referred_to(name, os.getcwd(), set())]
    return [Place(_existing_names(files), _table_of(provider, parts).lower()), Place(_existing_names(referred))]


def _table_of(provider: str, parts: dict[str, Any]) -> str:
    """Return the only table that a layer is made of; empty if it is not known, as that of a statement.

    The tables of a view cannot be replaced anyway, since it refers to them; see `destinations.check_destination`.
    """
    path, table, subset = (parts.get(name) for name in ("path", "layerName", "subset"))
    if isinstance(subset, str) and subset.lstrip().upper().startswith("SELECT"):
        return ""
    if not isinstance(table, str) and provider == OGR and isinstance(path, str) and os.path.isfile(path):  # the first
        layers = QgsProviderRegistry.instance().querySublayers(path)
        table = next((each.name() for each in layers if each.type() == Qgis.LayerType.Vector), "")
    return table if isinstance(table, str) else ""


def _existing_names(files: Iterable[str]) -> frozenset[Any]:
    """Return all by which files that exist, and the sidecar files that belong to them, are known."""
    registry = QgsProviderRegistry.instance()
    metadata = [registry.providerMetadata(key) for key in (OGR, "gdal")]
    family = {sidecar for file in files for each in metadata for sidecar in each.sidecarFilesForUri(file)}
    return _names(filter(os.path.exists, family.union(files)))


def _names(files: Iterable[str]) -> frozenset[Any]:
    return frozenset(name for file in files for name in identities(Path(file)))


def _referred_to(source: str, folder: str, seen: set[str]) -> Iterator[str]:
    """Yield the files that a virtual raster or layer (VRT), in a file or as text, refers to, and those in turn."""
    if source.lstrip().startswith("<"):
        text = source
    elif source not in seen and _is_virtual(source):
        text, folder = Path(source).read_text(encoding="utf-8", errors="replace"), os.path.dirname(source)
    else:
        return
    seen.add(source)
    for name in map(html.unescape, _REFERENCE.findall(text)):
        for file in files_in(name):
            path = os.path.abspath(os.path.join(folder, file))
            yield path
            yield from _referred_to(path, folder, seen)


def _is_virtual(path: str) -> bool:
    return path.lower().endswith(".vrt") and os.path.isfile(path) and os.path.getsize(path) <= _MAX_VIRTUAL_BYTES
