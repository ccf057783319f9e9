"""Polygons that cross themselves."""

import numpy as np
import pytest
import shapely

from training_core.geodata.shapes import TooManyCrossings, check_crossings, in_short_pieces, valid


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


def test_pieces_hold_all_segments_once_and_know_their_shape():
    line = shapely.LineString([(x, x % 3) for x in range(20)])
    shapes = np.array([line, shapely.box(0, 0, 1, 1), shapely.MultiLineString([line.coords[:2], line.coords[5:15]])])
    pieces, shape = in_short_pieces(shapes)
    assert shape.tolist() == [0, 0, 0, 1, 2, 2, 2]
    for number in (0, 2):
        joined = shapely.line_merge(shapely.union_all(pieces[shape == number]))
        assert shapely.equals(joined, shapes[number]) and joined.length == pytest.approx(shapes[number].length)
    assert pieces[3] == shapes[1]


def test_a_bow_tie_is_both_of_its_triangles_and_a_hole_stays_one():
    bow_tie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    ring = shapely.box(0, 0, 10, 10).difference(shapely.box(2, 2, 4, 4))
    assert [round(shape.area, 6) for shape in valid(np.array([bow_tie, ring]))] == [50, 96]
