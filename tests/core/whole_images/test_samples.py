import numpy as np
import pytest

from tests.core.support.labeled import labeled_image
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.geodata.rasters import Band
from training_core.geodata.tiling import tile_grid
from training_core.whole_images.samples import draw_images, sample_of

MARK = 1000


def image(height=70, width=100, classes=False):
    """An image that shows where its roads are, which no turn or mirror image leaves in place."""
    training = np.zeros((height, width), np.uint8)
    training[20:26] = ROAD
    training[30:36, 60:63] = ROAD
    training[50:] = IGNORE
    return labeled_image(
        training,
        np.where(training == ROAD, MARK, 0)[None].repeat(2, 0).astype(np.uint16),
        bands=(Band("one", 0.0, 1.0), Band("two", 0.0, 10.0)),
        classes=(training == ROAD) * np.uint8(3) if classes else None,
    )


def drawn(images, seed, number, count):
    """Return the images of a step."""
    return next(draw_images(images, seed, count, number))[0]


def whole(sample):
    """Return the image of a sample, and its labels, read at once."""
    (tile,) = tile_grid(*sample.shape[::-1], 4096, 0)
    return sample.read(tile), sample.labels(slice(None), slice(None))


def test_image_and_labels_are_turned_together_all_eight_ways():
    seen = set()
    for number in range(60):
        (sample,) = drawn([image()], 0, number, 1)
        values, labels = whole(sample)
        assert values.shape == (2, 96, 128) if sample.shape == (70, 100) else (2, 128, 96)
        height, width = sample.shape
        for band, scale in zip(values, (1, 0.1)):
            np.testing.assert_array_equal(band[:height, :width] > MARK / 3 * scale, labels == ROAD)
            assert not band[height:].any() and not band[:, width:].any()
        seen.add(labels.tobytes())
    assert len(seen) == 8


def test_tiles_are_cut_from_the_whole():
    sample = sample_of(image(), np.ones(2, np.float32), np.zeros(2, np.float32), 3)
    values, labels = whole(sample)
    for tile in tile_grid(70, 100, 32, 32):
        column, row, width, height = tile.read_window
        found = sample.read(tile)
        np.testing.assert_array_equal(found[:, :height, :width], values[:, row : row + height, column : column + width])
        np.testing.assert_array_equal(sample.labels(*tile.destination), labels[tile.destination])


def test_values_are_scaled_and_unknown_pixels_are_the_mean():
    labeled = image()
    labeled.known[20, 20] = False
    values, _ = whole(sample_of(labeled, np.array([2, 3], np.float32), np.array([1, -1], np.float32)))
    assert values[:, 21, 20].tolist() == [2 * MARK + 1, 3 * MARK - 1] and values[:, 20, 20].tolist() == [0, 0]
    assert values[:, 0, 0].tolist() == [1, -1]


def test_roads_of_known_class_have_their_number():
    labeled = image(classes=True)
    labeled.classes[20] = 0
    _, labels = whole(sample_of(labeled, np.ones(2, np.float32), np.zeros(2, np.float32)))
    assert labels[20, 0] == ROAD and labels[21, 0] == ROAD + 3 and labels[0, 0] == 0 and labels[60, 0] == IGNORE
    assert (labeled.training[21] == ROAD).all()  # it is a copy


def test_contrast_and_brightness_vary_and_the_same_seed_draws_the_same():
    first, again, other = (drawn([image()], seed, 3, 2) for seed in (0, 0, 1))
    for one, same in zip(first, again):
        assert np.array_equal(one.scale, same.scale) and np.array_equal(one.offset, same.offset)
        assert np.array_equal(one.values, same.values)
    assert len({each.scale[0] for each in (*first, *other)}) == 4


def test_images_are_drawn_by_their_labeled_pixels():
    small, large, blank = image(width=100), image(width=300), image()
    blank.training[:] = IGNORE
    samples, labeled_px = next(draw_images([small, large, blank], 0, 1000, 0))
    assert labeled_px == [each.labeled_px for each in samples] and set(labeled_px) == {5000, 15000}  # 50 rows
    assert np.mean([each == 15000 for each in labeled_px]) == pytest.approx(0.75, abs=0.05)
