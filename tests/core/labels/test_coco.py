"""COCO annotations in place of label masks: polygons, run-length codes, categories, and damaged files."""

import json

import numpy as np
import pytest

from tests.core.labels.test_label_masks import image_in, labels_of
from training_core.errors import LabelError
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.labels.coco import read_coco

SIDE_PX = 40
# Five rows of pixels, two pixels wide, from column 3 and row 10 on.
BAR = [3, 10, 5, 10, 5, 15, 3, 15]
# The same in runs of pixels, column by column; compressed, runs from the third on are differences to the last but one.
RUNS = [3 * 40 + 10, 5, 35, 5, 35 * 40 + 25]


def coco(folder, *segmentations, categories=("road",), size=(SIDE_PX, SIDE_PX), name="a.tif"):
    """Write annotations of an image, each of a segmentation and the number of its category."""
    document = {
        "images": [{"id": 7, "file_name": f"images/{name}", "width": size[0], "height": size[1]}],
        "categories": [{"id": number, "name": each} for number, each in enumerate(categories)],
        "annotations": [
            {"id": number, "image_id": 7, "category_id": category, "segmentation": segmentation}
            for number, (segmentation, category) in enumerate(segmentations)
        ],
    }
    path = folder / "annotations.json"
    path.write_text(json.dumps(document))
    return str(path)


def bar():
    expected = np.full((SIDE_PX, SIDE_PX), BACKGROUND)
    expected[10:15, 3:5] = ROAD
    return expected


def code(runs):
    """Compress runs as pycocotools do: differences from the third on, five bits a character, the lowest first."""
    text = ""
    for at, value in enumerate(runs):
        value -= runs[at - 2] if at > 2 else 0
        while True:
            bits, value = value & 31, value >> 5
            is_last = value == (-1 if bits & 16 else 0)
            text += chr(48 + bits + (0 if is_last else 32))
            if is_last:
                break
    return text


@pytest.mark.parametrize("counts", [RUNS, code(RUNS)])
def test_polygons_and_run_length_codes_are_the_same_pixels(tmp_path, counts):
    image = image_in(tmp_path, "a.tif")
    for segmentation in ([BAR], {"size": [SIDE_PX, SIDE_PX], "counts": counts}):
        assert (labels_of([coco(tmp_path, (segmentation, 0))], [image]) == bar()).all()


def test_runs_go_column_by_column(tmp_path):
    """Of 3 x 3 pixels the middle column is set: the runs 3, 3, 3, each one character."""
    image = read_coco(coco(tmp_path, ({"size": [3, 3], "counts": "333"}, 0), size=(3, 3)))
    with next(iter(image.values())).open() as dataset:
        assert (dataset.read(1) == [[0, 1, 0]] * 3).all()


def test_categories_are_told_by_their_names(tmp_path):
    image = image_in(tmp_path, "a.tif")
    right = [[20, 0, 30, 0, 30, 40, 20, 40]]
    categories = ("house", "Main roads", "unknown")
    found = labels_of([coco(tmp_path, ([BAR], 1), (right, 2), (right, 0), categories=categories)], [image])
    expected = bar()
    expected[:, 20:30] = IGNORE
    assert (found == expected).all()
    with pytest.raises(LabelError, match=r"None of the categories of .*annotations\.json is called road: house, tree"):
        labels_of([coco(tmp_path, ([BAR], 1), categories=("house", "tree"))], [image])


@pytest.mark.parametrize(
    "segmentation",
    [[[1, 2, 3, 4]], [[1, 2, 3, 4, 5]], [["x"] * 6], 7, None, {"counts": [1, 2]}, {"counts": [-1, 1601]},
     {"counts": "P"}, {"counts": [[1600]]},
     {"size": [40, 40]}],
)  # fmt: skip
def test_a_damaged_segmentation_is_refused_by_the_name_of_its_image(tmp_path, segmentation):
    with pytest.raises(LabelError, match=r"annotations\.json cannot be read: A segmentation on images/a\.tif"):
        read_coco(coco(tmp_path, (segmentation, 0)))


def test_damaged_files_are_refused(tmp_path):
    whole = coco(tmp_path, ([BAR], 0))
    text = (tmp_path / "annotations.json").read_text()
    other_image = text.replace('"image_id": 7', '"image_id": 8')
    without_images = json.dumps({**json.loads(text), "images": [], "annotations": []})
    for damaged in (
        without_images,
        text[:-20],
        "",
        "[]",
        text.replace("images", "pictures"),
        other_image,
        text.replace("40", "4e9"),
    ):
        (tmp_path / "annotations.json").write_text(damaged)
        with pytest.raises(LabelError, match=r"annotations\.json cannot be read"):
            read_coco(whole)
    with pytest.raises(LabelError, match="none.json cannot be read"):
        read_coco(str(tmp_path / "none.json"))


def test_images_that_are_missing_or_of_another_size_are_told(tmp_path):
    image = image_in(tmp_path, "b.tif")
    with pytest.raises(LabelError, match="None of the 1 label masks belongs to one of the 1 images"):
        labels_of([coco(tmp_path, ([BAR], 0))], [image])
    with pytest.raises(LabelError, match="30 x 40 pixels, but its image .*has 40 x 40"):
        labels_of([coco(tmp_path, ([BAR], 0), name="b.tif", size=(30, 40))], [image])
