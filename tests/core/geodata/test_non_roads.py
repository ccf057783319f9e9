"""Places without a road: no road is left on them but bridges, whatever layer says where they are."""

import geopandas
import numpy as np
import pytest
import shapely
from affine import Affine
from rasterio.crs import CRS
from rasterio.features import rasterize
from shapely.geometry import LineString, Point, box

from tests.core.support.osm_changes import placed, write_extract
from tests.core.support.rasters import NORTH_UP, UTM, layer, write_layer, write_raster
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.geodata.grid import Grid
from training_core.geodata.non_roads import areas_on, read_no_road
from training_core.geodata.tiling import Tile
from training_core.jobs import LabelOptions, NetworkOptions, Vectorize
from training_core.labels.drawing import read_drawing
from training_core.pipelines.vectorize import run
from training_core.regions.region_roads import MappedScene, RegionRoads
from training_core.segmentation.inference import Prediction
from training_core.segmentation.no_road import without_places

WIDTH, HEIGHT = 300, 200
GRID = Grid(CRS.from_string(UTM), NORTH_UP, WIDTH, HEIGHT)
RIVER, ALONG, ACROSS = box(140, 0, 160, 200), box(145, 0, 155, 200), box(0, 95, 300, 105)


def on_map(shape):
    return shapely.transform(shape, lambda points: np.column_stack(NORTH_UP @ tuple(points.T)))


def drawn(*shapes, size=(HEIGHT, WIDTH)):
    return rasterize(shapes, out_shape=size, transform=Affine.identity()).astype(np.uint8)


def vectorized(folder, no_road, *roads):
    """Vectorize a mask; return its lines, and the messages as one text."""
    raster, heard = write_raster(folder / "mask.tif", drawn(*roads)), []
    job = Vectorize(raster=raster, no_road=no_road, roads=str(folder / "roads.gpkg"))
    run(job, Reporter(heard.append))
    messages = " ".join(event.message for event in heard if event.kind in ("log", "warning"))
    return geopandas.read_file(job.roads).geometry.to_numpy(), messages


@pytest.mark.parametrize(
    ("roads", "bridges"),
    [
        ([ALONG], 0),
        ([ALONG, ACROSS], 1),
        ([box(0, 95, 150, 105)], 0),  # it ends in the river
        ([box(0, 95, 168, 105), box(160, 0, 168, 200)], 1),  # it ends at a street on the bank
        ([box(133, 0, 167, 200)], 0),  # a canal between two streets, all of it taken for road
        ([box(0, 40, 300, 50), box(0, 150, 300, 160), ALONG], 2),
        ([shapely.affinity.rotate(ACROSS, 35)], 1),
    ],
    ids=["along", "across", "into", "to a street", "between streets", "two", "aslant"],
)
@pytest.mark.parametrize("as_line", [False, True], ids=["polygon", "line"])
def test_what_crosses_straight_and_goes_on_stays_and_nothing_else(tmp_path, roads, bridges, as_line):
    river = LineString([(150, -50), (150, 250)]) if as_line else RIVER
    path = write_layer(tmp_path / "river.gpkg", on_map(river), width_m=[20.0])
    lines, messages = vectorized(tmp_path, path, *roads)
    inside = shapely.get_parts(shapely.union_all(shapely.intersection(lines, on_map(RIVER.buffer(-2)))))
    lengths_m = shapely.length(shapely.get_parts(shapely.line_merge(shapely.union_all(inside))))
    assert len(lengths_m[lengths_m > 1]) == bridges
    assert list(lengths_m[lengths_m > 1]) == pytest.approx([16] * bridges, abs=5)
    assert f"Bridges kept: {bridges}." in messages


@pytest.mark.parametrize("at", [150, 146], ids=["in the middle", "at a bank"])
def test_a_line_takes_all_that_is_road_along_it_but_no_street_beside(tmp_path, at):
    river = write_layer(tmp_path / "river.gpkg", on_map(LineString([(at, -50), (at, 250)])))
    street = box(161, 0, 167, 200)
    lines, messages = vectorized(tmp_path, river, ALONG, ACROSS, street)
    on_river = shapely.intersection(shapely.union_all(lines), on_map(box(135, 0, 158, 200)))
    assert on_river.length == pytest.approx(23, abs=2) and "Bridges kept: 1." in messages
    assert shapely.intersection(shapely.union_all(lines), on_map(street)).length == pytest.approx(200, abs=10)


@pytest.mark.parametrize(
    ("place", "crs", "refused"),
    [
        (on_map(box(-10, -10, 310, 210)), UTM, "cover all of the images"),
        (shapely.affinity.translate(on_map(RIVER), 5e4), UTM, "lies on the images"),
        (Point(390050, 5819950), UTM, "must be lines or polygons"),
    ],
)
def test_a_layer_that_cannot_mean_what_it_says_is_refused(tmp_path, place, crs, refused):
    with pytest.raises(LayerError, match=refused):
        vectorized(tmp_path, write_layer(tmp_path / "place.gpkg", place, crs=crs), ACROSS)
    assert not (tmp_path / "roads.gpkg").exists()


def test_a_line_without_a_length_does_no_harm(tmp_path):
    dot = LineString([(150, 150), (150, 150)])
    path = write_layer(tmp_path / "river.gpkg", on_map(LineString([(150, -50), (150, 250)])), on_map(dot))
    assert vectorized(tmp_path, path, ALONG, ACROSS)[1].count("Bridges kept: 1.") == 1


def test_a_layer_beside_all_labeled_images_is_refused(tmp_path):
    roads = write_layer(tmp_path / "roads.gpkg", on_map(LineString([(0, 100), (300, 100)])))
    river = write_layer(tmp_path / "river.gpkg", shapely.affinity.translate(on_map(RIVER), 5e4))
    with pytest.raises(LayerError, match=r"river\.gpkg.*lies on the images"):
        read_drawing(roads, "", LabelOptions(no_road=river), Reporter(), images=[GRID])


def test_a_layer_of_the_roads_is_suspected(tmp_path):
    road = LineString([(0, 100), (300, 100)])
    _, messages = vectorized(tmp_path, write_layer(tmp_path / "r.gpkg", on_map(road), width_m=[8.0]), ACROSS)
    assert "does not mark the roads" in messages


def test_an_extract_of_openstreetmap_is_read_by_its_tags(tmp_path):
    lake = [(500, 0), (600, 0), (600, 100), (500, 100), (500, 0)]
    ways = [
        ({"natural": "water"}, lake, 100 * 100),
        ({"waterway": "riverbank"}, [(x + 300, y) for x, y in lake], 100 * 100),
        ({"waterway": "canal", "width": "7 m"}, [(0, 0), (100, 0)], 7 * 100),
        ({"railway": "rail"}, [(0, 200), (100, 200)], 4 * 100),
        ({"barrier": "wall"}, [(0, 300), (100, 300)], 100),
        ({"waterway": "stream", "tunnel": "culvert"}, [(0, 400), (100, 400)], 0),
        ({"highway": "residential"}, [(0, 500), (100, 500)], 0),
        ({"railway": "tram"}, [(0, 600), (100, 600)], 0),
        ({"landuse": "residential"}, [(x - 500, y) for x, y in lake], 0),
    ]
    tags, points, areas_m2 = zip(*ways)
    path, heard = write_extract(tmp_path / "town.osm", placed(*points), list(tags)), []
    found = read_no_road(path, Reporter(heard.append))
    center = geopandas.GeoSeries(placed(*points), crs=4326).union_all().centroid
    grid = Grid(CRS.from_epsg(4326), Affine(1e-5, 0, center.x - 0.02, 0, -1e-5, center.y + 0.02), 4000, 4000)
    assert shapely.area(areas_on(found, grid)).sum() == pytest.approx(sum(areas_m2), rel=0.02)
    assert "5 of 9 features" in heard[0].message


def test_points_of_an_extract_are_left_out(tmp_path):
    shapes = [on_map(LineString([(150, -50), (150, 250)])), on_map(Point(20, 20))]
    path = write_layer(
        tmp_path / "e.geojson", *shapes, osm_id=["1", "2"], natural=[None, "water"], waterway=["river", None]
    )
    assert list(read_no_road(path, Reporter()).geom_type) == ["LineString"]


@pytest.mark.parametrize("tags", [{"waterway": "river"}, {"natural": "water"}])
def test_an_extract_elsewhere_is_refused_with_both_places(tmp_path, tags):
    shape = placed([(5000, 0), (5100, 0), (5100, 100), (5000, 100), (5000, 0)])
    path = write_extract(tmp_path / "town.osm", shape, [tags])
    with pytest.raises(LayerError, match=r"within 1000 m of the images: .*longitude .* but the images are at"):
        read_no_road(path, Reporter(), [GRID])


def test_a_bridge_across_tiles_is_that_of_the_image():
    area = shapely.union_all(areas_on(layer(on_map(RIVER)), GRID))
    probability = drawn(ALONG, ACROSS) * np.uint8(200)

    def mapped(side):
        tiles = [
            Tile(left, top, min(side, WIDTH - left), min(side, HEIGHT - top), 0, 0, 0, 0)
            for top in range(0, HEIGHT, side)
            for left in range(0, WIDTH, side)
        ]
        found = np.zeros_like(probability)
        predictions = ((tile, Prediction(probability[tile.destination], None)) for tile in tiles)
        for tile, prediction in without_places(predictions, GRID, area, 0.5, lambda *_: None):
            found[tile.destination] = prediction.probability
        return found

    assert np.array_equal(mapped(50), mapped(300))
    assert mapped(50)[100].all() and not mapped(50)[50, 140:160].any()


def test_a_region_in_parts_has_the_bridges_of_the_whole(tmp_path):
    size = (512, 1024)
    river = box(495, -10, 525, 520)  # across the border of parts
    roads = drawn(box(500, 0, 520, 512), box(0, 250, 1024, 260), box(0, 400, 1024, 410), box(0, 50, 510, 60), size=size)
    path = write_raster(tmp_path / "p.tif", roads * np.uint8(250), nodata=255)
    grid = Grid(CRS.from_string(UTM), NORTH_UP, size[1], size[0])
    scene = MappedScene("scene", "key", grid, path, "")

    def do(tasks, message, reporter):
        for task in tasks:
            task.function(task.document)
        return []

    def lines(part_px, no_road):
        folder = str(tmp_path / f"{part_px} {no_road is None}")
        region = RegionRoads(folder, [scene], grid, NetworkOptions(), 0.5, part_px, no_road=no_road)
        tables, mismatches = region.extract(do, Reporter())
        assert mismatches == 0
        return shapely.union_all(np.concatenate([table.geometry.to_numpy() for table in tables]))

    for place, remaining_m in ((river, 60), (LineString([(511, -10), (509, 520)]), 64)):
        places = layer(on_map(place))
        whole, parts = lines(8192, places), lines(512, places)
        assert parts.length == pytest.approx(whole.length, abs=1)
        assert shapely.hausdorff_distance(parts, whole) < 1
        assert parts.intersection(on_map(river)).length == pytest.approx(remaining_m, abs=3)
    assert lines(512, None).intersection(on_map(river)).length > 500
