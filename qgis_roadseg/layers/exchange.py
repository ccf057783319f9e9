"""Exchange of layers with the worker: rasters as paths, features as GeoPackages.

Scope: QGIS' layers and sources. Independent of the worker.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransformContext,
    QgsFeature,
    QgsFeatureRequest,
    QgsFeatureSink,
    QgsFeatureSource,
    QgsField,
    QgsFields,
    QgsGeometry,
    QgsMapLayer,
    QgsMultiBandColorRenderer,
    QgsProcessingContext,
    QgsProviderRegistry,
    QgsRasterLayer,
    QgsVectorFileWriter,
    QgsWkbTypes,
)
from qgis.PyQt.QtCore import QMetaType

from ...training_core.errors import Cancelled, ImageryError, LayerError, OutputError
from ...training_core.jobs.fields import OSM_IDENTIFIERS, stored_names
from .no_data import check_no_data, own_ranges
from .snapshot import read

# Field types that every format can hold, besides numbers and dates; lists and maps are not among them.
_PLAIN_TYPES = (QMetaType.Type.QString, QMetaType.Type.Bool)
# The map in which an extract of OpenStreetMap may have all tags; it becomes a text of JSON.
_TAGS = "tags"
# Prefixes of a path in the name of a raster, which may follow each other, and delimiters behind the path.
_PREFIX = re.compile(r'vrt://|/vsi(?:zip|tar|gzip|7z|rar)/|(?:\d+|\w{2,}):(?!//)|["{]')
_DELIMITER = re.compile(r'[/:"?},]')
# How often a CRS is made anew until it has its definition.
_TRIES = 3


def why_no_file(layer: QgsMapLayer) -> str:
    """Return why only QGIS can open a layer, as a phrase after its name; empty where GDAL opens it by a path."""
    source = layer.source()
    if not isinstance(layer, QgsRasterLayer):
        return "has no pixels of its own"
    if layer.providerType() != "gdal":
        return f"comes from {layer.providerType()}"
    parts = QgsProviderRegistry.instance().decodeUri("gdal", source)
    if parts.get("openOptions"):
        return f"is opened with extra options ({', '.join(parts['openOptions'])})"
    if source.startswith("PG:"):
        return "is in a database"
    if source.startswith("/vsimem/"):
        return "is in QGIS' memory"
    if parts.get("authcfg"):
        return "needs a login stored in QGIS"
    ranges = own_ranges(layer) or []
    is_several = len(ranges) > 1 or any(values.min() != values.max() for values in ranges)
    return "has several no data values in QGIS" if is_several else ""


def raster_path(layer: QgsMapLayer) -> str:
    """Return the layer's dataset name for GDAL, with an absolute path: that path, or the name of a subdataset.

    A CRS or no data value that the user has given to the layer, in QGIS alone, is part of the name:
    vrt://town.tif?a_srs=EPSG:32645&a_nodata=0.0. Raises ImageryError if GDAL cannot open the layer by a dataset name,
    or not as QGIS does, or the file holds several rasters.
    """
    if not isinstance(layer, QgsRasterLayer):
        check_no_container(layer.source())
    check_no_data(layer)
    why = why_no_file(layer)
    if why:
        raise ImageryError(
            f"The layer {layer.name()} {why}: only QGIS can read it.",
            "Export the area that you need, with its no data values, to a GeoTIFF file (the layer's menu, Export, "
            "Save As) and choose that file.",
        )
    path, settings = absolute(layer.source()), _own_settings(layer)
    if not settings:
        return path
    connection = path if path.startswith("vrt://") else f"vrt://{path}"
    if "?" in path and connection != path:  # where GDAL takes options to begin
        raise ImageryError(
            f"The layer {layer.name()} has {' and '.join(settings)} in QGIS that its file does not have.",
            "Write them into the file (Raster > Projections > Assign Projection, Raster > Conversion > Translate).",
        )
    return f"{connection}{'&' if '?' in path else '?'}{'&'.join(settings.values())}"


def _own_settings(layer: QgsRasterLayer) -> dict[str, str]:
    """Return the settings that a layer has in QGIS alone, each with the option of GDAL's vrt:// for it."""
    settings, crs, ranges = {}, layer.crs(), own_ranges(layer)
    if crs.isValid() and crs != layer.dataProvider().crs():
        name = crs.authid() if crs.authid().startswith("EPSG:") else crs.toWkt()
        settings["a coordinate reference system"] = f"a_srs={name}"
    if ranges is not None:
        settings["no data values"] = f"a_nodata={ranges[0].min() if ranges else 'none'}"
    return settings


def band_order_note(layer: QgsMapLayer) -> str:
    """Return a sentence on the bands of a layer that QGIS draws in another order than their file has; else nothing."""
    renderer = layer.renderer() if isinstance(layer, QgsRasterLayer) else None
    if not isinstance(renderer, QgsMultiBandColorRenderer):
        return ""
    drawn = renderer.redBand(), renderer.greenBand(), renderer.blueBand()
    colors = Qgis.RasterColorInterpretation
    named = [layer.dataProvider().colorInterpretation(band) for band in drawn if band > 0]
    if drawn == (1, 2, 3) or named == [colors.RedBand, colors.GreenBand, colors.BlueBand]:
        return ""
    return (
        f"QGIS draws the layer {layer.name()} with its bands {', '.join(map(str, drawn))} as red, green and blue. The "
        "file does not declare these colors, so its bands are read in order: band 1 as red, 2 as green, 3 as blue. "
        "If that is wrong, set the color interpretation of the bands in the file (gdal_edit -colorinterp_1 blue and "
        "so on)."
    )


def training_data(values: Any) -> list[str]:
    """Return those of a parameter's values, one or a list, that are folders or, by their ending, COCO annotations."""
    given = values if isinstance(values, (list, tuple)) else [values]
    texts = [each for each in given if isinstance(each, str)]
    return [path for path in texts if os.path.isdir(path) or path.lower().endswith(".json")]


def check_no_container(path: str) -> None:
    """Raise ImageryError if a file is a container of several rasters, of which the user must choose one."""
    inner = QgsProviderRegistry.instance().querySublayers(path) if os.path.isfile(path) else []
    rasters = [one.uri() for one in inner if one.type() == Qgis.LayerType.Raster and one.uri() != path]
    if rasters:
        mesh = "".join(f", or the mesh: mdal://{path}" for one in inner if one.type() == Qgis.LayerType.Mesh)
        raise ImageryError(f"{path} holds several layers.", f"Choose one of its rasters, such as {rasters[0]}{mesh}.")


def absolute(source: str) -> str:
    """Return a source with an absolute path, also within the name of a raster or archive: NETCDF:"a.nc":red.

    An address, or the name of anything else that is no local file, stays as it is.
    """
    prefix = _PREFIX.match(source)
    if prefix is None or os.path.exists(source):
        return source if "://" in source else os.path.abspath(source)
    while prefix is not None:
        begin = prefix.end()
        path = _path_before(source[begin:])
        if path:
            return source[:begin] + os.path.abspath(path) + source[begin + len(path) :]
        prefix = _PREFIX.match(source, begin)
    return source


def _path_before(text: str) -> str:
    """Return the longest beginning of a text, up to a delimiter, that is an existing path; empty if none is."""
    ends = [len(text), *reversed([delimiter.start() for delimiter in _DELIMITER.finditer(text)])]
    return next((text[:end] for end in ends if os.path.exists(text[:end])), "")


def check_crs(source: QgsFeatureSource) -> None:
    """Raise LayerError if a source has no coordinate reference system."""
    if not source.sourceCrs().isValid():
        raise LayerError(f"The layer {source.sourceName()} has no coordinate reference system.", "Set the layer's CRS.")


def may_be_extract(source: QgsFeatureSource) -> bool:
    """Return whether a source has identifiers of OpenStreetMap, so that the worker needs its tags."""
    names = {name.lower() for name in source.fields().names()}
    return not names.isdisjoint(OSM_IDENTIFIERS) or ("id" in names and not names.isdisjoint(("highway", _TAGS)))


def plain_fields(source: QgsFeatureSource) -> list[str]:
    """Return the names of a source's fields that a GeoPackage can hold, without its primary key fid."""

    def is_plain(field: QgsField) -> bool:
        are_tags = field.name().lower() == _TAGS and field.type() == QMetaType.Type.QVariantMap
        return field.isNumeric() or field.isDateOrTime() or field.type() in _PLAIN_TYPES or are_tags

    return [field.name() for field in source.fields() if field.name().lower() != "fid" and is_plain(field)]


def renamed_fields(fields: Iterable[QgsField], names: Iterable[str]) -> QgsFields:
    """Return fields with other names, in order."""
    renamed = QgsFields()
    for field, name in zip(fields, names):
        other = QgsField(field)
        other.setName(name)
        renamed.append(other)
    return renamed


def write_source(
    source: QgsFeatureSource,
    fields: list[str],
    path: Path,
    context: QgsProcessingContext,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> dict[str, str]:
    """Write a source's features, selection and filter applied, to a new GeoPackage, and return its fields' names there.

    Curves are written as straight segments. Raises LayerError if the source has no coordinate reference system, lacks a
    field, or a feature cannot be read or written. Raises Cancelled if the user stopped it.
    """
    check_crs(source)
    name, known = source.sourceName(), source.fields().names()
    missing = [field for field in fields if field not in known]
    if missing:
        raise LayerError(f"The layer {name} has no field {missing[0]}.", f"It has: {', '.join(known) or 'no fields'}.")
    stored = stored_names(fields)
    own = list(map(source.fields().field, fields))
    maps = [position for position, field in enumerate(own) if field.type() == QMetaType.Type.QVariantMap]
    for position in maps:
        own[position] = QgsField(fields[position], QMetaType.Type.QString)
    kept = renamed_fields(own, stored.values())
    # With heights and measures, which the worker does not use, so that it can tell.
    multiple_type = QgsWkbTypes.multiType(QgsWkbTypes.linearType(source.wkbType()))
    writer = create_writer(path, kept, multiple_type, source.sourceCrs(), context.transformContext())
    request = QgsFeatureRequest().setSubsetOfAttributes(fields, source.fields())
    for feature in read(source, request):
        if is_cancelled():
            raise Cancelled()
        written = QgsFeature(kept)
        geometry = feature.geometry()
        geometry.convertToStraightSegment()
        written.setGeometry(geometry)
        values = [feature[field] for field in fields]
        for position in maps:
            values[position] = json.dumps(values[position] or {})
        written.setAttributes(values)
        writer.addFeature(written, QgsFeatureSink.Flag.FastInsert)
    failed, message = writer.hasError() != QgsVectorFileWriter.WriterError.NoError, writer.errorMessage()
    del writer  # which closes the file
    if failed:
        raise LayerError(
            f"The layer {name} cannot be written to a GeoPackage: {message}", "Export it yourself and choose that file."
        )
    return stored


def write_shape(
    shape: QgsGeometry, crs: QgsCoordinateReferenceSystem, path: Path, context: QgsProcessingContext
) -> None:
    """Write one polygon or multipolygon to a new GeoPackage; raise OutputError if that fails."""
    feature, multiple = QgsFeature(), QgsGeometry(shape)
    multiple.convertToMultiType()
    feature.setGeometry(multiple)
    writer = create_writer(path, QgsFields(), Qgis.WkbType.MultiPolygon, crs, context.transformContext())
    written = writer.addFeature(feature, QgsFeatureSink.Flag.FastInsert)
    message = writer.errorMessage()
    del writer  # which closes the file
    if not written:
        raise OutputError(f"{path} cannot be written: {message}", "Make room on the disk.")


def create_writer(
    path: Path,
    fields: QgsFields,
    geometry_type: Qgis.WkbType,
    crs: QgsCoordinateReferenceSystem,
    transforms: QgsCoordinateTransformContext,
) -> QgsVectorFileWriter:
    """Return the writer of a new GeoPackage with one layer, named like the file."""
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.driverName, options.layerName, options.fileEncoding = "GPKG", path.stem, "UTF-8"
    return QgsVectorFileWriter.create(str(path), fields, geometry_type, restored(crs), transforms, options)


def restored(crs: QgsCoordinateReferenceSystem) -> QgsCoordinateReferenceSystem:
    """Return a CRS again with its definition.

    QGIS 3.40 caches each CRS, and a cached one loses its definition when the threads that have used it end. The CRS
    remains valid and keeps its name, but a layer would be written without it. Another thread that ends may have put the
    same CRS into the cache just before, so the definition is looked at.
    """
    for _ in range(_TRIES):
        QgsCoordinateReferenceSystem.invalidateCache()
        restored = QgsCoordinateReferenceSystem(crs.authid())
        restored.setCoordinateEpoch(crs.coordinateEpoch())
        if restored.isValid() and restored.toWkt():
            return restored
    return crs
