"""What covers known roads: evidence, images before, bridges, and what a person gives against what is found."""

import numpy as np
import pyproj
import pytest
import shapely
from affine import Affine
from shapely import LineString, box

from tests.core.support.rasters import NORTH_UP, UTM, write_layer, write_raster
from training_core.comparison.covered_roads import given_along, without_covered
from training_core.comparison.road_state import Seen, places_on
from training_core.errors import RoadSegError
from training_core.events import Reporter
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import as_drawn
from training_core.segmentation.ground_cover import CANOPY, CLOUD, OTHER, SHADOW, WATER

CLASSES = np.array([OTHER, WATER, CLOUD, SHADOW, CANOPY])
NOWHERE = np.zeros(len(CLASSES), dtype=bool)
GROUND = np.eye(len(CLASSES))
PLANE = pyproj.CRS(UTM)
X, Y = NORTH_UP.c, NORTH_UP.f


def road_of(length_m, bridge=False):
    return as_drawn(make_lines([LineString([(X, Y - 20), (X + length_m, Y - 20)])], bridge=[bridge]))


def seen(log_odds):
    evidence = np.full(len(CLASSES), float(log_odds))
    return Seen(evidence, evidence, ~NOWHERE, NOWHERE)


def found(after=-2, before=None, ground_before=None, bridge=False, **given):
    """Classes of ground on which a road is under water, and on which it is hidden; it lies on one after the other."""
    looks = [seen(after), *([] if before is None else [seen(before)])]
    road = road_of(2 * len(CLASSES), bridge)  # a place each 2 m
    look, *_ = without_covered(looks, [GROUND, ground_before], road, before is not None, **given)
    is_hidden = np.isnan(look.along) & ~look.under_water
    assert np.isnan(look.along[look.under_water]).all()
    return CLASSES[look.under_water].tolist(), CLASSES[is_hidden].tolist()


def test_ground_covers_only_roads_that_are_not_seen():
    assert found() == ([WATER], [CLOUD, SHADOW, CANOPY])
    assert found(after=1) == ([], [])


def test_a_bridge_is_not_under_water():
    assert found(bridge=True) == ([], [CLOUD, SHADOW, CANOPY])
    # Nor is a road over water that was there before.
    assert found(before=2, ground_before=GROUND) == ([], [CLOUD, SHADOW])


def test_trees_hide_only_roads_that_were_not_seen_before():
    other = np.tile(GROUND[OTHER], (len(CLASSES), 1))
    assert found(before=2, ground_before=other) == ([WATER], [CLOUD, SHADOW])
    assert found(before=-2, ground_before=other) == ([WATER], [CLOUD, SHADOW, CANOPY])


def test_what_a_person_gives_replaces_what_is_found_even_where_a_road_is_seen():
    given = CLASSES == OTHER
    assert found(water=given, cloud=given) == ([OTHER], [SHADOW, CANOPY])
    assert found(after=1, water=given, cloud=given) == ([OTHER], [])
    assert found(water=given, bridge=True)[0] == []


@pytest.fixture
def roads():
    return road_of(100)


def given(path, roads):
    return given_along(path, "water", roads, places_on(roads), PLANE, Reporter())


@pytest.mark.parametrize("crs", [UTM, "EPSG:4326"])
def test_polygons_and_masks_say_the_same(tmp_path, roads, crs):
    area = box(X + 30, Y - 40, X + 60, Y)
    shape = shapely.transform(area, pyproj.Transformer.from_crs(UTM, crs, always_xy=True).transform, interleaved=False)
    layer = write_layer(tmp_path / "flood.gpkg", shape, crs=crs)
    mask = np.zeros((40, 100), dtype=np.uint8)
    mask[:, 30:60] = 1
    along_m = places_on(roads).along_m
    truth = (along_m > 30) & (along_m < 60)
    near = (np.abs(along_m - 30) < 0.5) | (np.abs(along_m - 60) < 0.5)
    for path in (layer, write_raster(tmp_path / "mask.tif", mask), write_raster(tmp_path / "p.tif", mask * 0.8)):
        assert (given(path, roads) == truth)[~near].all()


def test_a_mask_of_another_place_and_files_that_are_none_are_refused(tmp_path, roads):
    mask = np.ones((40, 100), dtype=np.uint8)
    far = write_raster(tmp_path / "far.tif", mask, transform=NORTH_UP @ Affine.translation(5000, 0))
    picture = np.stack([mask, 2 * mask, 3 * mask])
    text = tmp_path / "water.txt"
    text.write_text("none")
    lines = write_layer(tmp_path / "lines.gpkg", *roads.lines.shapes)
    cases = {
        far: "No part of the known roads lies on the mask of water",
        write_raster(tmp_path / "picture.tif", picture): "color picture",
        write_raster(tmp_path / "values.tif", 7 * mask): "values of unknown meaning",
        str(text): "cannot be read",
        lines: "must be polygons",
        str(tmp_path / "missing.gpkg"): "cannot be read",
    }
    for path, words in cases.items():
        with pytest.raises(RoadSegError, match=words) as caught:
            given(path, roads)
        assert caught.value.remedy


def test_a_polygon_that_crosses_itself_is_repaired(tmp_path, roads):
    bow = shapely.Polygon([(X, Y), (X + 50, Y - 40), (X + 50, Y), (X, Y - 40)])
    assert given(write_layer(tmp_path / "bow.gpkg", bow), roads).any()
