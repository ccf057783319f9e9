"""Layers in another CRS: shapes that reach beyond its area are clipped, never infinite or not a number."""

import numpy as np
import pyproj
import pytest
import rasterio
import shapely
from shapely.geometry import LineString, MultiPolygon, box

from tests.core.support.rasters import NORTH_UP, UTM, layer
from training_core.geodata.grid import Grid
from training_core.geodata.rasterize import burn_shapes, ground_shapes, limit_to
from training_core.geodata.shapes import projected

GRID = Grid(rasterio.crs.CRS.from_epsg(32633), NORTH_UP, 200, 100)  # near Berlin, 13.4 E 52.5 N
EXTENT = GRID.outline.bounds
DEGREES = "EPSG:4326"
# In the zone of Berlin, longitude 105 E is 90 degrees off the central meridian, where the projection is infinite.
FAR = LineString([(105, 0), (105.5, 0.01)])


def all_finite(shapes):
    return np.isfinite(shapely.get_coordinates(shapes)).all()


def test_what_has_no_place_in_the_other_crs_is_empty():
    near = LineString([(13.38, 52.52), (13.385, 52.522)])
    shapes = projected(layer(FAR, near, crs=DEGREES), pyproj.CRS(UTM), EXTENT)
    assert shapes[0].is_empty
    assert shapes[1].equals(layer(near, crs=DEGREES).to_crs(UTM).geometry[0])


def test_a_line_that_goes_beyond_the_area_keeps_the_part_at_the_extent():
    through = pyproj.Transformer.from_crs(UTM, DEGREES, always_xy=True).transform(390100, 5819950)
    line = LineString([(through[0], 0), through, (through[0], 52.6), (105, 52.6), (105, 0)])
    assert not all_finite(layer(line, crs=DEGREES).to_crs(UTM).geometry.to_numpy())
    shape = projected(layer(line, crs=DEGREES), pyproj.CRS(UTM), EXTENT)[0]
    assert all_finite([shape])
    assert shape.distance(shapely.Point(390100, 5819950)) < 0.01


@pytest.mark.parametrize(
    "world", [box(-180, -90, 180, 90), MultiPolygon([box(-180, -90, 0, 90), box(0, -90, 180, 90)])]
)
def test_the_whole_world_as_area_of_interest_covers_the_image(world):
    window, shape = limit_to(GRID, layer(world, crs=DEGREES))
    assert window == (0, 0, 200, 100)
    assert burn_shapes([shape], GRID, window).all()


@pytest.mark.parametrize("crs", ["EPSG:9518", "EPSG:3857", "EPSG:2263"])
def test_an_area_in_any_crs_has_finite_ground_shapes(crs):
    to_own = pyproj.Transformer.from_crs(DEGREES, crs, always_xy=True)
    wide = box(*to_own.transform(-75, 40), *to_own.transform(-73, 41))
    assert all_finite(ground_shapes(layer(wide, crs=crs), GRID))
