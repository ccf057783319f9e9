"""The job applyreview: a network with the answers of its review, and what a model can learn from them.

Scope: layers and their fields. Geometry is in `reviewed_network`.
"""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pandas
import pyproj
import shapely

from ..comparison.change_results import known_only, of_like_types, verdicts_in
from ..comparison.reviewed_network import (
    Judged,
    Verdicts,
    agreed,
    connected,
    judge,
    labels_of,
    off_judged,
    outside_box,
)
from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import widths_m_in
from ..geodata.parallel_arrays import selected
from ..geodata.vector_output import check_vector_output
from ..geodata.vectors import carried_fields, require_features, with_names
from ..jobs import ApplyReview
from ..jobs.fields import word_in
from ..jobs.review import ACCEPTED, CHANGE, DRAWN, MACHINE, REJECTED, REVIEW, REVIEWED, ROAD, STATUS
from ..networks.lines import LineFields, Lines, lines_in, make_lines, read_line_layer, shared_plane
from ..networks.network_tables import to_tables, write_tables
from ..networks.noding import node_lines
from ..system.outputs import Outputs

_PURPOSE, _REVIEW, _ANEW = "road network", "review", "roads extracted anew"
_OUTPUTS = {"roads": "LineString", "drawn": "LineString", "no_road": "Polygon", "aoi": "Polygon"}
_STATUSES = (MACHINE, REVIEWED, DRAWN)
_WIDTH = "width_m"
# Columns that are computed for the result.
_MADE = ("length_m", "component", STATUS)
# The network is noded already, so noding must not move anything but what is new.
_JOIN_M = 0.01


def run(job: ApplyReview, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.ApplyReview`."""
    files = [path for name in _OUTPUTS if (path := getattr(job, name))]
    for path in files:
        check_vector_output(path, files.count(path))
    with Outputs([job.lines, job.review, job.other_review, job.extracted_anew]) as outputs:
        paths, staged = outputs.stage_fields(job, *_OUTPUTS)
        reporter.progress(0, "Reading")
        layer = read_line_layer(job.lines, _PURPOSE, LineFields(), reporter)
        require_features(layer, job.lines, _PURPOSE)
        layer = with_names(layer, (STATUS, _WIDTH, "bridge"), job.lines, _PURPOSE)
        plane = shared_plane(layer, of=job.lines)
        given = [_verdicts(path, plane, reporter) for path in (job.review, job.other_review) if path]
        verdicts, contradicted = agreed(*given)
        anew = None
        if job.extracted_anew:
            anew = read_line_layer(job.extracted_anew, _ANEW, LineFields(), reporter)
            shared_plane(layer, anew, of=f"{job.lines} and {job.extracted_anew}")
        reporter.step(0.3, "Applying verdicts")
        lines, status = lines_in(plane, layer, LineFields(bridge="bridge")), _statuses(layer)
        judged = judge(lines, verdicts, status[lines.feature])
        kept = lines.parted(judged.shapes, judged.line)
        status = np.where(judged.is_accepted, REVIEWED, status[kept.feature])
        roads = _network(layer, kept, status, verdicts, anew, plane, reporter)
        reporter.progress(0.9, "Writing")
        tables = {"roads": roads}
        if len(staged) > 1:
            tables |= _label_tables(roads, verdicts, plane)
        write_tables(tables, staged, _OUTPUTS)
    return {**paths, **_numbers(verdicts, judged, contradicted, roads, job, reporter)}


def _verdicts(path: str, plane: pyproj.CRS, reporter: Reporter) -> Verdicts:
    """Return the verdicts in a review layer; raise LayerError if it has other words, or none."""
    layer = read_line_layer(path, _REVIEW, LineFields(), reporter)
    require_features(layer, path, _REVIEW)
    layer = known_only(layer, CHANGE, (ROAD,), _REVIEW, path, reporter)
    words = verdicts_in(layer, _REVIEW, path)
    layer = layer.assign(**{REVIEW: words})[words != ""].reset_index(drop=True)
    if layer.empty:
        raise LayerError(
            f"No place in the {_REVIEW} ({path}) is {ACCEPTED} or {REJECTED}.", "Review some in the Review panel first."
        )
    lines = lines_in(plane, layer, LineFields())
    rows = layer.iloc[lines.feature]
    return Verdicts(lines.shapes, rows[REVIEW].to_numpy(), widths_m_in(rows, _WIDTH))


def _network(
    layer: geopandas.GeoDataFrame, kept: Lines, status: np.ndarray, verdicts: Verdicts,
    anew: geopandas.GeoDataFrame | None, plane: pyproj.CRS, reporter: Reporter,
) -> geopandas.GeoDataFrame:  # fmt: skip
    """Return the reviewed network in the layer's CRS, with the fields of its lines.

    `status`, (n,) object, are those of the kept lines, of which `anew` replaces what nobody has judged.
    """
    fields = carried_fields(layer, _MADE, reporter)
    rows, bridge = _rows(layer, kept, fields).assign(**{STATUS: status}), kept.bridge
    if anew is not None:
        others = carried_fields(anew, _MADE, reporter)
        rows, bridge, added = _split_anew(rows, bridge, verdicts, lines_in(plane, anew, LineFields()), reporter)
        rows, bridge = _with_roads(rows, bridge, _rows(anew, added, others))
        fields |= others
    whole = make_lines(rows.geometry.to_numpy(), bridge)
    graph, _ = node_lines(whole, _JOIN_M, _PURPOSE)
    to_map = pyproj.Transformer.from_crs(plane, layer.crs, always_xy=True)
    columns = {name: rows[name].iloc[graph.origin].array for name in (STATUS, *fields) if name in rows}
    network = to_tables(graph, lambda points: np.column_stack(to_map.transform(*points.T)), layer.crs, columns)
    return settled(network.roads, middle_of(layer))


def _split_anew(
    rows: geopandas.GeoDataFrame, bridge: np.ndarray, verdicts: Verdicts, new: Lines, reporter: Reporter
) -> tuple[geopandas.GeoDataFrame, np.ndarray, Lines]:
    """Return the rows that stay, which of them are bridges, and the lines extracted anew off judged ground."""
    is_judged, shapes = (rows[STATUS] != MACHINE).to_numpy(), rows.geometry.to_numpy()
    outside, owner = outside_box(shapes[~is_judged], new.shapes)
    rest = np.flatnonzero(~is_judged)[owner]
    gone_m = shapely.length(shapes[~is_judged]).sum() - shapely.length(outside).sum()
    rejected = verdicts.shapes[verdicts.verdict == REJECTED]
    new = new.parted(*off_judged(new.shapes, shapes[is_judged], rejected, shapes[~is_judged]))
    reporter.log(f"{gone_m:,.0f} m that nobody has judged are replaced by {new.length_m.sum():,.0f} m extracted anew.")
    stays = np.concatenate([np.flatnonzero(is_judged), rest])
    rows = rows.iloc[stays].reset_index(drop=True).set_geometry(np.concatenate([shapes[is_judged], outside]))
    return rows, bridge[stays], new


def _rows(layer: geopandas.GeoDataFrame, lines: Lines, fields: dict[str, str]) -> geopandas.GeoDataFrame:
    """Return a row with the fields of a layer for each of its lines."""
    rows = pandas.DataFrame({name: layer.iloc[lines.feature][field].array for name, field in fields.items()})
    return geopandas.GeoDataFrame(rows, geometry=lines.shapes)


def _with_roads(
    rows: geopandas.GeoDataFrame, bridge: np.ndarray, added: geopandas.GeoDataFrame
) -> tuple[geopandas.GeoDataFrame, np.ndarray]:
    """Return rows of a network, and which are bridges, (n,) bool, with further roads connected to them."""
    if added.empty:
        return rows, bridge
    before, new = connected(make_lines(rows.geometry.to_numpy(), bridge), added.geometry.to_numpy(), _JOIN_M)
    both = of_like_types(rows.set_geometry(before), added.assign(**{STATUS: MACHINE}).set_geometry(new))
    return pandas.concat(both, ignore_index=True), np.concatenate([bridge, np.zeros(len(new), dtype=bool)])


def _statuses(layer: geopandas.GeoDataFrame) -> np.ndarray:
    """Return the status of each line, MACHINE where it has none that is known: (n,) object."""
    words = layer[STATUS].map(word_in) if STATUS in layer else pandas.Series(MACHINE, index=layer.index)
    return words.where(words.isin(_STATUSES), MACHINE).to_numpy(dtype=object)


def _label_tables(
    roads: geopandas.GeoDataFrame, verdicts: Verdicts, plane: pyproj.CRS
) -> dict[str, geopandas.GeoDataFrame]:
    """Return what the reviewed network teaches, in its CRS."""
    rejected, is_judged = selected(verdicts, verdicts.verdict == REJECTED), (roads[STATUS] != MACHINE).to_numpy()
    shapes, widths_m = roads.geometry.to_crs(plane).to_numpy(), widths_m_in(roads, _WIDTH)
    kept, no_road, aoi = labels_of(rejected, shapes, widths_m, is_judged)
    columns = {_WIDTH: widths_m[kept], "sure": is_judged[kept]}
    tables = {
        "drawn": geopandas.GeoDataFrame(columns, geometry=shapes[kept], crs=plane),
        "no_road": geopandas.GeoDataFrame(geometry=no_road, crs=plane),
        "aoi": geopandas.GeoDataFrame(geometry=aoi, crs=plane),
    }
    return {name: settled(table.to_crs(roads.crs), middle_of(roads)) for name, table in tables.items()}


def _numbers(
    verdicts: Verdicts, judged: Judged, contradicted: int, roads: geopandas.GeoDataFrame, job: ApplyReview,
    reporter: Reporter,
) -> dict[str, Any]:  # fmt: skip
    """Return the numbers of the result, and tell what was not applied."""
    if contradicted:
        reporter.warning(f"{contradicted:,} places have contradicting answers. They count as undecided.")
    if judged.not_found:
        reporter.warning(
            f"{judged.not_found:,} judged places lie on no line of the {_PURPOSE} ({job.lines}), or on one that a "
            "person has drawn: lines were moved, deleted or redrawn. These answers change nothing in the network."
        )
    numbers = {word: int((verdicts.verdict == word).sum()) for word in (ACCEPTED, REJECTED)}
    numbers |= {"contradicted": contradicted, "not_found": judged.not_found}
    lengths = roads.groupby(STATUS)["length_m"].sum()
    return {**numbers, **{f"{status}_m": float(lengths.get(status, 0.0)) for status in _STATUSES}}
