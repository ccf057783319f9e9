import math
from dataclasses import replace

import geopandas
import numpy as np
import pytest
import rasterio
import shapely
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod
from rasterio.crs import CRS
from shapely.geometry import box

from tests.core.support.rasters import NORTH_UP, UTM, files, write_layer, write_raster
from training_core.errors import ImageryError, JobError, LayerError, ResourceError
from training_core.events import Reporter, Warning
from training_core.geodata.grid import Grid
from training_core.geodata.road_raster import array_raster
from training_core.jobs import SuggestLabels
from training_core.labels.label_suggestions import MIN_KNOWN_FRACTION, measure_blocks, patches_of, suggest
from training_core.pipelines.suggestlabels import run

X, Y = NORTH_UP.c, NORTH_UP.f
# Of a probability of one half, of 0.8 and of 0.95: by hand.
BITS = {0.5: 1.0, 0.8: 0.7219281, 0.95: 0.2863970}


def suggested(probability, grid, known=None, strip_rows=0, **options):
    """Suggest on a probability in memory; return the table."""
    job = SuggestLabels(raster="p.tif", suggestions="s.gpkg", **options)
    known = np.ones(probability.shape, bool) if known is None else known
    raster = array_raster(probability.astype(np.float32), known, threshold=0.5, strip_rows=strip_rows)
    blocks = measure_blocks(raster, grid.pixel_m, job.patch_m, None, Reporter())
    return suggest(patches_of(blocks), blocks, grid, job, Reporter())


def planted(shape, places, side=50):
    """A scene in which the model is sure of everything but squares, by their first column and row."""
    probability = np.zeros(shape, np.float32)
    for (column, row), value in places.items():
        probability[row : row + side, column : column + side] = value
    return probability


def test_just_the_planted_places_are_found_the_most_uncertain_first():
    places = {(33, 41): 0.95, (480, 71): 0.5, (270, 517): 0.8}
    grid = Grid(CRS.from_string(UTM), NORTH_UP, 600, 600)
    found = suggested(planted((600, 600), places), grid)
    assert list(found["rank"]) == [1, 2, 3] and found.crs == UTM
    for row, (column, line) in zip(found.itertuples(), [(480, 71), (270, 517), (33, 41)]):
        value = places[column, line]
        assert row.geometry.contains(box(X + column, Y - line - 50, X + column + 50, Y - line))
        assert row.geometry.area == 100**2  # a quarter of which is uncertain
        assert row.uncertainty == pytest.approx(BITS[value] / 4, abs=1e-5)
        assert row.road_share == pytest.approx(value / 4, abs=1e-5)


def test_of_two_as_uncertain_places_the_one_with_road_and_ground_comes_first():
    """Both have 0.2 and 0.8 alone, which are as uncertain; one has both, and is expected to be half road."""
    grid = Grid(CRS.from_string(UTM), NORTH_UP, 400, 100)
    probability = planted((100, 400), {(0, 0): 0.2, (300, 0): 0.2}, 100)
    probability[:, 350:] = 0.8
    found = suggested(probability, grid, spread=0.0)
    assert [shape.bounds[0] - X for shape in found.geometry[:2]] == [300, 0]
    assert found["uncertainty"][0] == pytest.approx(found["uncertainty"][1]) == pytest.approx(BITS[0.8])


GRIDS = {
    "rotated": (CRS.from_string(UTM), Affine.translation(X, Y) @ Affine.rotation(33) @ Affine.scale(1, -1)),
    "south up, not square": (CRS.from_string(UTM), Affine(0.5, 0, X, 0, 1, Y)),
    "geographic": (CRS.from_epsg(4326), Affine(1e-5, 0, 10, 0, -1e-5, 60)),
    "Web Mercator": (CRS.from_epsg(3857), Affine(1, 0, 1e6, 0, -1, 8.4e6)),
    "feet": (CRS.from_epsg(2263), Affine(2, 0, 980000, 0, -2, 200000)),
}


@pytest.mark.parametrize("name", GRIDS)
def test_patches_are_squares_on_the_ground_whatever_the_grid(name):
    crs, transform = GRIDS[name]
    grid = Grid(crs, transform, 1200, 900)
    patch_m = 100 * grid.resolution_m
    found = suggested(planted((900, 1200), {(790, 490): 0.5}, 20), grid, patch_m=patch_m)
    assert len(found) == 1
    assert shapely.Point(transform @ (800, 500)).within(found.geometry[0])
    corners = shapely.get_coordinates(found.to_crs(4326).geometry[0])
    sides_m = Geod(ellps="WGS84").line_lengths(*corners.T)
    np.testing.assert_allclose(sides_m, patch_m, rtol=0.03)


@given(
    st.integers(1, 90), st.integers(1, 90), st.integers(0, 10), st.floats(5, 60), st.floats(0, 1), st.integers(1, 20)
)
@settings(max_examples=60, deadline=None)
def test_patches_lie_on_data_side_by_side_whatever_the_strips(width, height, seed, patch_m, spread, count):
    rng = np.random.default_rng(seed)
    probability, known = rng.random((height, width)), rng.random((height, width)) < 0.9
    known[: height // 2, : width // 3] = False
    grid = Grid(CRS.from_string(UTM), NORTH_UP, width, height)
    asked = {"known": known, "patch_m": patch_m, "spread": spread, "count": count}
    found = suggested(probability, grid, **asked)
    assert len(found) <= count and list(found["rank"]) == list(range(1, len(found) + 1))
    assert found["uncertainty"].between(0, 1).all() and found["road_share"].between(0, 1).all()
    for shape in found.geometry:
        left, bottom, right, top = shape.bounds
        seen = known[round(Y - top) : round(Y - bottom), round(left - X) : round(right - X)]
        assert box(X, Y - height, X + width, Y).contains(shape)
        assert seen.size == shape.area and seen.mean() >= MIN_KNOWN_FRACTION
        assert max(right - left, top - bottom) <= patch_m * 9 / 8 + 1
    assert sum(found.area) == pytest.approx(shapely.union_all(found.geometry).area)
    again = suggested(probability, grid, strip_rows=8, **asked)
    np.testing.assert_allclose(again["uncertainty"], found["uncertainty"])
    assert list(again.geometry) == list(found.geometry)


@pytest.mark.parametrize("spread", [0.25, 1.0])
@pytest.mark.parametrize("count", [2, 7, 24])
def test_where_all_is_as_uncertain_patches_spread_over_the_scene(spread, count):
    """The chosen so far, but for the last, cover all centers by discs of the least distance between any two."""
    grid = Grid(CRS.from_string(UTM), NORTH_UP, 900, 600)
    found = suggested(np.full((600, 900), 0.5), grid, count=count, spread=spread, patch_m=40)
    centers = found.centroid
    least_m = min(centers[i].distance(centers[j]) for i in range(count) for j in range(i))
    assert least_m >= math.sqrt((900 - 40) * (600 - 40) / math.pi / (count - 1)) - math.hypot(10, 10)


def job_on(tmp_path, probability, **options):
    """A job on a probability in a file, as segment writes it: bytes with a scale, and nodata."""
    stored = np.where(np.isnan(probability), 255, np.rint(np.nan_to_num(probability) * 254)).astype(np.uint8)
    raster = write_raster(tmp_path / "Wahrscheinlichkeit.tif", stored, nodata=255)
    with rasterio.open(raster, "r+") as dataset:
        dataset.scales = (1 / 254,)
    return SuggestLabels(raster=raster, suggestions=str(tmp_path / "Vorschläge.gpkg"), **options)


def test_from_file_to_file_without_missing_data_and_with_the_scenes_mean(tmp_path):
    probability = planted((300, 300), {(20, 30): 0.5, (200, 200): 0.8})
    probability[:140] = np.nan
    job = job_on(tmp_path, probability)
    result = run(job, Reporter())
    found = geopandas.read_file(job.suggestions)
    assert result["suggested"] == len(found) == 1 and found["rank"].dtype.kind == "i"
    assert found.geometry[0].contains(box(X + 200, Y - 250, X + 250, Y - 200))
    assert result["mean_uncertainty"] == pytest.approx(BITS[0.8] * 50 * 50 / (160 * 300), rel=0.01)


def test_labeled_ground_is_left_alone_and_suggestions_keep_away_from_it(tmp_path):
    probability = np.full((200, 800), 0.5)
    probability[:, 300:500] = 0.0
    area = write_layer(tmp_path / "aoi.gpkg", box(X + 10, Y - 60, X + 60, Y - 10), crs=UTM)
    job = job_on(tmp_path, probability, count=3)
    run(job, Reporter())
    assert geopandas.read_file(job.suggestions).geometry[0].bounds[0] == X  # all have the same score
    for spread in (0.0, 1.0):
        run(replace(job, labeled=area, spread=spread), Reporter())
        found = geopandas.read_file(job.suggestions)
        assert len(found) == 3 and not found.intersects(geopandas.read_file(area).geometry[0]).any()
    assert found.geometry[0].bounds[0] > X + 150  # beyond the spacing, 163 m, distance no longer counts


def test_where_the_model_is_sure_nothing_is_suggested_and_that_is_told(tmp_path):
    events = []
    job = job_on(tmp_path, np.zeros((200, 200)))
    assert run(job, Reporter(events.append))["suggested"] == 0
    assert any(isinstance(event, Warning) and "Only 0 of 10 patches" in event.message for event in events)
    assert geopandas.read_file(job.suggestions).empty


def test_what_cannot_be_is_refused_and_leaves_nothing(tmp_path):
    half, sparse = np.full((100, 100), 0.5), np.full((200, 200), np.nan)
    sparse[::40, ::40] = 0.5
    good = job_on(tmp_path, half)
    mask = write_raster(tmp_path / "mask.tif", np.eye(200, dtype=np.uint8))
    for job, error, message in (
        (replace(good, patch_m=3.0), JobError, r"Patches of 3 m \(patch_m\) are smaller than 4 pixels"),
        (replace(good, labeled="none.gpkg"), LayerError, r"labeled areas \(none.gpkg\) cannot be read"),
        (replace(good, raster=mask), ImageryError, r"mask.tif is a mask, which holds no uncertainty"),
        (job_on(tmp_path, sparse), ImageryError, "No patch of 100 m .* has data"),
    ):
        with pytest.raises(error, match=message) as refused:
            run(job, Reporter())
        assert refused.value.remedy
    assert files(tmp_path) == ["Wahrscheinlichkeit.tif", "mask.tif"]


def test_patches_without_number_are_refused_before_any_is_read():
    raster = replace(array_raster(np.zeros((8, 8)), np.ones((8, 8), bool), threshold=0.5), height=10**5, width=10**5)
    with pytest.raises(ResourceError, match="too many patches of 20 m"):
        measure_blocks(raster, (1.0, 1.0), 20.0, None, Reporter())


def test_without_spread_the_most_uncertain_corner_takes_all_and_with_it_others_get_their_share():
    probability = np.full((400, 400), 0.1)
    probability[:100, :100] = 0.5
    grid = Grid(CRS.from_string(UTM), NORTH_UP, 400, 400)
    corner = box(X, Y - 100, X + 100, Y)
    together, apart = (
        suggested(probability, grid, count=3, patch_m=50, spread=spread).within(corner).sum() for spread in (0.0, 1.0)
    )
    assert (together, apart) == (3, 1)
