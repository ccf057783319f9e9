from dataclasses import replace

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st

from tests.core.support.rasters import write_raster
from training_core.events import Log, Reporter, Warning
from training_core.jobs import ExtractRoads, MapRegion, Segment
from training_core.learning.calibration import with_scaled_logits
from training_core.models.loading import load_weights
from training_core.models.model_file import save_model
from training_core.pipelines import extractroads, mapregion, segment
from training_core.segmentation.pixel_metrics import Confusion
from training_core.segmentation.segmenter import chosen_threshold

COMPUTE = {"engine": "native", "precision": "fp32", "threads": 1}


@pytest.fixture(scope="module")
def uncertain(learned, tmp_path_factory):
    """A model that decides by image, and gives roads far lower probabilities than its own threshold."""
    weights, card = load_weights(learned.model)
    path = tmp_path_factory.mktemp("uncertain") / "model.safetensors"
    save_model(path, with_scaled_logits(weights, 0.5, -2.0), replace(card, threshold=0.9, threshold_by_image=True))
    return str(path)


def probabilities(road_fraction, certainty, seed):
    """Return which of many pixels are road, and their log odds, which are calibrated."""
    rng = np.random.default_rng(seed)
    is_road = rng.random(100_000) < road_fraction
    # Of two normal distributions with the same variance the log odds are linear.
    value = rng.normal(0, 1, is_road.shape) + np.where(is_road, certainty, 0)
    return is_road, certainty * value - certainty**2 / 2 + np.log(road_fraction / (1 - road_fraction))


def iou(mask, truth):
    with rasterio.open(mask) as dataset:
        found = dataset.read(1) == 1
    return (found & truth).sum() / (found | truth).sum()


def as_bytes(log_odds):
    return np.rint(254 / (1 + np.exp(-log_odds))).astype(np.uint8)


TOWN, SPARSE = st.tuples(st.floats(0.1, 0.3), st.floats(2, 4)), st.tuples(st.floats(0.01, 0.1), st.floats(3, 4))


@given(TOWN | SPARSE, st.integers(0, 1000))
def test_with_calibrated_probabilities_f1_is_next_to_the_best(kind, seed):
    road_fraction, certainty = kind
    is_road, log_odds = probabilities(road_fraction, certainty, seed)
    confusion = Confusion()
    confusion.add(as_bytes(log_odds), is_road.astype(np.uint8))
    threshold = chosen_threshold(np.bincount(as_bytes(log_odds), minlength=255))
    assert confusion.scores(threshold).f1 > confusion.scores(confusion.best_threshold()).f1 - 0.03


@pytest.mark.parametrize("doubt", [2.0, 2.5, 3.0])
def test_where_probabilities_are_too_low_the_threshold_follows_them(doubt):
    is_road, log_odds = probabilities(0.1, 3.0, 0)
    counts = np.bincount(as_bytes(log_odds - doubt), minlength=255)
    threshold = chosen_threshold(counts)
    found = as_bytes(log_odds - doubt) >= 254 * threshold
    assert threshold < chosen_threshold(np.bincount(as_bytes(log_odds), minlength=255))
    assert (found & is_road).sum() > 0.4 * is_road.sum()


def test_where_next_to_no_road_is_expected_none_is_chosen():
    # Ground without roads: a few pixels are thought to be road with one chance in five.
    counts = np.zeros(255, dtype=np.int64)
    counts[[2, 20, 50]] = 90_000, 8_000, 2_000
    assert chosen_threshold(counts) is None


def test_sparse_roads_of_which_the_model_is_sure_do_not_lower_the_threshold():
    # One pixel in a hundred is road with nine chances in ten, and ten with one in five.
    counts = np.zeros(255, dtype=np.int64)
    counts[[2, 50, 229]] = 89_000, 10_000, 1_000
    assert 50 < 254 * chosen_threshold(counts) <= 229


@pytest.mark.parametrize("values", [0, 1, 127, 254, range(255)], ids=["none", "next to none", "half", "all", "noise"])
def test_probabilities_that_show_no_roads_choose_nothing(values):
    counts = np.zeros(255, dtype=np.int64)
    counts[values] = 1000
    assert chosen_threshold(counts) is None


def test_an_uncertain_model_finds_its_roads_and_a_number_of_the_persons_wins(town, uncertain, tmp_path):
    told, mask = [], tmp_path / "mask.tif"
    job = Segment(raster=town.raster, model=uncertain, mask=str(mask), **COMPUTE)
    result = segment.run(job, Reporter(told.append))
    assert 0.05 < result["threshold"] < 0.6
    assert any("chosen for these images" in event.message for event in told if isinstance(event, Log))
    chosen = iou(mask, town.truth)
    assert segment.run(replace(job, threshold=0.9), Reporter())["threshold"] == 0.9
    stored = iou(mask, town.truth)
    segment.run(replace(job, threshold=0.05), Reporter())
    best = iou(mask, town.truth)
    assert chosen - stored > 0.5 * (best - stored) > 0.1


@pytest.mark.parametrize(("across", "down"), [(6, 1), (1, 6), (3, 2)])
def test_an_image_of_any_shape_is_sampled_within_its_borders(town, uncertain, tmp_path, across, down):
    with rasterio.open(town.raster) as dataset:
        values, crs = np.tile(dataset.read(), (1, down, across)), dataset.crs
    raster = write_raster(tmp_path / "image.tif", values[:, :-30, :-20], crs)
    job = Segment(raster=raster, model=uncertain, mask=str(tmp_path / "mask.tif"), **COMPUTE)
    assert 0.05 < segment.run(job, Reporter())["threshold"] < 0.6


def test_segment_extract_and_a_region_choose_alike(town, uncertain, tmp_path):
    alike = {"raster": town.raster, "model": uncertain, **COMPUTE}
    chosen = segment.run(Segment(mask=str(tmp_path / "mask.tif"), **alike), Reporter())["threshold"]
    extracted = extractroads.run(ExtractRoads(roads=str(tmp_path / "roads.gpkg"), **alike), Reporter())
    given, told = [], []
    region = {"folder": str(tmp_path / "region"), "roads": str(tmp_path / "region.gpkg"), "workers": 1}
    job = MapRegion(rasters=(town.raster,), model=uncertain, **region, **COMPUTE)
    mapregion.run(replace(job, threshold=0.9), Reporter(given.append))
    mapregion.run(job, Reporter(told.append))
    assert extracted["threshold"] == chosen
    assert not any("Threshold" in event.message for event in given if isinstance(event, Log))
    assert any(f"Threshold {chosen:.2f}" in event.message for event in told if isinstance(event, Log))


def test_a_model_that_sees_road_everywhere_keeps_its_threshold_and_warns(town, uncertain, tmp_path):
    weights, card = load_weights(uncertain)
    model, told = tmp_path / "model.safetensors", []
    save_model(model, with_scaled_logits(weights, 1.0, 100.0), card)
    job = Segment(raster=town.raster, model=str(model), mask=str(tmp_path / "mask.tif"), **COMPUTE)
    assert segment.run(job, Reporter(told.append))["threshold"] == 0.9
    assert any("do not look like roads" in event.message for event in told if isinstance(event, Warning))
