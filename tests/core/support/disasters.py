"""Road networks before and after a disaster, as files; and the jobs that compare and score them, with all outputs."""

from __future__ import annotations

from shapely import LineString, Point

from tests.core.support.rasters import write_layer
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options
from training_core.pipelines import comparenetworks, scorenetwork

X, Y = 390000, 5820000
GRID = [[(0, 70 * i), (210, 70 * i)] for i in range(4)] + [[(70 * i, 0), (70 * i, 210)] for i in range(4)]
# A road over a bridge, from a depot in the west to a village in the east.
WEST, BRIDGE, EAST = [(0, 0), (100, 0)], [(100, 0), (140, 0)], [(140, 0), (300, 0)]
ALL_OUTPUTS = {"changes": "changes.gpkg", "reached": "reached.gpkg", "report": "report.html", "numbers": "numbers.json"}


def line(*points):
    """A line in meters from a corner of the map."""
    return LineString([(X + x, Y + y, *z) for x, y, *z in points])


def run(tmp_path, before, after, reporter=None, **options):
    """Compare two files, all outputs asked for."""
    wanted = {
        name: str(tmp_path / file) for name, file in ALL_OUTPUTS.items() if "places" in options or name != "reached"
    }
    job = from_options(JOBS["comparenetworks"], {"before": before, "after": after, **wanted, **options})
    return comparenetworks.run(job, reporter or Reporter())


def score(tmp_path, truth, proposal, reporter=None, **options):
    """Score one file against another, all outputs asked for."""
    outputs = {"errors": "errors.gpkg", "report": "report.html", "scores": "scores.json"}
    wanted = {name: str(tmp_path / file) for name, file in outputs.items()}
    job = from_options(JOBS["scorenetwork"], {"truth": truth, "proposal": proposal, **wanted, **options})
    return scorenetwork.run(job, reporter or Reporter())


def write_points(folder, name, **named):
    """Write points, by their names, in meters from a corner of the map."""
    places = [Point(X + x, Y + y) for x, y in named.values()]
    return write_layer(folder / f"{name}.gpkg", *places, name=list(named))


def write_grid(folder):
    return write_layer(folder / "grid.gpkg", *(line(*way) for way in GRID), speed=[30] * len(GRID))


def write_river(folder):
    """The road over the bridge before and after it has gone, a village on either side, and a depot."""
    return {
        "before": write_layer(folder / "before.gpkg", *(line(*way) for way in (WEST, BRIDGE, EAST))),
        "after": write_layer(folder / "after.gpkg", line(*WEST), line(*EAST)),
        "places": write_points(folder, "places", near=(50, 0), far=(300, 0)),
        "places_name_field": "name",
        "origins": write_points(folder, "origins", depot=(0, 0)),
        "origins_name_field": "name",
    }
