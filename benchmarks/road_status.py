"""State of known roads after the events of `road_events.py`: what `roadstatus` finds, beside extraction and comparison.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/road_status.py FOLDER`, with `--grounds NAME ...`
for a part: the tables are of all grounds that were measured in the folder. Needs shared/data beside the project. Lines
are displaced by up to 10 m, in directions that turn over the area. Clouds and their shadows are given, but for one way;
for another one, water is given as well. The comparison is that of `comparenetworks`.

road_status.csv
    found: events of which half is said to be lost or, where water is given, under water; as the state says, and at 90 %
    precision by meters. false_m, of nothing: meters said to be so that are there, with events and without; per 100 km:
    stretches of more than 50 m of that where nothing is planted. auc: of the probability of being lost, by meters
road_status_events.csv
    events and how many of them are found, by kind and ground
road_status_states.csv
    meters of each kind of place, and fractions in each state, by road class and ground; right is the state that fits
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import geopandas
import numpy as np
import pandas
import rasterio
import shapely
from scipy.stats import rankdata

from benchmarks.connecting_rasters import STARTER
from benchmarks.road_events import GROUNDS, KINDS, SKY, WATER, Ground, planted_events
from training_core.comparison.alignment import field_in_view
from training_core.comparison.changes import shapes_of
from training_core.comparison.covered_roads import without_covered
from training_core.comparison.road_state import View, aligned, groups_of, look, places_on, stretches_of
from training_core.events import Reporter
from training_core.geodata.grid import grid_of
from training_core.jobs import CompareNetworks, Segment, Vectorize
from training_core.jobs.status import CLOSED, HIDDEN, NOT_SEEN, SEEN, UNDER_WATER
from training_core.networks.displacement import Field
from training_core.networks.lines import LineFields, lines_in
from training_core.networks.road_graph import as_drawn
from training_core.pipelines import comparenetworks, segment, vectorize

# What is seen in an image, and the field that moves lines there.
Aligned = tuple[View, Optional[Field]]
NOTHING = "nothing"
OFFSETS_M, REACH_M, MIN_STRETCH_M = (0.0, 2.5, 5.0, 10.0), 3.0, 30.0
WAYS = ("state", "with before", "water given", "no clouds given", "comparison")
SAMPLE_M, LONG_M = 2.0, 50.0
RIGHT = {**dict.fromkeys(KINDS, (NOT_SEEN,)), WATER: (NOT_SEEN, UNDER_WATER), **dict.fromkeys(SKY, (HIDDEN,))}
BINS = (0.0, 0.05, 0.2, 0.5, 0.7, 0.9, 1.01)


def displaced(layer: geopandas.GeoDataFrame, by_m: float) -> geopandas.GeoDataFrame:
    """Return lines moved by meters in directions that turn over some hundreds of meters."""

    def moved(points: np.ndarray) -> np.ndarray:
        angle = 1.0 + points[:, 0] / 180 + np.sin(points[:, 1] / 230)
        return points + by_m * np.column_stack([np.cos(angle), np.sin(angle)])

    return layer.set_geometry(shapely.transform(shapely.segmentize(layer.geometry.to_numpy(), 10.0), moved))


def sampled(lines: geopandas.GeoDataFrame, areas: geopandas.GeoDataFrame) -> pandas.DataFrame:
    """Return samples along stretches: their columns lost (a probability), said, state and road_class.

    And the number of the stretch, that of the event, or -1, and the kind of place: that of the event, cloud, shadow or
    nothing.
    """
    places = [np.arange(SAMPLE_M / 2, max(line.length, SAMPLE_M), SAMPLE_M) for line in lines.geometry]
    row = np.repeat(np.arange(len(lines)), [len(each) for each in places])
    points = shapely.line_interpolate_point(lines.geometry.to_numpy()[row], np.concatenate(places))
    event, kind = np.full(len(points), -1), np.full(len(points), NOTHING, dtype=object)
    for number, area in enumerate(areas.itertuples()):
        is_in = shapely.contains(area.geometry, points)
        kind[is_in] = area.kind
        event[is_in] = -1 if area.kind in SKY else number
    columns = lines[["lost", "said", "state", "road_class"]].iloc[row].reset_index(drop=True)
    return columns.assign(stretch=row, event=event, kind=kind)


def probability_of(image: Path) -> Path:
    """Return the probability raster of an image, written beside it with its threshold."""
    path = image.with_name(f"{image.stem}_probability.tif")
    told = path.with_suffix(".json")
    if not told.exists():
        asked = {"raster": str(image), "probability": str(path), "model": STARTER, "grid": "model", "threads": 1}
        told.write_text(json.dumps(segment.run(Segment(**asked), Reporter())["threshold"]))
    return path


def view_of(image: Path) -> View:
    """Return what the starter sees in an image."""
    path = probability_of(image)
    with rasterio.open(path) as dataset:
        return View(dataset.read(1), grid_of(dataset), json.loads(path.with_suffix(".json").read_text()))


def field_of(view: View, lines: geopandas.GeoDataFrame) -> Field:
    """Return the field from lines to the roads that a view shows."""
    field = field_in_view(view, as_drawn(lines_in(lines.crs, lines, LineFields())), lines.crs)
    assert field is not None
    return field


def by_state(
    lines: geopandas.GeoDataFrame, after: Aligned, before: Optional[Aligned] = None,
    clouds: Optional[geopandas.GeoSeries] = None, water: Optional[geopandas.GeoSeries] = None,
) -> geopandas.GeoDataFrame:  # fmt: skip
    """Return the stretches of `roadstatus` with areas that are given, by what is seen after and before."""
    roads = as_drawn(lines_in(lines.crs, lines, LineFields()))
    places = places_on(roads)
    look_after, look_before = (
        pair and look(pair[0], roads, places, lines.crs, REACH_M, pair[1]) for pair in (after, before)
    )
    there = aligned(roads.points_at(places), after[1])
    given = {
        name: [shapely.contains_xy(areas.union_all(), there)]
        for name, areas in (("clouds", clouds), ("water", water))
        if areas is not None
    }
    looks = without_covered([look_after], look_before, np.zeros(len(places), dtype=bool), **given)
    classes, width_m = lines["road_class"].to_numpy(object), lines["width_m"].to_numpy(float)
    groups = groups_of(classes, width_m)
    found = stretches_of(roads, places, looks, look_before, groups, None, shapely.Polygon(), MIN_STRETCH_M)
    said = np.isin(found.state.astype(str), CLOSED)
    columns = {
        "lost": np.where(np.isnan(found.lost_probability), said, found.lost_probability),
        "said": said,
        "state": found.state,
        "road_class": classes[roads.lines.feature[found.intervals.edge]],
    }
    return geopandas.GeoDataFrame(columns, geometry=shapes_of(roads, found.intervals), crs=lines.crs)


def by_comparison(lines: geopandas.GeoDataFrame, image: Path, name: str) -> geopandas.GeoDataFrame:
    """Return the stretches of `comparenetworks` with the lines before and what is extracted after."""
    roads, known, out = (image.with_name(f"{image.stem}_{each}.gpkg") for each in ("roads", name, f"{name}_changes"))
    if not roads.exists():
        path = probability_of(image)
        threshold = json.loads(path.with_suffix(".json").read_text())
        vectorize.run(Vectorize(raster=str(path), threshold=threshold, roads=str(roads)), Reporter())
    if not out.exists():
        lines[["road_class", lines.geometry.name]].to_file(known)
        comparenetworks.run(CompareNetworks(before=str(known), after=str(roads), changes=str(out)), Reporter())
    changes = geopandas.read_file(out).to_crs(lines.crs)
    changes = changes[changes["change"] != "new"].reset_index(drop=True)
    lost = changes["change"] == "lost"
    state = np.where(lost, NOT_SEEN, SEEN)
    return changes.assign(lost=lost.astype(float), said=lost, state=state)


def with_fields(roads: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return roads with a class and a width, which are unknown where the layer has none."""
    unknown = {"road_class": "", "width_m": np.nan}
    return roads.assign(**{name: value for name, value in unknown.items() if name not in roads})


def samples_of(ground: Ground, images: list[Path], areas: list[geopandas.GeoDataFrame]) -> Iterator[pandas.DataFrame]:
    """Yield samples on each image of a ground by each way, with lines displaced by meters."""
    roads, views = with_fields(ground.roads), [view_of(image) for image in (ground.raster, *images)]
    for by_m in OFFSETS_M:
        lines = displaced(roads, by_m)
        before, *all_after = ((view, field_of(view, lines)) for view in views)
        for number, (image, after, covered) in enumerate(zip(images, all_after, areas)):
            clouds, water = (covered.geometry[covered["kind"].isin(kinds)] for kinds in (SKY, (WATER,)))
            tables = (
                by_state(lines, after, None, clouds),
                by_state(lines, after, before, clouds),
                by_state(lines, after, None, clouds, water),
                by_state(lines, after),
                by_comparison(lines, image, f"{by_m:g}"),
            )
            for way, table in zip(WAYS, tables):
                run = {"ground": ground.name, "moved_m": by_m, "way": way, "image": number}
                yield sampled(table, displaced(covered, by_m)).assign(**run)


def found(samples: pandas.DataFrame, said: pandas.Series) -> pandas.Series:
    """Return whether half of each event is said to be lost."""
    is_event = samples["event"] >= 0
    run = [samples[name][is_event] for name in ("ground", "kind", "moved_m", "image", "event")]
    return said[is_event].groupby(run).mean() >= 0.5


def found_at(samples: pandas.DataFrame, precision: float) -> int:
    """Count the events found at the lowest threshold with a precision."""
    order = np.argsort(-samples["lost"].to_numpy(), kind="stable")
    precise = np.cumsum(samples["event"].to_numpy()[order] >= 0) / np.arange(1, len(order) + 1)
    good = np.flatnonzero(precise >= precision)
    return int(found(samples, samples["lost"] >= samples["lost"].iloc[order[good[-1]]]).sum()) if len(good) else 0


def auc(samples: pandas.DataFrame) -> float:
    """Return the area under the ROC curve."""
    is_lost = (samples["event"] >= 0).to_numpy()
    count = int(is_lost.sum())
    ranks = rankdata(samples["lost"])[is_lost].sum() - count * (count + 1) / 2
    return ranks / max(1, count * (len(is_lost) - count))


def scores(samples: pandas.DataFrame) -> dict[str, float]:
    """Return a row of the table of scores."""
    planted, empty = (samples[is_in] for is_in in (samples["image"] > 0, samples["image"] == 0))
    false = samples["said"] & (samples["event"] < 0)
    stretches = false[samples["image"] == 0].groupby([empty["ground"], empty["moved_m"], empty["stretch"]]).sum()
    of_events = found(planted, planted["said"])
    return {
        "meters": int(SAMPLE_M * len(planted)),
        "events": len(of_events),
        "found": int(of_events.sum()),
        "found_at_90_percent": found_at(planted, 0.9),
        "false_m": int(SAMPLE_M * false[samples["image"] > 0].sum()),
        "false_m_of_nothing": int(SAMPLE_M * false[samples["image"] == 0].sum()),
        "false_per_100_km": round((SAMPLE_M * stretches > LONG_M).sum() / (SAMPLE_M * len(empty)) * 1e5, 1),
        "auc": round(auc(planted), 3),
    }


def table_of(samples: pandas.DataFrame) -> pandas.DataFrame:
    """Return the scores by ground, displacement and way, and those of all."""
    names = ["ground", "moved_m", "way"]
    rows = [dict(zip(names, run)) | scores(each) for run, each in samples.groupby(names, sort=False)]
    rows += [{"ground": "all", "way": way} | scores(each) for way, each in samples.groupby("way", sort=False)]
    return pandas.DataFrame(rows)


def events_of(samples: pandas.DataFrame) -> pandas.DataFrame:
    """Return the number of events, and how many are found, by way, kind and ground."""
    planted = samples[samples["image"] > 0]
    of_events = pandas.concat({way: found(each, each["said"]) for way, each in planted.groupby("way", sort=False)})
    of_events = of_events.rename_axis(["way", *of_events.index.names[1:]])
    by_ground = of_events.groupby(["way", "kind", "ground"]).agg(events="size", found="sum").reset_index()
    of_all = by_ground.groupby(["way", "kind"])[["events", "found"]].sum().reset_index().assign(ground="all")
    return pandas.concat([of_all, by_ground])


def states_of(samples: pandas.DataFrame) -> pandas.DataFrame:
    """Return fractions of states by way and kind of place: of all, and of each road class and ground."""
    samples = samples.assign(all="all", right=[
        state in RIGHT.get(kind, (SEEN,)) for state, kind in zip(samples["state"], samples["kind"])
    ])  # fmt: skip
    tables = []
    for by in ("all", "road_class", "ground"):
        names = [samples[each].rename("of" if each == by else each) for each in ("way", by, "kind")]
        shares = pandas.crosstab(names, samples["state"], normalize="index").round(3)
        grouped = samples["right"].groupby(names)
        told = pandas.DataFrame({"meters": (grouped.size() * SAMPLE_M).astype(int), "right": grouped.mean().round(3)})
        tables.append(told.join(shares).reset_index().assign(by=by))
    return pandas.concat(tables).set_index(["way", "by", "of", "kind"]).reset_index()


def show_calibration(samples: pandas.DataFrame) -> None:
    """Print the calibration: the mean probability of being lost, and the fraction that is lost, by bins."""
    bins = pandas.cut(samples["lost"], BINS, right=False)
    for _, here in samples.groupby(bins, observed=True):
        said, lost = here["lost"].mean(), (here["event"] >= 0).mean()
        print(f"    said {said:.2f}, lost {lost:.2f} of {len(here) * SAMPLE_M:,.0f} m")


def main() -> None:
    """Plant and measure, and write the tables of all grounds that were measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--grounds", nargs="+", choices=GROUNDS, default=GROUNDS)
    arguments = parser.parse_args()
    paths = {name: arguments.folder / f"{name}_samples.csv.gz" for name in GROUNDS}
    missing = [name for name in arguments.grounds if not paths[name].exists()]
    for ground, images, areas in planted_events(arguments.folder, missing):
        samples = pandas.concat(samples_of(ground, images, areas))
        samples.to_csv(paths[ground.name], index=False)
        print(table_of(samples).to_string(index=False), flush=True)
    measured = [path for path in paths.values() if path.exists()]
    samples = pandas.concat(pandas.read_csv(path, keep_default_na=False) for path in measured)
    for name, table in (("", table_of(samples)), ("_events", events_of(samples)), ("_states", states_of(samples))):
        table.to_csv(arguments.folder / f"road_status{name}.csv", index=False)
    print(table_of(samples).tail(len(WAYS)).to_string(index=False))
    for way, each in samples[samples["image"] > 0].groupby("way", sort=False):
        print(way)
        show_calibration(each)


if __name__ == "__main__":
    main()
