"""The job applyreview: a network with the answers of its review, and what a model can learn from them.

Scope: layers and their fields. Geometry is in `reviewed_network`.
"""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pandas
import pyproj

from ..comparison.change_results import known_only, of_like_types, verdicts_in
from ..comparison.reviewed_network import Judged, Labels, Verdicts, agreed, judge, labels_of, with_missing
from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import widths_m_in
from ..geodata.parallel_arrays import concatenated, selected
from ..geodata.vector_output import check_vector_output
from ..geodata.vectors import carried_fields, require_features, with_names
from ..jobs import ApplyReview
from ..jobs.fields import word_in
from ..jobs.review import ACCEPTED, CHANGE, DOUBTFUL, DRAWN, MACHINE, MISSING, REJECTED, REVIEW, REVIEWED, STATUS
from ..networks.lines import LineFields, Lines, lines_in, read_line_layer, shared_plane
from ..networks.network_tables import to_tables, write_tables
from ..networks.noding import node_lines
from ..system.outputs import Outputs

_PURPOSE, _REVIEW = "road network", "reviewed places"
_OUTPUTS = {"roads": "LineString", "drawn": "LineString", "no_road": "Polygon", "aoi": "Polygon"}
_STATUSES = (MACHINE, REVIEWED, DRAWN)
_WIDTH = "width_m"
# The network is noded already, so noding must not move anything but what is new.
_JOIN_M = 0.01


def run(job: ApplyReview, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.ApplyReview`."""
    files = [path for name in _OUTPUTS if (path := getattr(job, name))]
    for path in files:
        check_vector_output(path, files.count(path))
    with Outputs([job.lines, job.review, job.other_review]) as outputs:
        paths, staged = outputs.stage_fields(job, *_OUTPUTS)
        reporter.progress(0, "Reading")
        layer = read_line_layer(job.lines, _PURPOSE, LineFields(), reporter)
        require_features(layer, job.lines, _PURPOSE)
        layer = with_names(layer, (STATUS, _WIDTH, "bridge"), job.lines, _PURPOSE)
        plane = shared_plane(layer, of=job.lines)
        given = [_verdicts(path, plane, reporter) for path in (job.review, job.other_review) if path]
        verdicts, contradicted = agreed(concatenated(*given))
        reporter.check_cancelled()
        reporter.progress(0.3, "Applying verdicts")
        lines = lines_in(plane, layer, LineFields(bridge="bridge"))
        judged = judge(lines, verdicts, _statuses(layer)[lines.feature] == DRAWN)
        roads = _network(layer, lines, judged, verdicts, plane, reporter)
        reporter.progress(0.9, "Writing")
        tables = {"roads": roads}
        if len(staged) > 1:
            shapes = roads.geometry.to_crs(plane).to_numpy()
            labels = labels_of(verdicts, shapes, widths_m_in(roads, _WIDTH))
            tables |= _label_tables(labels, plane, layer)
        write_tables({name: table for name, table in tables.items() if name in staged}, staged, _OUTPUTS)
    return {**paths, **_numbers(verdicts, judged, contradicted, roads, job, reporter)}


def _verdicts(path: str, plane: pyproj.CRS, reporter: Reporter) -> Verdicts:
    """Return the verdicts in a review layer; raise LayerError if it has other words, or none."""
    layer = read_line_layer(path, _REVIEW, LineFields(), reporter)
    require_features(layer, path, _REVIEW)
    layer = known_only(layer, CHANGE, (DOUBTFUL, MISSING), _REVIEW, path, reporter)
    words = verdicts_in(layer, _REVIEW, path)
    layer = layer.assign(**{REVIEW: words})[words != ""].reset_index(drop=True)
    if layer.empty:
        raise LayerError(
            f"No place in the {_REVIEW} ({path}) is {ACCEPTED} or {REJECTED}.", "Review some in the Review panel first."
        )
    lines = lines_in(plane, layer, LineFields())
    rows = layer.iloc[lines.feature]
    return Verdicts(lines.shapes, rows[CHANGE].to_numpy(), rows[REVIEW].to_numpy(), widths_m_in(rows, _WIDTH))


def _network(
    layer: geopandas.GeoDataFrame, lines: Lines, judged: Judged, verdicts: Verdicts, plane: pyproj.CRS,
    reporter: Reporter,
) -> geopandas.GeoDataFrame:  # fmt: skip
    """Return the reviewed network in the layer's CRS, with the fields of its lines."""
    found = selected(verdicts, (verdicts.kind == MISSING) & (verdicts.verdict == ACCEPTED))
    kept = lines.parted(judged.shapes, judged.line)
    status = _statuses(layer)[kept.feature]
    status[judged.is_accepted] = REVIEWED
    before, new = with_missing(kept, found.shapes, _JOIN_M)
    # A row for each part of a line, then for each new road.
    made = ("length_m", "component", STATUS)
    fields = carried_fields(layer, made, reporter)
    rows = pandas.DataFrame({name: layer.iloc[kept.feature][field].array for name, field in fields.items()})
    added = pandas.DataFrame({_WIDTH: found.width_m}) if _WIDTH in rows else pandas.DataFrame(index=range(len(new)))
    rows = geopandas.GeoDataFrame(rows.assign(**{STATUS: status}), geometry=before)
    added = geopandas.GeoDataFrame(added.assign(**{STATUS: REVIEWED}), geometry=new)
    rows = pandas.concat(of_like_types(rows, added), ignore_index=True) if len(new) else rows
    bridge = np.concatenate([kept.bridge, np.zeros(len(new), dtype=bool)])
    whole = Lines(
        rows.geometry.to_numpy(),
        np.arange(len(rows)),
        bridge,
        np.full(len(rows), np.nan),
        np.zeros(len(rows), dtype=np.int64),
    )
    graph, _ = node_lines(whole, _JOIN_M, _PURPOSE)
    to_map = pyproj.Transformer.from_crs(plane, layer.crs, always_xy=True)
    columns = {name: rows[name].iloc[graph.origin].array for name in (STATUS, *fields)}
    network = to_tables(graph, lambda points: np.column_stack(to_map.transform(*points.T)), layer.crs, columns)
    return settled(network.roads, middle_of(layer))


def _statuses(layer: geopandas.GeoDataFrame) -> np.ndarray:
    """Return the status of each line, MACHINE where it has none that is known: (n,) object."""
    words = layer[STATUS].map(word_in) if STATUS in layer else pandas.Series(MACHINE, index=layer.index)
    return words.where(words.isin(_STATUSES), MACHINE).to_numpy(dtype=object)


def _label_tables(
    labels: Labels, plane: pyproj.CRS, layer: geopandas.GeoDataFrame
) -> dict[str, geopandas.GeoDataFrame]:
    columns = {_WIDTH: labels.width_m, "sure": labels.is_sure}
    tables = {
        "drawn": geopandas.GeoDataFrame(columns, geometry=labels.roads, crs=plane),
        "no_road": geopandas.GeoDataFrame(geometry=labels.no_road, crs=plane),
        "aoi": geopandas.GeoDataFrame(geometry=labels.aoi, crs=plane),
    }
    return {name: settled(table.to_crs(layer.crs), middle_of(layer)) for name, table in tables.items()}


def _numbers(
    verdicts: Verdicts, judged: Judged, contradicted: int, roads: geopandas.GeoDataFrame, job: ApplyReview,
    reporter: Reporter,
) -> dict[str, Any]:  # fmt: skip
    """Return the numbers of the result, and tell what was not applied."""
    if contradicted:
        reporter.warning(f"{contradicted:,} places have contradicting answers. They count as undecided.")
    if judged.not_found:
        reporter.warning(
            f"{judged.not_found:,} judged places lie on no line of the {_PURPOSE} ({job.lines}): the lines were moved "
            "or deleted. These answers change nothing in the network."
        )
    numbers = {word: int((verdicts.verdict == word).sum()) for word in (ACCEPTED, REJECTED)}
    numbers |= {"contradicted": contradicted, "not_found": judged.not_found}
    lengths = roads.groupby(STATUS)["length_m"].sum()
    return {**numbers, **{f"{status}_m": float(lengths.get(status, 0.0)) for status in _STATUSES}}
