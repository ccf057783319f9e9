import dataclasses

import numpy as np
import pytest

from tests.core.support.browser import HOSTILE, Page, check_self_contained, squeezed
from training_core.comparison.evaluation import Panel
from training_core.geodata.rasters import Band
from training_core.jobs import Evaluate
from training_core.labels.labeled_images import ImageSummary
from training_core.models.architectures import Architecture
from training_core.models.engines import NativeEngine
from training_core.models.model_card import ModelCard
from training_core.reports.evaluation_report import EvaluationRecord, write_evaluation_report
from training_core.segmentation.pixel_metrics import Confusion, RelaxedCounts, Tally


@pytest.fixture(scope="module")
def record():
    random = np.random.default_rng(0)
    truth = (random.random((80, 80)) < 0.2).astype(np.uint8)
    probability = np.clip(np.where(truth, 150, 70) + random.normal(0, 45, truth.shape), 0, 254).astype(np.uint8)
    confusion = Confusion()
    confusion.add(probability, truth)
    tally = Tally(confusion, RelaxedCounts(predicted=100, correct=80, true=50, found=45))
    job = Evaluate(rasters=("a.tif",), roads=HOSTILE, model="m.safetensors", tolerance_m=4.5)
    card = ModelCard(
        architecture=Architecture(),
        bands=(Band("red"), Band(HOSTILE)),
        resolution_m=0.305,
        threshold=0.43,
        training={"images": ["town <b>.tif", "far.tif"], "steps": 12, "learning_rate": 0.00123, "note": HOSTILE},
        metrics={"iou": 0.5, "f1": "high"},
        versions={"torch": "2.8.0"},
    )
    picture = random.integers(0, 255, (80, 80, 3), dtype=np.uint8)
    return EvaluationRecord(
        options=dataclasses.asdict(job),
        model="m <i>.safetensors",
        card=card,
        hardware="A processor, 2 cores",
        engine=NativeEngine("bf16", "asked for"),
        confusion=confusion,
        threshold=0.9,
        total=tally.scores(0.9),
        images=[("town <b>.tif", tally.scores(0.9)), ("other.tif", Tally().scores(0.9))],
        areas=[("Area 3", tally.scores(0.9))],
        summaries=[ImageSummary("town <b>.tif", 80, 80, 0.305, 0.5, 0.2)],
        timings_s={"predicting": 30.0, "scoring": 10.0},
        warnings=["x.tif has no <data>."],
        panels=[Panel(picture, truth, probability, "here <7>")],
        versions={"roadseg": "0.1.0"},
    )


def page_of(record, folder):
    write_evaluation_report(record, folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


def words_of(record, folder):
    return squeezed(Page(page_of(record, folder)).text)


def test_the_page_is_well_formed_and_holds_the_numbers_and_nothing_runs(record, tmp_path):
    text = page_of(record, tmp_path)
    page = Page(text)
    words = squeezed(page.text)
    total, best = record.total, record.best
    for expected in (
        f"The model m <i>.safetensors finds roads with an F1 score of {total.pixel.f1:.3f} (IoU {total.pixel.iou:.3f})",
        f"Within a tolerance of 4.5 m, its F1 score is {total.relaxed.f1:.3f}",
        f"Relaxed F1 {total.relaxed.f1:.3f}", f"{total.relaxed.f1:.3f} 0.800 0.900", "Threshold 0.90",
        f"town <b>.tif 6,400 {total.road_share:.1%}".replace("%", " %"), "other.tif 0", "Area 3 6,400", "All 6,400",
        f"A threshold of {record.best_threshold:.2f} would have the best F1 score here: {best.f1:.3f}",
        "used: 0.90", "x.tif has no <data>.", "here <7>", "0.30 m", "20.0 %",
        "Stored threshold 0.43", "Training: learning rate 0.00123", "Training: images town <b>.tif, far.tif",
        "iou 0.5, f1 high", "It was trained on images of the same name: town <b>.tif.",
        "predicting 30.0 s 75.0 %", "native, bf16", "roadseg 0.1.0", "Tolerance tolerance_m 4.5 m",
    ):  # fmt: skip
        assert squeezed(expected) in words, expected
    assert page.elements.count("svg") == 2 and page.elements.count("img") == 3
    assert HOSTILE in page.text
    check_self_contained(text)


def test_a_record_with_another_threshold_or_without_any_road_has_its_page(record, tmp_path):
    threshold = record.best_threshold
    best = dataclasses.replace(record, threshold=threshold, total=Tally(record.confusion).scores(threshold))
    assert "Nootheronewouldhaveabetter" in words_of(best, tmp_path)
    nothing = Confusion()
    nothing.add(np.zeros(9, np.uint8), np.zeros(9, np.uint8))
    bare = dataclasses.replace(
        record, confusion=nothing, total=Tally(nothing).scores(0.9), areas=[], panels=[], warnings=[], timings_s={}
    )
    assert Page(page_of(bare, tmp_path)).elements.count("img") == 0


@pytest.mark.parametrize("training", [{}, {"images": "town <b>.tif"}, {"images": [1, ["x"]]}])
def test_a_model_may_say_little_or_nonsense_of_its_images(record, tmp_path, training):
    odd = dataclasses.replace(record, card=dataclasses.replace(record.card, training=training, metrics={}, versions={}))
    assert "ofthesamename" not in words_of(odd, tmp_path)


def test_of_metadata_without_end_a_readable_part_is_shown(record, tmp_path):
    training = {f"note {number} {'k' * 2000}": ["x" * 10_000] * 50 for number in range(2000)}
    metrics = {f"score {number}": "y" * 1000 for number in range(2000)}
    card = dataclasses.replace(record.card, training=training, metrics=metrics, versions=metrics)
    former, page = page_of(record, tmp_path), page_of(dataclasses.replace(record, card=card), tmp_path)
    assert "note 0 kkk" in page and "score 0" in page and len(page) < len(former) + 300_000
