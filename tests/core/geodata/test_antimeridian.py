"""The antimeridian: places on both sides of it, however they are written, in layers, images and files."""

import geopandas
import numpy as np
import pyproj
import pytest
import rasterio
import shapely
from affine import Affine
from shapely import LineString, MultiLineString, MultiPolygon, Point, Polygon, box

from tests.core.support.rasters import layer
from training_core.geodata.antimeridian import bounding_box, cut_at_antimeridian
from training_core.geodata.grid import Grid
from training_core.geodata.shapes import ground_shapes, near
from training_core.geodata.vector_output import write_layers
from training_core.regions.region_grid import region_grid

DEGREES, TURN_M = "EPSG:4326", 2 * 20037508.342789244
GEOD = pyproj.Geod(ellps="WGS84")


def moved(shape, by):
    return shapely.transform(shape, lambda points: np.add(points, (by, 0)))


def with_jump(shape):
    return shapely.transform(shape, lambda points: np.column_stack([(points[:, 0] + 180) % 360 - 180, points[:, 1]]))


def split(shape):
    west, east = (shapely.clip_by_rect(shape, *bounds) for bounds in ((0, -90, 180, 90), (180, -90, 360, 90)))
    return (MultiLineString if shape.geom_type == "LineString" else MultiPolygon)([west, moved(east, -360)])


FORMS = {
    "190": lambda shape: layer(shape, crs=DEGREES),
    "-170": lambda shape: layer(moved(shape, -360), crs=DEGREES),
    "540": lambda shape: layer(moved(shape, 360), crs=DEGREES),
    "jump": lambda shape: layer(with_jump(shape), crs=DEGREES),
    "split": lambda shape: layer(split(shape), crs=DEGREES),
    "mercator": lambda shape: layer(shape, crs=DEGREES).to_crs("EPSG:3857"),
    "utm": lambda shape: layer(shape, crs=DEGREES).to_crs("EPSG:32701"),
}
# CRS, latitude, and by how much an image lies beside the places of its CRS.
IMAGES = [
    (DEGREES, -17, 0), (DEGREES, -17, -360), ("EPSG:3857", -17, 0), ("EPSG:3857", -17, -TURN_M),
    ("EPSG:32760", -17, 0), ("EPSG:32701", -17, 0), ("EPSG:3832", -17, 0), ("EPSG:3031", -75, 0),
]  # fmt: skip


def image(crs, latitude, by, size=200):
    x, y = pyproj.Transformer.from_crs(DEGREES, crs, always_xy=True).transform(180, latitude)
    side = 1e-5 if crs == DEGREES else 1.0
    corner = Affine.translation(x + by - 100 * side, y + 100 * side)
    return Grid(rasterio.crs.CRS.from_string(crs), corner @ Affine.scale(side, -side), size, size)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("crs", "latitude", "by"), IMAGES)
def test_what_is_drawn_lies_on_the_image_however_both_write_the_longitude(crs, latitude, by, form):
    grid = image(crs, latitude, by)
    middle = Point(grid.metric_transform @ (100, 100))
    line = LineString([(179.9995, latitude), (180.0006, latitude)])
    for shape in (line, box(179.9996, latitude, 180.0008, latitude + 3e-4)):
        drawn = FORMS[form](shape)
        assert near(drawn, grid).tolist() == [0]
        (found,) = ground_shapes(drawn, grid)
        assert found.distance(middle) < 0.5 and found.bounds[2] - found.bounds[0] < 200
        if shape.geom_type == "LineString":
            assert found.length == pytest.approx(GEOD.geometry_length(shape), rel=3e-3)
        else:
            assert found.area == pytest.approx(abs(GEOD.geometry_area_perimeter(shape)[0]), rel=6e-3)


HOLE = [(179.5, 0.2), (179.8, 0.2), (179.8, 0.8)]


@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        (LineString([(179, 0), (-179, 2)]), MultiLineString([[(179, 0), (180, 1)], [(-180, 1), (-179, 2)]])),
        (LineString([(-179, 2), (-181, 0)]), MultiLineString([[(180, 1), (179, 0)], [(-179, 2), (-180, 1)]])),
        (LineString([(190, 0), (191, 0)]), LineString([(-170, 0), (-169, 0)])),
        (LineString([(179, 0), (180, 0)]), LineString([(179, 0), (180, 0)])),
        (LineString([(180 - 2e-8, 0), (181, 0)]), LineString([(-180, 0), (-179, 0)])),  # GeoJSON rounds as much
        (LineString([(180 + 2e-8, 0), (180, 1)]), LineString([(-180, 0), (-180, 1)])),
        (Point(539, 1), Point(179, 1)),
        (
            with_jump(Polygon(box(179, 0, 181, 1).exterior, [HOLE])),
            MultiPolygon([Polygon(box(179, 0, 180, 1).exterior, [HOLE]), box(-180, 0, -179, 1)]),
        ),
        *((world, world) for world in (box(-180, -90, 180, 90), box(-179.9, -85, 179.9, 85))),
        (box(0, -90, 360, 90), MultiPolygon([box(0, -90, 180, 90), box(-180, -90, 0, 90)])),
        (Polygon([(-180, -90), (180, -90), (180, -80), (0, -75), (-180, -80)]),) * 2,
    ],
)  # fmt: skip
def test_in_degrees_shapes_are_cut_and_those_around_the_world_stay(shape, cut):
    (found,) = cut_at_antimeridian(np.array([shape]))
    assert shapely.equals(shapely.normalize(found), shapely.normalize(cut)) and found.geom_type == cut.geom_type
    assert np.abs(shapely.get_coordinates(found)[:, 0]).max() <= 180


@pytest.mark.parametrize("crs", [DEGREES, "EPSG:3857", "EPSG:3832"])
@pytest.mark.parametrize("suffix", ["gpkg", "geojson", "fgb"])
def test_files_have_one_feature_a_line_cut_only_in_degrees(tmp_path, suffix, crs):
    lines = LineString([(179.99, -17), (180.02, -17)]), LineString([(179.98, -17), (179.99, -17)])
    drawn = layer(*lines, crs=DEGREES, name=["a", "b"]).to_crs(crs)
    write_layers(tmp_path / f"roads.{suffix}", {"roads": drawn}, {"roads": "LineString"})
    found = geopandas.read_file(tmp_path / f"roads.{suffix}").set_index("name").loc[["a", "b"]]
    is_cut = crs == DEGREES or suffix == "geojson"
    assert shapely.get_num_geometries(found.geometry).tolist() == [1 + is_cut, 1]
    widths = found.explode().bounds.eval("maxx - minx")
    assert widths.max() < (0.021 if is_cut else 3500)


def test_a_bounding_box_across_has_a_greater_west_and_scenes_on_both_sides_are_one_region():
    assert bounding_box(box(179, 0, 181, 1)) == bounding_box(box(-181, 0, -179, 1)) == [179, 0, -179, 1]
    assert bounding_box(box(180, 0, 181, 1)) == [-180, 0, -179, 1]
    grids = [image(DEGREES, -17, 0, 100), image(DEGREES, -17, 100e-5 - 360), image("EPSG:3857", -17, 0)]
    whole = region_grid(grids)
    assert 200 < whole.width < 1024 and whole.height < 1024
