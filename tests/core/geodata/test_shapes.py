"""Shapes: polygons that cross themselves, and layers in another CRS, clipped where they reach beyond its area."""

import numpy as np
import pyproj
import pytest
import rasterio
import shapely
from affine import Affine
from rasterio.features import rasterize
from shapely.geometry import LineString, MultiPolygon, box

from tests.core.support.rasters import NORTH_UP, UTM, layer
from training_core.geodata.grid import Grid
from training_core.geodata.shapes import (
    TooManyCrossings,
    around,
    burn_shapes,
    check_crossings,
    ground_shapes,
    in_short_pieces,
    limit_to,
    parts_in,
    projected,
    shapes_on,
    valid,
)


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


def coast(vertices, radius_m, middle=(0.0, 0.0)):
    """A jagged island."""
    angles = np.linspace(0, 2 * np.pi, vertices, endpoint=False)
    out_m = radius_m * np.random.default_rng(0).uniform(0.9, 1, vertices)
    return shapely.Polygon(out_m[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]) + middle)


def test_around_polygons_is_what_their_buffers_cover():
    with_hole = coast(2000, 20, (0, 300)).difference(box(-3, 297, 3, 303))
    shapes = np.array([coast(2000, 50), box(200, 0, 210, 10), with_hole])
    expected = shapely.union_all(shapely.buffer(shapes, 4, quad_segs=4))
    found = shapely.union_all(around(shapes, 4))
    assert shapely.symmetric_difference(found, expected).area < 1e-3 * expected.area


def test_the_parts_in_areas_are_those_in_their_union():
    lines = shapely.linestrings(np.random.default_rng(0).uniform(-70, 70, (300, 2, 2)))
    areas = np.array([coast(500, 50), coast(300, 40, (20, 20)), box(-70, -70, -60, 0)])
    inside, expected = parts_in(lines, areas), shapely.intersection(lines, shapely.union_all(areas))
    assert 0 < shapely.is_empty(inside).sum() < (shapely.length(inside) < shapely.length(lines) - 1e-9).sum() < 300
    assert shapely.length(inside) == pytest.approx(shapely.length(expected))


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


@pytest.mark.parametrize("turn_deg", [0, 30])
def test_an_area_on_a_grid_is_the_whole_one_there_without_its_vertices_elsewhere(turn_deg):
    grid = Grid(GRID.crs, GRID.transform @ Affine.rotation(turn_deg), 200, 100)
    middle = shapely.centroid(grid.outline)
    # Its shore goes through the grid.
    area = layer(coast(20_000, 5000, (middle.x - 4750, middle.y)))
    on_grid = shapes_on(area, grid)
    there = burn_shapes(on_grid, grid, (0, 0, grid.width, grid.height))
    whole = rasterize(ground_shapes(area, grid), there.shape, transform=grid.metric_transform)
    assert 0.1 < there.mean() < 0.9 and np.array_equal(there, whole)
    assert shapely.get_num_coordinates(on_grid)[0] < 2000 and shapely.is_valid(on_grid).all()
