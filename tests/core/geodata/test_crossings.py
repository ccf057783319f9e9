"""Polygons that cross themselves."""

import numpy as np
import pytest
import shapely

from training_core.geodata.crossings import TooManyCrossings, check_rings, valid


def tangle(vertices):
    """A polygon whose ring goes to and fro at random."""
    return shapely.Polygon(np.random.default_rng(0).uniform(0, 100, (vertices, 2)))


def test_a_polygon_that_crosses_itself_again_and_again_is_refused():
    with pytest.raises(TooManyCrossings):
        check_rings(np.array([shapely.box(0, 0, 1, 1), shapely.MultiPolygon([tangle(2000)])]))


def test_other_shapes_are_not():
    coast = shapely.Point(0, 0).buffer(100, quad_segs=20_000)
    bow_tie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    track = shapely.LineString(np.random.default_rng(0).uniform(0, 100, (2000, 2)))
    check_rings(np.array([coast, bow_tie, track, tangle(30), shapely.Point(0, 0)]))


def test_a_bow_tie_is_both_of_its_triangles_and_a_hole_stays_one():
    bow_tie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    ring = shapely.box(0, 0, 10, 10).difference(shapely.box(2, 2, 4, 4))
    assert [round(shape.area, 6) for shape in valid(np.array([bow_tie, ring]))] == [50, 96]
