import numpy as np
import pytest
from affine import Affine
from pyproj import Geod
from rasterio.crs import CRS
from shapely.geometry import LineString

from tests.core.support.rasters import write_raster
from training_core.errors import ImageryError
from training_core.geodata.grid import Grid, grid_at, grid_of, is_georeferenced
from training_core.geodata.rasters import open_raster

UTM = CRS.from_epsg(32633)
WEB_MERCATOR = CRS.from_epsg(3857)
WGS84 = CRS.from_epsg(4326)


def grid(crs, transform, width=1000, height=800):
    return Grid(crs, transform, width, height)


@pytest.mark.parametrize(
    ("crs", "transform", "tolerance"),
    [
        (UTM, Affine(0.5, 0, 500000, 0, -0.5, 5800000), 1e-3),
        (UTM, Affine.translation(500000, 5800000) @ Affine.rotation(30) @ Affine.scale(0.5, -0.5), 1e-3),
        (WEB_MERCATOR, Affine(1, 0, 1000000, 0, -1, 8399737.89), 5e-3),  # at 60 degrees north
    ],
)
def test_a_pixel_is_measured_on_the_ground(crs, transform, tolerance):
    assert grid(crs, transform).pixel_m == pytest.approx((0.5, 0.5), rel=tolerance)


def test_the_own_grid_is_used_within_a_quarter_of_the_resolution():
    own = grid(UTM, Affine(0.5, 0, 500000, 0, -0.5, 5800000))
    assert grid_at(own, 0.0) is own
    assert grid_at(own, 0.6) is own
    assert grid_at(own, 0.7) is not own


@pytest.mark.parametrize("rotation", [0, 30])
def test_another_resolution_keeps_extent_and_orientation_and_is_square_on_the_ground(rotation):
    own = grid(WGS84, Affine.translation(10, 60) @ Affine.rotation(rotation) @ Affine.scale(1e-5, -1e-5))
    other = grid_at(own, 3.0)
    assert other.outline.symmetric_difference(own.outline).area < 1e-9 * own.outline.area
    assert other.pixel_m == pytest.approx((3.0, 3.0), rel=0.02 if not rotation else 0.5)


def test_an_absurd_resolution_and_a_grid_outside_its_coordinate_system_are_refused():
    with pytest.raises(Exception, match="pixels"):
        grid_at(grid(UTM, Affine(1000, 0, 500000, 0, -1000, 5800000), 30000, 30000), 0.01)
    with pytest.raises(ImageryError):
        _ = grid(WEB_MERCATOR, Affine(1, 0, 1e30, 0, -1, 1e30)).pixel_m


def test_metric_frame_measures_meters_on_a_geographic_grid():
    geographic = grid(WGS84, Affine(1e-5, 0, 10, 0, -1e-5, 60.004))
    line = LineString([(10.001, 60.001), (10.005, 60.003)])
    expected = Geod(ellps="WGS84").geometry_length(line)
    assert geographic.to_metric(line).length == pytest.approx(expected, rel=1e-3)


@pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
def test_a_tile_of_fair_without_georeference_lies_where_its_name_says(tmp_path):
    """At zoom level 10, tile 512, 511 touches the middle of the world: it lies northeast of it, 1/1024 of its width."""
    pixels = np.zeros((3, 256, 256), np.uint8)
    path = write_raster(tmp_path / "OAM-512-511-10.png", pixels, driver="PNG", transform=None, crs=None)
    with open_raster(path) as dataset:
        assert is_georeferenced(dataset)
        found = grid_of(dataset)
    assert found.crs == CRS.from_epsg(3857)
    assert found.outline.bounds == pytest.approx((0, 0, 39135.76, 39135.76), abs=0.01)
    own = write_raster(tmp_path / "OAM-512-511-10.tif", pixels)
    with open_raster(own) as dataset:
        assert grid_of(dataset).transform == dataset.transform
    other = write_raster(tmp_path / "OAM-1-1.png", pixels, driver="PNG", transform=None, crs=None)
    with open_raster(other) as dataset:
        assert not is_georeferenced(dataset)
