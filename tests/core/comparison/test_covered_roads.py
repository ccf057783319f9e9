"""What covers known roads: evidence, images before, bridges, and what a person gives against an index of water."""

import numpy as np
import pyproj
import pytest
import shapely
from affine import Affine
from shapely import LineString, box

from tests.core.support.rasters import NORTH_UP, UTM, write_layer, write_raster
from training_core.comparison.covered_roads import given_cover, without_covered
from training_core.comparison.road_state import Seen, places_on
from training_core.errors import RoadSegError
from training_core.events import Reporter
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import as_drawn

PLANE = pyproj.CRS(UTM)
X, Y = NORTH_UP.c, NORTH_UP.f
# Places along a road, one each 2 m: a river that an image before shows as well, a flood, and ground.
RIVER, FLOOD, DRY = np.eye(3, dtype=bool)


def road_of(length_m):
    return as_drawn(make_lines([LineString([(X, Y - 20), (X + length_m, Y - 20)])]))


def seen(log_odds, wet):
    evidence = np.full(len(DRY), float(log_odds))
    return Seen(evidence, evidence, np.ones(len(DRY), dtype=bool), wet)


def found(after=-2, has_before=False, bridge=False, **given):
    """Where a road is under water, and where it is hidden."""
    is_bridge, before = np.full(len(DRY), bridge), seen(1, RIVER) if has_before else None
    given = {name: [mask] for name, mask in given.items()}
    (look,) = without_covered([seen(after, RIVER | FLOOD)], before, is_bridge, **given)
    assert np.isnan(look.along[look.under_water]).all()
    return look.under_water.tolist(), (np.isnan(look.along) & ~look.under_water).tolist()


NOWHERE = [False] * len(DRY)


def test_an_index_of_water_counts_where_no_road_is_seen():
    assert found() == ((RIVER | FLOOD).tolist(), NOWHERE)
    assert found(after=1) == (NOWHERE, NOWHERE)


def test_neither_a_bridge_nor_a_road_over_water_that_was_there_before_is_under_water():
    assert found(bridge=True) == (NOWHERE, NOWHERE)
    assert found(has_before=True) == (FLOOD.tolist(), NOWHERE)


def test_what_a_person_gives_counts_even_where_a_road_is_seen_and_replaces_the_index():
    for after in (-2, 1):
        assert found(after, has_before=True, water=RIVER, clouds=DRY) == (RIVER.tolist(), DRY.tolist())
    assert found(water=RIVER, bridge=True) == (NOWHERE, NOWHERE)
    assert found(clouds=DRY) == ((RIVER | FLOOD).tolist(), DRY.tolist())


def test_what_a_person_gives_is_of_the_first_images_alone():
    looks = without_covered([seen(-2, FLOOD)] * 2, None, DRY & RIVER, water=[DRY], clouds=[RIVER])
    assert [look.under_water.tolist() for look in looks] == [DRY.tolist(), FLOOD.tolist()]
    assert [np.isnan(look.along).tolist() for look in looks] == [(DRY | RIVER).tolist(), FLOOD.tolist()]


@pytest.fixture
def roads():
    return road_of(100)


def given(path, roads):
    points = roads.points_at(places_on(roads))
    return given_cover(path, "water", points, PLANE, Reporter())(points)


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
