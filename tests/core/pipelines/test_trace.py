"""The job trace: commands in, paths and lines out, on rasters with known roads; and what is refused."""

import json
import subprocess
import sys

import geopandas
import numpy as np
import pytest
import rasterio
import shapely
from affine import Affine

from tests.core.support.rasters import NORTH_UP, write_raster
from training_core.errors import ImageryError
from training_core.events import Reporter
from training_core.geodata.pixel_codes import NO_DATA
from training_core.jobs import Trace, Vectorize
from training_core.pipelines import trace, vectorize

X, Y = NORTH_UP.c, NORTH_UP.f


class Lines:
    """Lines that all wait from the start."""

    def __init__(self, commands):
        self._lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in commands]
        self.is_over = False

    def get(self, timeout_s):
        self.is_over = not self._lines
        return self._lines.pop(0) if self._lines else None


def begin(x, y, sequence=0):
    return {"command": "begin", "sequence": sequence, "x": x, "y": y}


def to(sequence, x, y):
    return {**begin(x, y, sequence), "command": "to"}


def told(raster, *commands):
    sent = []
    # Input has ended, which cancels, before the first command is read.
    result = trace.run(Trace(raster=raster), Reporter(sent.append, lambda: True, Lines(commands)))
    assert result == {"traced": len([each for each in sent if each.kind == "traced"])}
    return sent


def write_probability(path, road, transform=NORTH_UP, crs="EPSG:32633"):
    """Write a probability as Segment roads does: 0.1, and 0.9 where a (height, width) bool has road."""
    raster = write_raster(path, np.where(road, 229, 25).astype(np.uint8), crs, transform, nodata=NO_DATA)
    with rasterio.open(raster, "r+") as dataset:
        dataset.scales, dataset.descriptions = (1 / 254,), ("road probability",)
    return raster


def corner(height=120, width=160):
    """A road of 5 px that runs east in the row 20, and south in the column 138."""
    road = np.zeros((height, width), bool)
    road[18:23, 10:141] = road[18:111, 136:141] = True
    return road


def lines(sequence, *extent, threshold=0.5, areas=()):
    """Ask for the lines between columns and rows; areas are bounds of columns and rows with thresholds."""
    areas = [{"geometry": placed(*bounds).wkt, "threshold": value} for *bounds, value in areas]
    bounds = placed(*(extent or (0, 0, 160, 120))).bounds
    return {"command": "lines", "sequence": sequence, "extent": bounds, "threshold": threshold, "areas": areas}


def placed(left, top, right, bottom):
    return shapely.box(X + left, Y - bottom, X + right, Y - top)


@pytest.fixture(scope="module")
def raster(tmp_path_factory):
    return write_probability(tmp_path_factory.mktemp("trace") / "p.tif", corner())


def test_a_path_follows_the_road_between_exactly_the_places_of_the_commands(raster):
    start, end = (X + 12.34, Y - 21.5), (X + 138.9, Y - 100.25)
    (answer,) = told(raster, begin(*start), to(7, *end))
    assert answer.sequence == 7 and answer.probability == pytest.approx(0.9, abs=0.02)
    assert answer.width_m == pytest.approx(5, abs=0.5)
    line = shapely.from_wkt(answer.geometry)
    assert line.coords[0] == start and line.coords[-1] == end
    road = shapely.LineString([start, (X + 138.5, Y - 20.5), end])
    assert shapely.hausdorff_distance(line, road) < 4


def test_of_places_that_wait_only_the_last_before_the_next_click_is_answered(raster):
    places = [(X + 30 + 10 * number, Y - 20) for number in range(6)]
    moves = [to(number, *place) for number, place in enumerate(places)]
    sent = told(raster, begin(X + 12, Y - 20), *moves[:3], begin(*places[2]), *moves[3:], {"command": "stop"}, moves[0])
    assert [each.sequence for each in sent] == [2, 5]
    assert shapely.from_wkt(sent[1].geometry).coords[0] == places[2]


@pytest.mark.parametrize("places", [((-50, 5), (30, -20)), ((30, -20), (5000, -20)), ((1e9, 1e9), (-1e9, 3))])
def test_beyond_the_raster_the_line_is_straight_and_nothing_is_known_of_it(raster, places):
    start, end = ((X + x, Y + y) for x, y in places)
    (answer,) = told(raster, begin(*start), to(1, *end))
    assert shapely.from_wkt(answer.geometry).equals(shapely.LineString([start, end]))
    assert (answer.probability, answer.width_m) == (None, None)


def test_before_the_first_click_there_is_no_path(raster):
    assert told(raster, to(1, X + 30, Y - 20)) == []


def test_what_is_no_command_is_skipped_with_a_warning(raster):
    lines = b"begin", {"command": "learn"}, {"command": "to", "sequence": 1, "x": "a", "y": 0}, to(3, float("nan"), 0)
    sent = told(raster, *lines, begin(X + 12, Y - 20), to(4, X + 60, Y - 20))
    assert [each.kind for each in sent] == ["warning"] * 4 + ["traced"]


def test_fine_pixels_and_degrees_with_pixels_that_are_not_square_lead_to_the_same_path(raster, tmp_path):
    # At 60 degrees north a degree of longitude is half as long as one of latitude. Pixels of 0.25 m.
    transform = Affine(0.25 / 55660, 0, 15, 0, -0.25 / 111412, 60)
    fine = write_probability(tmp_path / "fine.tif", corner().repeat(4, 0).repeat(4, 1), transform, "EPSG:4326")
    start, end = (transform @ (4 * column, 4 * row) for column, row in ((12, 20.5), (138.5, 100)))
    (answer,) = told(fine, begin(*start), to(1, *end))
    points = shapely.get_coordinates(shapely.from_wkt(answer.geometry))
    columns, rows = ~transform @ tuple(points.T)
    found = shapely.LineString(np.column_stack([X + columns / 4, Y - rows / 4]))
    (other,) = told(raster, begin(X + 12, Y - 20.5), to(1, X + 138.5, Y - 100))
    assert shapely.hausdorff_distance(found, shapely.from_wkt(other.geometry)) < 2
    assert answer.width_m == pytest.approx(5, abs=0.5)


def test_a_probability_of_fractions_is_traced_and_its_missing_values_are_avoided(tmp_path):
    probability = np.where(corner(), 0.9, 0.1).astype(np.float32)
    probability[:, 70:75] = np.nan
    probability[60:64] = 0.3  # the only way around
    raster = write_raster(tmp_path / "f.tif", probability)
    (answer,) = told(raster, begin(X + 20, Y - 20), to(1, X + 120, Y - 20))
    assert shapely.from_wkt(answer.geometry).bounds[1] < Y - 55


def test_the_lines_of_a_view_are_those_of_the_whole_and_end_at_its_border(raster, tmp_path):
    vectorize.run(Vectorize(raster=raster, roads=str(tmp_path / "r.gpkg")), Reporter())
    whole = shapely.union_all(geopandas.read_file(tmp_path / "r.gpkg").geometry.to_numpy())
    all_of_it, part = (shapely.from_wkt(told(raster, lines(1, *view))[0].geometry) for view in ((), (60, 0, 150, 70)))
    assert shapely.hausdorff_distance(all_of_it, whole) < 0.01
    assert shapely.hausdorff_distance(part, shapely.intersection(whole, placed(60, 0, 150, 70))) < 0.01


def test_of_views_that_wait_only_the_last_is_answered_and_paths_go_on(raster):
    sent = told(raster, begin(X + 12, Y - 20), *(lines(number) for number in range(5)), to(7, X + 60, Y - 20))
    assert [(each.kind, each.sequence) for each in sent] == [("lines", 4), ("traced", 7)]


def test_a_view_at_a_threshold_of_an_area_shows_its_lines(tmp_path):
    raster = write_probability(tmp_path / "p.tif", corner(400, 400))
    (whole, none, west, east) = (
        shapely.from_wkt(told(raster, lines(1, 0, 0, 400, 400, **options))[0].geometry)
        for options in (
            {},
            {"threshold": 0.95},
            {"areas": [(110, 0, 400, 400, 0.95)]},
            {"threshold": 0.95, "areas": [(110, 0, 400, 400, 0.5)]},
        )
    )
    assert none.is_empty and whole.length > 200
    assert west.bounds[2] < X + 110 < east.bounds[2] and west.length > 50 and east.length > 100


def test_a_view_beyond_the_raster_is_empty_and_one_of_a_country_is_too_wide(tmp_path):
    raster = write_probability(tmp_path / "p.tif", np.zeros((4000, 4000), bool))
    reversed_view = {**lines(1), "extent": [X + 90, Y, X, Y - 90]}
    for command in (lines(1, -90, -90, -50, -50), reversed_view):
        assert told(raster, command)[0].geometry == "MULTILINESTRING EMPTY"
    assert told(raster, lines(3, 0, 0, 4000, 4000))[0].geometry is None


BAD_AREAS = [
    {"geometry": "POLYGON", "threshold": 0.3},
    {"geometry": "LINESTRING (0 0, 1 1)", "threshold": 0.3},
    {"geometry": "POLYGON ((0 0, nan 1, 1 1, 0 0))", "threshold": 0.3},
    {"geometry": "POLYGON ((0 0, 0 1, 1 1, 0 0))", "threshold": 1.3},
]


@pytest.mark.parametrize("area", BAD_AREAS)
def test_areas_that_are_none_are_skipped_with_a_warning_and_the_session_goes_on(raster, area):
    sent = told(raster, {**lines(1), "areas": [area]}, lines(2))
    assert [each.kind for each in sent] == ["warning", "lines"]


def image():
    return np.random.default_rng(0).integers(0, 255, (3, 40, 40)).astype(np.uint8)


@pytest.mark.parametrize(
    ("values", "profile", "reason"),
    [
        (image(), {}, "a raster of several bands"),
        (image()[0], {}, "a mask or an image"),
        (corner().astype(np.uint8), {}, "a mask or an image"),
        (np.where(corner(), 0.9, 0.1).astype(np.float32), {"crs": None, "transform": NORTH_UP}, "no coordinate"),
    ],
)
def test_what_is_no_probability_or_lies_nowhere_is_refused(tmp_path, values, profile, reason):
    raster = write_raster(tmp_path / "a.tif", values, **profile)
    with pytest.raises(ImageryError, match=reason):
        told(raster, begin(X, Y))


def test_numbers_that_are_no_probabilities_are_refused_where_they_are_met(tmp_path):
    raster = write_raster(tmp_path / "height.tif", np.linspace(100.5, 300, 1600, dtype=np.float32).reshape(40, 40))
    with pytest.raises(ImageryError, match="not probabilities"):
        told(raster, begin(X + 3, Y - 3), to(1, X + 9, Y - 9))


def test_a_raster_that_is_gone_is_refused(tmp_path):
    with pytest.raises(ImageryError, match="cannot be read"):
        told(str(tmp_path / "gone.tif"))


def test_the_module_is_loaded_without_the_library_of_models():
    code = "import sys, training_core.pipelines.trace; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
