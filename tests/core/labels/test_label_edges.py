import numpy as np
import pytest

from tests.core.support.labeled import labeled_image
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.labels.training_images import ignore_edges
from training_core.system import large_arrays


def labeled(training, resolution_m=0.5):
    validation = np.where(training == ROAD, BACKGROUND, ROAD).astype(np.uint8)
    return labeled_image(training, np.zeros((1, *training.shape), np.uint8), resolution_m, validation=validation)


def road_of(width_px):
    labels = np.full((40, 60), BACKGROUND, np.uint8)
    labels[20 : 20 + width_px] = ROAD
    return labels


def test_a_band_on_both_sides_of_an_edge_is_ignored():
    before = labeled(road_of(10))
    after = ignore_edges(before, 1.0)
    assert [int(label) for label in after.training[:, 30]] == [0] * 18 + [IGNORE] * 4 + [1] * 6 + [IGNORE] * 4 + [0] * 8
    assert (before.training == road_of(10)).all() and (after.validation == before.validation).all()


@pytest.mark.parametrize("width_px", [1, 2, 4])
def test_a_narrow_road_keeps_its_pixels(width_px):
    labels = road_of(width_px)
    labels[:12] = ROAD  # a broad one beside it
    after = ignore_edges(labeled(labels), 1.0).training
    assert (after[20 : 20 + width_px] == ROAD).all() and (after[18:20] == IGNORE).all()
    assert (after[10:12] == IGNORE).all() and (after[:10] == ROAD).all()


def test_the_end_of_the_labels_is_no_edge():
    labels = np.full((40, 60), ROAD, np.uint8)
    labels[:, 30:] = IGNORE
    assert (ignore_edges(labeled(labels), 2.0).training == labels).all()


def test_strips_have_no_seams(monkeypatch):
    labels = (np.random.default_rng(0).random((64, 64)) > 0.5).astype(np.uint8).repeat(8, axis=0).repeat(8, axis=1)
    whole = ignore_edges(labeled(labels), 1.0).training
    monkeypatch.setattr(large_arrays, "STRIP_PX", 512 * 7)
    assert (ignore_edges(labeled(labels), 1.0).training == whole).all() and (whole == IGNORE).any()
