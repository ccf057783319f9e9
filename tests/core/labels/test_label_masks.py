"""Label masks: their values, the images that they belong to, and their pixels on an image's grid."""

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.crs import CRS

from training_core.errors import ImageryError, LabelError
from training_core.events import Reporter
from training_core.geodata.grid import grid_of
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.geodata.rasters import open_raster
from training_core.jobs import Evaluate
from training_core.labels.label_masks import read_masks

UTM = CRS.from_epsg(32645)
SIDE_PX = 40


def write(path, values, transform=None, crs=UTM, **options):
    """Write a raster, (height, width) or (bands, height, width); without a transform it has no place."""
    path.parent.mkdir(exist_ok=True)
    values = np.atleast_3d(values.T).T
    place = {"transform": transform, "crs": crs} if transform else {}
    count, height, width = values.shape
    with rasterio.open(
        path, "w", count=count, height=height, width=width, dtype=values.dtype, **place, **options
    ) as file:
        file.write(values)
    return str(path)


def at(column, row):
    return Affine(0.5, 0, 500_000 + column * 0.5, 0, -0.5, 3_000_000 - row * 0.5)


def mask_of(values=(0, 255), side_px=SIDE_PX, dtype=np.uint8):
    mask = np.full((side_px, side_px), values[0], dtype=dtype)
    mask[10:16] = values[1]
    if len(values) > 2:
        mask[30:] = values[2]
    return mask


def image_in(folder, name, column=0, row=0):
    return write(folder / "images" / name, np.ones((3, SIDE_PX, SIDE_PX), np.uint8), at(column, row), driver="GTiff")


def options(masks, **others):
    return Evaluate(masks=tuple(masks), **others)


def labels_of(masks, images, image=None, grid=None, reporter=None, **others):
    image = image or images[0]
    read = read_masks(options(masks, **others), "", images, reporter or Reporter())
    if grid is None:
        with open_raster(image) as dataset:
            grid = grid_of(dataset, others.get("pixel_m", 0.0))
    labels = read.burn(grid, image)
    values = np.full((grid.height, grid.width), IGNORE, dtype=np.uint8)
    height, width = labels.values.shape
    values[labels.row : labels.row + height, labels.column : labels.column + width] = labels.values
    return values


def with_one_other(folder, values, other):
    """Return 40 images and their masks, of which one that is not in the sample has other values."""
    images = [image_in(folder, f"{number}.tif") for number in range(40)]
    of = [other if number == 20 else values for number in range(40)]
    return images, [write(folder / "masks" / f"{n}.png", mask_of(each), driver="PNG") for n, each in enumerate(of)]


@pytest.mark.parametrize(
    ("values", "other", "meant"),
    [((0, 0), (0, 255), ROAD), ((0, 0), (0, 1), ROAD), ((0, 1), (0, 255), IGNORE), ((0, 255), (0, 127), IGNORE)],
)
def test_a_value_that_only_one_of_many_masks_has_is_understood(tmp_path, values, other, meant):
    images, masks = with_one_other(tmp_path, values, other)
    assert (labels_of(masks, images, images[20])[12] == meant).all()


def test_a_value_that_contradicts_the_others_is_refused_by_the_name_of_its_mask(tmp_path):
    images, masks = with_one_other(tmp_path, (0, 255), (0, 1))
    with pytest.raises(ImageryError, match=r"20\.png has values of unknown meaning: 1\."):
        labels_of(masks, images, images[20])


def test_masks_belong_to_images_by_name_and_the_others_are_told(tmp_path):
    images = [image_in(tmp_path, name) for name in ("town_7_sat.tif", "caf\u00e9_8_sat.tif", "town_9_sat.tif")]
    masks = [
        write(tmp_path / "masks" / name, mask_of(), driver="PNG")
        for name in ("mask_town_7.png", "cafe\u0301-8-mask.png", "town_6_mask.png")
    ]
    reporter = Reporter()
    read = read_masks(options(masks), "", images, reporter)
    assert read.of_image == {images[0]: [masks[0]], images[1]: [masks[1]]}
    assert any("town_9_sat.tif" in text for text in reporter.warnings)
    assert any("town_6_mask.png" in text for text in reporter.warnings)
    two = write(tmp_path / "masks" / "town_7_label.png", mask_of(), driver="PNG")
    with pytest.raises(LabelError, match="Two label masks have the same name"):
        read_masks(options([*masks, two]), "", images, Reporter())


def test_what_qgis_adds_to_a_name_is_no_part_of_it(tmp_path):
    image = f"vrt://{image_in(tmp_path, 'town_7.tif')}?a_srs=EPSG:32645&a_nodata=0.0"
    mask = write(tmp_path / "masks" / "town_7.png", mask_of(), driver="PNG")  # which has no place
    assert read_masks(options([mask]), "", [image], Reporter()).of_image == {image: [mask]}


def test_masks_belong_to_images_by_place_and_are_resampled_to_their_pixels(tmp_path):
    """One mask of 1 m pixels lies over two images of 0.5 m, and another one far away."""
    images = [image_in(tmp_path, "left.tif"), image_in(tmp_path, "right.tif", SIDE_PX)]
    whole = np.zeros((SIDE_PX // 2, SIDE_PX), np.uint8)
    whole[5:8] = 1
    whole[:, SIDE_PX // 2 :] = 0
    whole[0, SIDE_PX // 2] = 1
    mask = write(tmp_path / "masks" / "town.tif", whole, at(0, 0) @ Affine.scale(2), driver="GTiff")
    far = write(tmp_path / "masks" / "village.tif", whole, at(9000, 9000), driver="GTiff")
    left, right = (labels_of([mask, far], images, image) for image in images)
    assert (left == np.kron(whole[:, :20], np.ones((2, 2), np.uint8))).all()
    assert (right == np.kron(whole[:, 20:], np.ones((2, 2), np.uint8))).all() and right[:2, :2].all()


def strip_mask(folder, name, road_rows, column=0):
    """Write a georeferenced mask with road in some rows."""
    values = np.zeros((SIDE_PX, SIDE_PX), np.uint8)
    values[road_rows] = 1
    return write(folder / name, values, at(column, 0), driver="GTiff")


def test_masks_that_segment_roads_names_label_their_own_image_alone(tmp_path):
    """Two tiles overlap by half; the third has the name of the first, so that its mask has a number."""
    tiles = (("a", "tile.tif", 0), ("a", "tile_2.tif", SIDE_PX // 2), ("b", "tile.tif", 5 * SIDE_PX))
    for folder in "ab":
        (tmp_path / folder).mkdir()
    images = [image_in(tmp_path / folder, name, column) for folder, name, column in tiles]
    names = ("tile_roads.tif", "tile_2_roads.tif", "tile_roads_2.tif")
    rows = (slice(0, 4), slice(10, 14), slice(20, 24))
    masks = [strip_mask(tmp_path, *each) for each in zip(names, rows, (column for *_, column in tiles))]
    reporter = Reporter()
    for image, own in zip(images, rows):
        found = labels_of(masks, images, image, reporter=reporter)
        assert (found[own] == ROAD).all() and (found == ROAD).sum() == 4 * SIDE_PX
    assert not reporter.warnings
    pictures = [write(tmp_path / "pictures" / f"{name[:-4]}.png", mask_of(), driver="PNG") for name in names]
    with pytest.raises(LabelError, match=r"the same name: .*tile_roads\.png and .*tile_roads_2\.png"):
        labels_of(pictures, images)


def test_masks_by_place_that_contradict_each_other_do_not_count_there_and_are_named(tmp_path):
    """Two masks cover three quarters of an image each; a third agrees with the first."""
    image = image_in(tmp_path, "a.tif")
    masks = [
        strip_mask(tmp_path, name, rows, column)
        for name, rows, column in (("x.tif", slice(0, 4), -10), ("y.tif", slice(0, 8), 10), ("z.tif", slice(0, 4), -11))
    ]
    reporter = Reporter()
    found = labels_of(masks, [image], reporter=reporter)
    assert (found[:4] == ROAD).all() and (found[8:] == BACKGROUND).all()
    assert (
        (found[4:8, :10] == BACKGROUND).all()
        and (found[4:8, 10:30] == IGNORE).all()
        and (found[4:8, 30:] == ROAD).all()
    )
    (warning,) = reporter.warnings
    assert "different labels" in warning and "x.tif, y.tif, z.tif" in warning


def test_each_mask_may_declare_another_value_as_no_data(tmp_path):
    images = [image_in(tmp_path, f"{number}.tif") for number in range(20)]
    masks = [
        write(
            tmp_path / "masks" / f"{number}.tif", mask_of((0, 1, -number - 1), dtype=np.int16), at(0, 0),
            driver="GTiff", nodata=-number - 1,
        )
        for number in range(20)
    ]  # fmt: skip
    for image in images:
        found = labels_of(masks, images, image)
        assert (found[30:] == IGNORE).all() and (found[10:16] == ROAD).all() and (found[:10] == BACKGROUND).all()


def test_a_probability_is_no_label_mask(tmp_path):
    image = image_in(tmp_path, "a.tif")
    values = np.where(mask_of() == 255, 0.7, 0.2).astype(np.float32)
    with pytest.raises(LabelError, match=r"a\.tif is a probability"):
        labels_of([write(tmp_path / "masks" / "a.tif", values, driver="GTiff")], [image])


def test_two_masks_of_the_same_place_are_refused(tmp_path):
    image = image_in(tmp_path, "town.tif")
    masks = [
        write(tmp_path / "masks" / name, mask_of(), at(0, 0), driver="GTiff") for name in ("roads.tif", "houses.tif")
    ]
    with pytest.raises(LabelError, match=r"same place: .*roads\.tif and .*houses\.tif"):
        labels_of(masks, [image])


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_beyond_a_mask_nothing_is_labeled(tmp_path, dtype):
    image = image_in(tmp_path, "a.tif")
    mask = write(tmp_path / "masks" / "a.tif", mask_of(side_px=20, dtype=dtype), at(-5, 3), driver="GTiff")
    found = labels_of([mask], [image])
    expected = np.full((SIDE_PX, SIDE_PX), IGNORE)
    expected[3:23, :15] = np.where(mask_of(side_px=20) == 255, ROAD, BACKGROUND)[:, 5:]
    assert (found == expected).all()
    with open_raster(image) as dataset:
        part = read_masks(options([mask]), "", [image], Reporter()).burn(grid_of(dataset), image)
    assert (part.column, part.row, part.values.shape) == (0, 3, (20, 15))


def test_a_shift_by_whole_pixels_is_noticed(tmp_path):
    image = image_in(tmp_path, "a.tif")
    mask = write(tmp_path / "masks" / "a.tif", mask_of(), at(2, -1), driver="GTiff")
    reporter = Reporter()
    labels_of([mask], [image], reporter=reporter)
    assert any("by 2 columns and -1 rows" in text for text in reporter.warnings)


@pytest.mark.parametrize("turn", [0, -1])
@pytest.mark.parametrize(("crs", "unit", "west"), [(4326, 360, 180), (3857, 40075016.685578488, 20037508.342789244)])
def test_a_mask_across_the_antimeridian_is_whole_on_its_image(tmp_path, crs, unit, west, turn):
    def place(unit, west):
        side = unit / 1e8
        return Affine(side, 0, west - SIDE_PX / 2 * side, 0, -side, 0)

    image = write(tmp_path / "images" / "a.tif", np.ones((SIDE_PX, SIDE_PX), np.uint8), place(360, 180), "EPSG:4326")
    mask = write(tmp_path / "masks" / "b.tif", mask_of(), place(unit, west + turn * unit), f"EPSG:{crs}")
    labels = labels_of([mask], [image])
    assert (labels[11:15] == ROAD).all() and (labels[17:-1] == BACKGROUND).all()
