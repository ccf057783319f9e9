import itertools

import numpy as np
import pytest
import torch

from tests.core.support.labeled import labeled_image
from training_core.comparison.evaluation import PANEL_PX, make_panels, scored_places, select_places
from training_core.geodata.rasters import Band
from training_core.segmentation.inference import Predictor


class Flat:
    """An engine that finds road nowhere."""

    def probability(self, prepared, images):
        return torch.zeros_like(images[:, :1])


BANDS = (Band("gray", 100.0, 50.0),)
PREDICTOR = Predictor(None, Flat(), BANDS)


def image_of(width, height):
    """An image of noise, all of it held out, with a road along its middle and others across it."""
    values = np.random.default_rng(0).integers(0, 255, (1, height, width), dtype=np.uint8)
    truth = np.zeros((height, width), np.uint8)
    truth[height // 2 - 5 : height // 2 + 5] = 1
    truth[:, :: width // 7] = 1
    return labeled_image(np.full_like(truth, 255), values, name="a.tif", validation=truth, bands=BANDS)


def is_twice_shown(panels):
    """Whether a row of pixels of one panel is in another."""
    rows = [{row.tobytes() for row in panel.image} for panel in panels]
    return any(one & other for one, other in itertools.combinations(rows, 2))


@pytest.mark.parametrize("size", [(801, 1401), (1024, 1024)])
def test_six_panels_show_six_places(size):
    panels = make_panels(PREDICTOR, [image_of(*size)], 6)
    assert len(panels) == 6 and not is_twice_shown(panels)


def test_a_small_image_has_fewer_panels_and_places_with_road_and_errors_do_not_overlap():
    panels = make_panels(PREDICTOR, [image_of(PANEL_PX + 40, PANEL_PX + 40)], 6)
    assert len(panels) == 1
    image = image_of(801, 1401)
    read = lambda column, row, width, height: (  # noqa: E731
        image.values[:, row : row + height, column : column + width], np.ones((height, width), bool)
    )  # fmt: skip
    probability = np.random.default_rng(0).integers(0, 255, image.validation.shape, dtype=np.uint8)
    places = scored_places("a.tif", ["gray"], read, image.validation, probability, 0.5, 6)
    panels = [place.panel for place in select_places(places, 6)]
    assert len(panels) == 6 and not is_twice_shown(panels)
