import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from shapely import affinity
from shapely.geometry import box

from tests.core.support.no_data import write_palette
from tests.core.support.rasters import NORTH_UP, write_layer, write_raster
from tests.core.support.towns import ROAD_M, ROADS, SIDE_PX, image_of, on_map
from training_core.events import Reporter, Warning
from training_core.jobs import Evaluate, Segment
from training_core.pipelines import evaluate, segment

SCORES = ("iou", "f1", "precision", "recall")


def score(reporter=None, **options):
    defaults = {"engine": "native", "precision": "fp32", "threads": 1, "width_m": ROAD_M}
    return evaluate.run(Evaluate(**{**defaults, **options}), reporter or Reporter())


def on_town(town, model, **options):
    return {**town.labeled, "model": model, **options}


def mask_of(raster, model, folder, **options):
    job = Segment(
        raster=raster,
        model=model,
        mask=str(folder / "mask.tif"),
        engine="native",
        precision="fp32",
        threads=1,
        **options,
    )
    segment.run(job, Reporter())
    with rasterio.open(job.mask) as dataset:
        return dataset.read(1)


def expected_scores(found, truth):
    hits, false_alarms, misses = (found & truth).sum(), (found & ~truth).sum(), (~found & truth).sum()
    precision, recall = hits / (hits + false_alarms), hits / (hits + misses)
    return {
        "iou": hits / (hits + false_alarms + misses),
        "f1": 2 * precision * recall / (precision + recall),
        "precision": precision,
        "recall": recall,
    }


def test_a_model_that_learned_the_roads_scores_well(town, learned):
    result = score(**on_town(town, learned.model))
    assert result["pixel"]["f1"] > 0.85 and result["pixel"]["iou"] > 0.75
    assert 0.95 < result["relaxed"]["f1"] <= 1 and result["relaxed"]["f1"] >= result["pixel"]["f1"]
    assert result["threshold"] == learned.result["threshold"] and result["tolerance_m"] == 3.0


def test_roads_that_lie_beside_are_forgiven_within_the_tolerance(town, learned, tmp_path):
    shifted = [affinity.translate(on_map(road), 4, 0) for road in ROADS[:2]]
    roads = write_layer(tmp_path / "roads.gpkg", *shifted)
    aoi = write_layer(tmp_path / "aoi.gpkg", on_map(box(20, 110, 170, 190)))
    near, far = (
        score(**on_town(town, learned.model, roads=roads, aoi=aoi, tolerance_m=tolerance_m))
        for tolerance_m in (1.0, 8.0)
    )
    assert near["pixel"]["f1"] == far["pixel"]["f1"] < 0.75
    assert near["relaxed"]["f1"] < 0.85 < 0.97 < far["relaxed"]["f1"]


def test_each_image_and_all_of_them_have_scores_and_one_without_data_or_labels_is_left_out(town, planted, tmp_path):
    values = image_of(town.truth)
    values[:, 100:] = 0
    values[:, :100] = values[:, :100].clip(1)
    half = write_raster(tmp_path / "half.tif", values, nodata=0, photometric="rgb")
    void = write_raster(tmp_path / "void.tif", np.zeros_like(values), nodata=0, photometric="rgb")
    ground, elsewhere = image_of(np.zeros((40, 40), bool)), NORTH_UP @ Affine.translation(9000, 0)
    far = write_raster(tmp_path / "far.tif", ground, transform=elsewhere, photometric="rgb")
    events = []
    result = score(Reporter(events.append), **on_town(town, planted, rasters=(far, town.raster, void, half)))
    assert [row["name"] for row in result["images"]] == ["town.tif", "half.tif"]
    warnings = [event.message for event in events if isinstance(event, Warning)]
    assert any("void.tif has no data" in text for text in warnings)
    assert any("far.tif; it is left out" in text for text in warnings)
    for row, alone in zip(result["images"], (town.raster, half)):
        expected = score(**on_town(town, planted, rasters=(alone,)))
        assert {"name", "pixels", "road_share", "pixel", "relaxed"} == set(row)
        assert all(row[key] == expected[key] for key in row if key != "name")
    assert [row["pixels"] for row in result["images"]] == [SIDE_PX**2, 100 * SIDE_PX]
    assert result["pixels"] == SIDE_PX**2 + 100 * SIDE_PX
    known = mask_of(half, planted, tmp_path)[:100] == 1
    for name, value in expected_scores(known, town.truth[:100]).items():
        assert result["images"][1]["pixel"][name] == pytest.approx(value, abs=0.005), name
    road = town.truth.sum() + town.truth[:100].sum()
    assert result["road_share"] == pytest.approx(road / result["pixels"], abs=0.005)


def test_labels_without_any_road_are_warned_of(town, planted, tmp_path):
    events = []
    mask = write_raster(tmp_path / "town.tif", np.zeros((SIDE_PX, SIDE_PX), "uint8"))
    result = score(Reporter(events.append), rasters=(town.raster,), masks=(mask,), model=planted)
    (warning,) = [event.message for event in events if isinstance(event, Warning)]
    assert result["road_share"] == 0 and f"{mask}, show no road on the images" in warning


def test_each_polygon_of_the_area_has_scores(town, planted, tmp_path):
    boxes = [box(30, 20, 100, 110), box(100, 90, 190, 180), box(5000, 0, 5100, 50), box(90, 100, 110, 120)]
    result = score(**on_town(town, planted, aoi=write_layer(tmp_path / "aoi.gpkg", *map(on_map, boxes))))
    assert [row["area"] for row in result["areas"]] == [1, 2, 4]
    found = mask_of(town.raster, planted, tmp_path) == 1
    for row, window in zip(result["areas"], (np.s_[20:110, 30:100], np.s_[90:180, 100:190])):
        assert row["pixels"] == found[window].size
        for name, value in expected_scores(found[window], town.truth[window]).items():
            assert row["pixel"][name] == pytest.approx(value, abs=0.01), name
    assert score(**on_town(town, planted))["areas"] == []  # one polygon is all


def test_it_says_what_a_better_threshold_would_give(town, learned):
    result = score(**on_town(town, learned.model, threshold=0.999))
    best = result["best"]
    assert best["f1"] > result["pixel"]["f1"]
    at_best = score(**on_town(town, learned.model, threshold=best["threshold"]))
    assert at_best["pixel"] == {name: best[name] for name in SCORES}


def test_scores_as_json_and_as_a_report(town, learned, tmp_path):
    files = {"report": str(tmp_path / "out" / "report.html"), "scores": str(tmp_path / "out" / "scores.json")}
    result = score(**on_town(town, learned.model, threshold=0.9, **files))
    document = json.loads(Path(files["scores"]).read_text(encoding="utf-8"))
    assert {**document, **files} == result
    assert document["model"] == "town model.safetensors" and document["versions"]["roadseg"]
    assert str(tmp_path) not in json.dumps(document) and str(Path(town.raster).parent) not in json.dumps(document)
    page = Path(files["report"]).read_text(encoding="utf-8")
    for value in (result["pixel"]["f1"], result["pixel"]["iou"], result["relaxed"]["f1"], result["best"]["f1"]):
        assert f"{value:.3f}" in page
    assert "town.tif" in page and "It was trained on images of the same name" in page
    assert page.count("<img") == 3 and page.count("<svg") == 2  # the town is one panel
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "scores.json"]


def test_panels_show_a_palette_as_its_colors(town, planted, tmp_path):
    with rasterio.open(town.raster) as dataset:
        profile = {"crs": dataset.crs, "transform": dataset.transform}
        indexes = dataset.read(1)
    table = [(index, index, 255 - index, 255) for index in range(256)]
    raster = write_palette(tmp_path / "town.tif", indexes, table, **profile)
    score(**on_town(town, planted, rasters=(raster,), report=str(tmp_path / "report.html")))
    assert "<img" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_result_stays_a_line_however_many_areas_there_are(town, planted, tmp_path):
    squares = [on_map(box(x, y, x + 8, y + 8)) for x in range(0, 160, 8) for y in range(0, 88, 8)]
    scores = tmp_path / "scores.json"
    result = score(**on_town(town, planted, aoi=write_layer(tmp_path / "aoi.gpkg", *squares), scores=str(scores)))
    assert "areas" not in result and len(result["images"]) == 1
    assert len(json.loads(scores.read_text())["areas"]) == len(squares) > evaluate.MAX_ROWS
