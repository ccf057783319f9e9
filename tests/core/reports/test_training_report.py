import base64
import dataclasses
import io
import re

import numpy as np
import pytest
from matplotlib.image import imread

from tests.core.support.browser import HOSTILE, Page, check_self_contained, squeezed
from training_core.comparison.evaluation import Panel
from training_core.jobs import FineTune
from training_core.labels.labeled_images import ImageSummary
from training_core.models.engines import NativeEngine
from training_core.reports import overlays
from training_core.reports.charts import Series, line_chart, smoothed
from training_core.reports.colors import rgb
from training_core.reports.training_report import ParallelFigures, TrainingRecord, write_training_report
from training_core.segmentation.pixel_metrics import Scores

WITHOUT_CHARTS = {"steps": [], "validations": [], "thresholds": [], "sweep": []}


@pytest.fixture(scope="module")
def record():
    rng = np.random.default_rng(0)
    truth = np.zeros((40, 60), np.uint8)
    truth[18:22], truth[:, :15] = 1, 255
    probability = np.where(truth == 1, 200, rng.integers(0, 80, truth.shape)).astype(np.uint8)
    image = rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)
    job = FineTune(rasters=("a.tif",), roads=HOSTILE, model="out.safetensors", minutes=3.0)
    return TrainingRecord(
        options=dataclasses.asdict(job),
        hardware="A processor, 2 cores",
        engine=NativeEngine("fp32", "there is no BF16 unit"),
        images=[ImageSummary("town <b>.tif", 4321, 1234, 0.305, 0.25, 0.083)],
        steps=[(step, step * 2.0, 1 / step, 1e-3) for step in range(1, 91)],
        validations=[(30, 60.0, Scores(0.2, 0.4, 0.35, 0.5)), (90, 180.0, Scores(0.612, 0.759, 0.731, 0.789))],
        scores=Scores(0.612, 0.759, 0.731, 0.789),
        thresholds=[0.0, 0.5, 1.0],
        sweep=[Scores(0.1, 0.2, 0.1, 1.0), Scores(0.612, 0.759, 0.731, 0.789), Scores(0, 0, 0, 0)],
        threshold=0.47,
        timings_s={"forward": 60.0, "backward": 100.0, "validation": 40.0},
        images_per_s=2.345,
        steps_done=90,
        warnings=["The images differ in <ground> resolution."],
        panels=[Panel(image, truth, probability, "block <7>")],
    )


def page_of(record, folder):
    path = folder / "report.html"
    write_training_report(record, path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(record, tmp_path_factory):
    """The page of the record."""
    return page_of(record, tmp_path_factory.mktemp("report"))


def test_the_report_is_well_formed_and_holds_the_numbers(text):
    page = Page(text)
    for words in (
        "After 3.0 min and 90 steps the model finds roads with an F1 score of 0.759 (IoU 0.612)",
        "Precision 0.731", "Recall 0.789", "Threshold 0.47", "Chips per second 2.35",
        "town <b>.tif", "4,321 \u00d7 1,234", "0.30 m", "25.0 %", "8.3 %",
        "backward 1.7 min", "50.0 %", "A processor, 2 cores", "native, fp32", "there is no BF16 unit",
        "Time budget minutes 3.0 min", "The images differ in <ground> resolution.", "block <7>",
    ):  # fmt: skip
        assert squeezed(words) in squeezed(page.text), words
    assert page.elements.count("svg") == 4
    assert page.elements.count("img") == 3


def words_of(record, folder):
    return squeezed(Page(page_of(record, folder)).text)


def test_the_report_shows_how_the_training_went(record, text, tmp_path):
    image = dataclasses.replace(
        record.images[0], training_px=8000, validation_px=2000, training_road_share=0.09, validation_road_share=0.055
    )
    trained = dataclasses.replace(
        record,
        options={**record.options, "batch_size": 4, "accumulation": 8, "frozen_stages": 2, "encoder_rate": 0.1},
        images=[image],
        notes=["Stopped at <step> 90."],
        steps_done=95,
        steps_planned=400,
        memory_bytes=3_210_000_000,
    )
    words = words_of(trained, tmp_path)
    for expected in (
        "Steps 95 of 400", "Effective batch size 32 chips, in 8 batches of 4", "Peak learning rate 0.001",
        "encoder 0.1 of it", "2 of 5", "Memory (estimate) 3.2 GB",
        "Stopped at <step> 90.", "8,000, 9.0 %", "2,000, 5.5 %", "chosen: 0.47",
    ):  # fmt: skip
        assert squeezed(expected) in words, expected
    assert "Heldout(px,road)" in words and "Heldout(px,road)" not in squeezed(Page(text).text)


def test_a_run_of_several_processes_shows_what_they_gained(record, text, tmp_path):
    run = ParallelFigures(4, 2, 16, 3.2, 0.8, 0.12, 0.3, 0.05, 1.5e8, [1.0, 1.8, 2.5, 3.2, 3.8])
    words = words_of(dataclasses.replace(record, parallel=run), tmp_path)
    for expected in (
        "Processes 4 on 2 machines, 16 threads each", "Speed-up 3.20 of 4",
        "Efficiency 80 %", "12 % of the time of steps, 300 ms a step",
        "the slowest process computed 5.0 % longer", "Sent by each process 150 MB a step", "ideal", "this run",
    ):  # fmt: skip
        assert squeezed(expected) in words, expected
    assert "Speed-up" not in text


def test_nothing_is_fetched_and_nothing_runs_and_what_others_wrote_is_escaped(text):
    check_self_contained(text)
    assert HOSTILE in Page(text).text and "&lt;script&gt;" in text


def test_the_best_validation_counts_and_a_training_without_one_has_a_report(record, tmp_path):
    worse = dataclasses.replace(record, validations=[*record.validations, (95, 190.0, Scores(0.1, 0.18, 0.1, 0.9))])
    assert worse.best[0] == 90
    scored = dataclasses.replace(record, scores=Scores(0.6, 0.75, 0.7, 0.8), steps=[], sweep=[])
    assert "F1 score of 0.750" in Page(page_of(scored, tmp_path)).text
    nothing = {"scores": None, "timings_s": {}, "warnings": [], "panels": [], "images": []}
    bare = dataclasses.replace(record, **WITHOUT_CHARTS, **nothing)
    page = Page(page_of(bare, tmp_path))
    assert "it was not validated" in page.text
    assert "svg" not in page.elements and "img" not in page.elements


def test_ids_of_charts_do_not_clash_and_long_series_do_not_swell_the_report(text, record, tmp_path):
    ids = [value for name, value in Page(text).attributes if name == "id"]
    clips = [identifier for identifier in ids if re.fullmatch(r"p[0-9a-f]+", identifier)]
    assert len(clips) >= 3 and len(clips) == len(set(clips))
    many = dataclasses.replace(record, steps=[(step, step * 0.1, 0.5, 1e-3) for step in range(1, 10_001)], panels=[])
    assert len(page_of(many, tmp_path)) < len(text) + 20_000


def test_panels_are_pictures_of_the_prediction_at_the_threshold(record, text):
    sources = [value for name, value in Page(text).attributes if name == "src"]
    decoded = [imread(io.BytesIO(base64.b64decode(source.split(",")[1])), format="png") for source in sources]
    panel = record.panels[0]
    assert np.array_equal(np.rint(decoded[0][..., :3] * 255), panel.image)
    expected = overlays.prediction_overlay(panel.image, panel.truth, panel.probability >= 0.47 * 254)
    assert np.array_equal(np.rint(decoded[2][..., :3] * 255), expected)


def test_overlays_color_hits_misses_and_false_alarms():
    image = np.full((1, 5, 3), 100, np.uint8)
    truth = np.array([[1, 1, 0, 0, 255]], np.uint8)
    mask = np.array([[True, False, True, False, False]])
    picture = overlays.prediction_overlay(image, truth, mask).astype(int)
    for pixel, color in ((0, overlays.HIT_COLOR), (1, overlays.MISS_COLOR), (2, overlays.FALSE_ALARM_COLOR)):
        assert np.abs(picture[0, pixel] - rgb(color)).sum() < np.abs(picture[0, pixel] - 100).sum()
    assert (picture[0, 3] == 100).all()
    assert (picture[0, 4] < 100).all()
    labels = overlays.label_overlay(image, truth).astype(int)
    assert (labels[0, 0] != 100).any() and (labels[0, 2] == 100).all() and (labels[0, 4] < 100).all()


def test_reduced_pictures_keep_to_the_limit_and_smoothed_values_are_means_of_the_last():
    for size, step in ((512, 1), (513, 2), (1024, 2), (1025, 3)):
        pixels = np.arange(size * 3).reshape(size, 3)
        assert np.array_equal(overlays.reduced(pixels), pixels[::step, ::step])
    assert smoothed([4, 2, 0, 6], 2).tolist() == [4, 3, 1, 3]
    assert smoothed([4, 2, 0, 6], 9).tolist() == [4, 3, 2, 3]


def test_a_chart_says_what_it_shows():
    svg = line_chart("A name", [Series("loss", [0, 1, 2], [3.0, float("nan"), 1.0], "#123456")], "minutes", "loss")
    page = Page(svg)
    assert ("aria-label", "A name") in page.attributes
    assert "minutes" in page.text and "loss" in page.text
    assert "#123456" in svg
