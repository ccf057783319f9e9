"""The license of a result in its metadata, where QGIS shows it: Layer Properties, Information.

Scope: metadata of layers, in their files where these can hold it or beside them. Independent of what is in the layers.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timezone

from qgis.core import (
    QgsAbstractMetadataBase,
    QgsLayerMetadata,
    QgsNotSupportedException,
    QgsProviderRegistry,
    QgsVectorLayer,
)

from ...training_core.jobs.openstreetmap import ATTRIBUTION, LICENSE, LICENSE_ADDRESS
from .places import OGR


def set_license(layer: QgsVectorLayer, title: str) -> None:
    """Give a layer the license and the attribution of OpenStreetMap, and a title; also in its file."""
    metadata = QgsLayerMetadata()
    metadata.setTitle(title)
    metadata.setAbstract(f"{ATTRIBUTION}. {datetime.now(timezone.utc):%Y-%m-%d}.")
    metadata.setLicenses([f"{LICENSE}, {LICENSE_ADDRESS}"])
    metadata.setRights([ATTRIBUTION])
    link = QgsAbstractMetadataBase.Link("OpenStreetMap", "WWW:LINK", LICENSE_ADDRESS)
    metadata.setLinks([link])
    layer.setMetadata(metadata)
    if layer.providerType() == OGR:
        registry = QgsProviderRegistry.instance()
        # A GeoPackage takes it only for a table that is named.
        uri = next((each.uri() for each in registry.querySublayers(layer.source())), layer.source())
        with suppress(QgsNotSupportedException):
            registry.saveLayerMetadata(OGR, uri, metadata)
