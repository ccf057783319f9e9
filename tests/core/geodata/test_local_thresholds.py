"""Threshold areas: within them their threshold holds, beyond their passage nothing changes, and no line is cut."""

import geopandas
import numpy as np
import pytest
import rasterio
import shapely
from rasterio.crs import CRS
from shapely.geometry import LineString, Polygon, box

from tests.core.support.rasters import NORTH_UP, UTM, layer, write_layer, write_raster
from training_core.errors import ImageryError, LayerError
from training_core.events import Reporter
from training_core.geodata.grid import Grid
from training_core.geodata.local_thresholds import PASSAGE_M, with_threshold_areas
from training_core.geodata.pixel_codes import NO_DATA
from training_core.geodata.road_raster import array_raster
from training_core.jobs import Vectorize
from training_core.pipelines.vectorize import run

WIDTH, HEIGHT = 400, 240
GRID = Grid(CRS.from_string(UTM), NORTH_UP, WIDTH, HEIGHT)
# An area in columns and rows of the pixels of a meter.
AREA = box(100, 60, 180, 140)


def on_map(shape):
    return shapely.transform(shape, lambda points: np.column_stack(NORTH_UP @ tuple(points.T)))


def changed(values, *areas, threshold=0.5):
    """Return a probability with areas, given as shapes in columns and rows with their thresholds."""
    known = np.isfinite(values)
    raster = array_raster(np.nan_to_num(values), known, threshold, strip_rows=40)
    held = [(GRID.to_metric(on_map(shape)), value) for shape, value in areas]
    parts = [with_threshold_areas(raster, GRID, held).read(*strip)[0] for strip in raster.strips()]
    return np.concatenate(parts)


def noise(seed=0):
    return (np.random.default_rng(seed).integers(0, 255, (HEIGHT, WIDTH)) / 254).astype(np.float32)


@pytest.mark.parametrize("local", [0.01, 0.2, 0.5, 0.7, 0.99])
def test_within_an_area_the_pixels_that_reach_its_threshold_are_road_and_far_from_it_nothing_changes(local):
    values = noise()
    found = changed(values, (AREA, local))
    inside = np.s_[60:140, 100:180]
    assert ((found >= 0.5 - 1e-6) == (values >= local - 1e-6))[inside].all()
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    far = shapely.distance(AREA, shapely.points(columns, rows)) > PASSAGE_M + 1
    assert np.array_equal(found[far], values[far]) and far.any()
    assert np.array_equal(found[values == 1], values[values == 1]) and not found[values == 0].any()


def test_the_threshold_passes_smoothly_and_ever_farther_from_the_area_on():
    found = changed(np.full((HEIGHT, WIDTH), 0.5, np.float32), (AREA, 0.2))
    across = found[100, 180 : 182 + int(PASSAGE_M)]  # from the last pixel but one within
    steps = np.diff(found[100])
    assert found[100, 150] == pytest.approx(0.8) and across[-1] == 0.5
    assert (np.diff(across) <= 0).all() and np.abs(steps).max() < 2 * 0.3 / PASSAGE_M


def test_where_areas_overlap_the_last_one_holds_and_a_mask_stays():
    values = noise(1)
    found = changed(values, (AREA, 0.2), (box(150, 100, 300, 200), 0.7), (box(-90, -90, -60, -60), 0.3))
    assert ((found >= 0.5 - 1e-6) == (values >= 0.7 - 1e-6))[100:200, 150:300].all()
    mask = array_raster(values > 0.5, values >= 0)
    assert with_threshold_areas(mask, GRID, [(GRID.to_metric(on_map(AREA)), 0.2)]) is mask


def vectorized(folder, *areas, crs=UTM, heard=None, values=None, **options):
    """Return the lines of a weak road through the middle, and a strong one, at the threshold 0.5 with areas."""
    if values is None:
        values = np.full((HEIGHT, WIDTH), 20, np.uint8)
        values[97:104], values[17:24] = 90, 229
    raster = write_raster(folder / "p.tif", values, nodata=NO_DATA)
    with rasterio.open(raster, "r+") as dataset:
        dataset.scales = (1 / 254,)
    if areas:
        shapes, thresholds = zip(*areas)
        shapes = geopandas.GeoSeries(map(on_map, shapes), crs=UTM).to_crs(crs)
        options["threshold_areas"] = write_layer(folder / "areas.gpkg", *shapes, crs=crs, Threshold=list(thresholds))
    sink = heard.append if heard is not None else lambda event: None
    job = Vectorize(raster=raster, roads=str(folder / "roads.gpkg"), **options)
    run(job, Reporter(sink))
    return geopandas.read_file(job.roads)


@pytest.mark.parametrize("crs", [UTM, "EPSG:4326"])
def test_a_weak_road_appears_in_an_area_and_others_keep_every_vertex(tmp_path, crs):
    (strong,) = vectorized(tmp_path).geometry
    found = vectorized(tmp_path, (AREA, 0.2), crs=crs)
    at = found.geometry.apply(lambda line: line.equals_exact(strong, 0))
    (weak,) = found.geometry[~at]
    assert at.sum() == 1
    assert weak.bounds[0] < NORTH_UP.c + 100 and NORTH_UP.c + 180 < weak.bounds[2] < NORTH_UP.c + 180 + PASSAGE_M


def test_a_road_that_passes_through_areas_is_one_line(tmp_path):
    lines = vectorized(tmp_path, (AREA, 0.3), (box(250, 60, 300, 140), 0.15), (box(0, 0, 400, 40), 0.95), threshold=0.4)
    assert len(lines) == 1 and lines.length[0] == pytest.approx(WIDTH, abs=3)


BOW = Polygon([(100, 60), (180, 140), (180, 60), (100, 140)])


@pytest.mark.parametrize(
    ("areas", "told"),
    [
        ([(AREA, 0.3), (box(9000, 0, 9100, 90), 0.3)], "1 of 2 threshold areas lie beyond the raster"),
        ([(BOW, 0.3)], ""),
        ([(AREA, "0,3")], ""),
        ([(AREA, 0.3), (box(9000, 0, 9100, 90), 1.5)], LayerError("1 of 2 .* 0.01 to 0.99: .* is 1.5")),
        ([(AREA, 0.0)], LayerError("1 of 1")),
        ([(AREA, None), (AREA, 0.3)], LayerError("1 of 2")),
        ([(AREA, "low")], LayerError("has no numbers")),
        ([(box(9000, 0, 9100, 90), 0.3)], LayerError("None of the threshold areas")),
        ([(LineString([(0, 0), (50, 50)]), 0.3)], LayerError("must be polygons")),
    ],
)
def test_areas_are_used_or_refused_and_what_is_left_out_is_told(tmp_path, areas, told):
    heard = []
    if isinstance(told, LayerError):
        with pytest.raises(LayerError, match=told.message):
            vectorized(tmp_path, *areas, heard=heard)
        assert not list(tmp_path.glob("roads*"))
    else:
        assert len(vectorized(tmp_path, *areas, heard=heard)) == 2
        assert [told] * bool(told) == [told for each in heard if each.kind == "warning" and told in each.message]


def test_layers_without_thresholds_and_masks_are_refused(tmp_path):
    areas = tmp_path / "plain.gpkg"
    layer(on_map(AREA)).to_file(areas)
    with pytest.raises(LayerError, match="have no field 'threshold'"):
        vectorized(tmp_path, threshold_areas=str(areas))
    mask = write_raster(tmp_path / "mask.tif", (noise() > 0.5).astype(np.uint8))
    with pytest.raises(ImageryError, match="is a mask, so threshold areas"):
        run(Vectorize(raster=mask, threshold_areas=str(areas), roads=str(tmp_path / "roads.gpkg")), Reporter())
