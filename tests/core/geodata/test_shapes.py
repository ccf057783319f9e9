"""Shapes: polygons that cross themselves, and layers in another CRS, clipped where they reach beyond its area."""

import numpy as np
import pyproj
import pytest
import rasterio
import shapely
from shapely.geometry import LineString, MultiPolygon, box

from tests.core.support.rasters import NORTH_UP, UTM, layer
from training_core.geodata.grid import Grid
from training_core.geodata.rasterize import burn_shapes, ground_shapes, limit_to
from training_core.geodata.shapes import TooManyCrossings, check_crossings, in_short_pieces, projected, valid


def tangle(vertices):
    """A polygon whose ring goes to and fro at random."""
    return shapely.Polygon(np.random.default_rng(0).uniform(0, 100, (vertices, 2)))


@pytest.mark.parametrize("shape", [shapely.MultiPolygon([tangle(2000)]), tangle(2000).exterior])
def test_what_crosses_itself_again_and_again_is_refused(shape):
    with pytest.raises(TooManyCrossings):
        check_crossings(np.array([shapely.box(0, 0, 1, 1), shape]))


def test_other_shapes_are_not():
    coast = shapely.Point(0, 0).buffer(100, quad_segs=20_000)
    bow_tie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    check_crossings(np.array([coast, bow_tie, coast.exterior, tangle(30), tangle(500).exterior, shapely.Point(0, 0)]))


def test_a_bow_tie_is_both_of_its_triangles_and_pieces_hold_all_segments_once():
    line = shapely.LineString([(x, x % 3) for x in range(20)])
    shapes = np.array([line, shapely.box(0, 0, 1, 1), shapely.MultiLineString([line.coords[:2], line.coords[5:15]])])
    pieces, shape = in_short_pieces(shapes)
    assert shape.tolist() == [0, 0, 0, 1, 2, 2, 2]
    for number in (0, 2):
        joined = shapely.line_merge(shapely.union_all(pieces[shape == number]))
        assert shapely.equals(joined, shapes[number]) and joined.length == pytest.approx(shapes[number].length)
    assert pieces[3] == shapes[1]
    bow_tie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    ring = shapely.box(0, 0, 10, 10).difference(shapely.box(2, 2, 4, 4))
    assert [round(shape.area, 6) for shape in valid(np.array([bow_tie, ring]))] == [50, 96]


GRID = Grid(rasterio.crs.CRS.from_epsg(32633), NORTH_UP, 200, 100)  # near Berlin, 13.4 E 52.5 N
EXTENT = GRID.outline.bounds
DEGREES = "EPSG:4326"
# In the zone of Berlin, longitude 105 E is 90 degrees off the central meridian, where the projection is infinite.
FAR = LineString([(105, 0), (105.5, 0.01)])


def all_finite(shapes):
    return np.isfinite(shapely.get_coordinates(shapes)).all()


def test_of_another_crs_what_has_no_place_is_empty_and_a_line_keeps_its_part_at_the_extent():
    near = LineString([(13.38, 52.52), (13.385, 52.522)])
    shapes = projected(layer(FAR, near, crs=DEGREES), pyproj.CRS(UTM), EXTENT)
    assert shapes[0].is_empty
    assert shapes[1].equals(layer(near, crs=DEGREES).to_crs(UTM).geometry[0])
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
