"""The way from an image to roads on the map, through QGIS' own command line client."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from osgeo import gdal, ogr

from scripts import headless

from .conftest import system_of, write_layer


def lines_of(path):
    source = ogr.Open(path)  # which must outlive its layer
    layer = source.GetLayer(0)
    return layer.GetSpatialRef().Clone(), [(feature.items(), feature.geometry().Clone()) for feature in layer]


def share_on_mask(lines, mask_path):
    """Return the share of the lines' points, one a meter, that lie on road pixels."""
    mask = gdal.Open(mask_path)
    west, x, _, north, _, y = mask.GetGeoTransform()
    values = mask.ReadAsArray()
    hits = []
    for _, geometry in lines:
        for distance in np.arange(0, geometry.Length(), max(geometry.Length() / 50, 1e-9)):
            point = geometry.Value(float(distance))
            column, row = int((point.GetX() - west) / x), int((point.GetY() - north) / y)
            hits.append(values[min(max(row, 0), values.shape[0] - 1), min(max(column, 0), values.shape[1] - 1)] == 1)
    return np.mean(hits)


def test_a_scene_is_made_with_its_roads(ground):
    dataset, source = gdal.Open(str(ground.image)), ogr.Open(str(ground.roads))
    layer = source.GetLayer(0)
    assert (dataset.RasterXSize, dataset.RasterCount) == (512, 3)
    assert layer.GetFeatureCount() == ground.made["COUNT"] > 0
    assert layer.GetSpatialRef().IsSame(dataset.GetSpatialRef())
    west, east, south, north = layer.GetExtent()
    left, pixel_m, _, top, _, _ = dataset.GetGeoTransform()
    assert pixel_m == 0.5
    assert left <= west <= east <= left + 512 * pixel_m and top - 512 * pixel_m <= south <= north <= top


def test_fine_tuning_learns_and_tells_its_numbers(ground):
    assert ground.learned["STEPS"] == 12 and ground.learned["IMAGES_PER_S"] > 0
    assert (
        0.3 < ground.learned["VALIDATION_F1"] <= 1
        and 0 < ground.learned["VALIDATION_IOU"] < ground.learned["VALIDATION_F1"]
    )
    report = ground.model.with_name("report.html").read_text(encoding="utf-8")
    HTMLParser().feed(report)
    assert f"{ground.learned['VALIDATION_F1']:.3f}" in report
    assert "://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", report)


@pytest.mark.slow
def test_evaluating_gives_scores_a_report_and_json(ground, evaluated):
    result, report, scores = evaluated, Path(evaluated["REPORT"]), Path(evaluated["SCORES"])
    assert 0 < result["PIXEL_IOU"] < result["PIXEL_F1"] <= result["RELAXED_F1"] <= 1
    assert result["BEST_F1"] >= result["PIXEL_F1"] > 0.3
    document = json.loads(scores.read_text(encoding="utf-8"))
    assert document["pixel"]["f1"] == pytest.approx(result["PIXEL_F1"])
    assert [row["name"] for row in document["images"]] == [ground.image.name]
    page = report.read_text(encoding="utf-8")
    assert f"{result['PIXEL_F1']:.3f}" in page and "://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)


@pytest.mark.slow
def test_chips_in_the_form_of_coco_are_scored_as_the_image_is(ground, evaluated, tmp_path):
    chips = tmp_path / "Ausschnitte ß"
    roads = {"INPUT": [str(ground.image)], "ROADS": str(ground.roads), "WIDTH_FIELD": "width_m"}
    values = {**roads, "FORMAT": "coco", "CHIP_PX": 256, "OUTPUT": str(chips)}
    result = headless.run("roadseg:exportchips", values)
    assert (result["CHIPS"], result["IMAGES"], result["OUTPUT"]) == (4, 1, str(chips))
    images = sorted(map(str, (chips / "images").iterdir()))
    labels = {"INPUT": images, "MASKS": [str(chips / "annotations.json")]}
    of_chips = headless.run("roadseg:evaluate", {**labels, "MODEL": str(ground.model)})
    assert of_chips["PIXELS"] == evaluated["PIXELS"]
    assert of_chips["ROAD_SHARE"] == pytest.approx(evaluated["ROAD_SHARE"])


def test_segment_then_vectorize_lie_on_the_image(ground, segmented, tmp_path):
    mask, probability, roads = segmented["MASK"], segmented["PROBABILITY"], str(tmp_path / "roads.gpkg")
    assert segmented["MEGAPIXELS_PER_S"] > 0 and segmented["OVERHEAD"] >= 1
    image, result = gdal.Open(str(ground.image)), gdal.Open(mask)
    assert result.GetGeoTransform() == image.GetGeoTransform()
    assert (result.RasterXSize, result.RasterYSize) == (image.RasterXSize, image.RasterYSize)
    assert result.GetSpatialRef().IsSame(image.GetSpatialRef())
    assert set(np.unique(result.ReadAsArray())) == {0, 1}

    patches = str(tmp_path / "patches.gpkg")
    suggested = headless.run("roadseg:suggestlabels", {"INPUT": probability, "PATCH_M": 60, "OUTPUT": patches})
    places, shapes = lines_of(patches)
    assert places.IsSame(image.GetSpatialRef()) and len(shapes) == suggested["SUGGESTED"] == 10
    assert [items["rank"] for items, _ in shapes] == list(range(1, 11)) and suggested["MEAN_UNCERTAINTY"] > 0

    network = headless.run("roadseg:vectorize", {"INPUT": probability, "OUTPUT": roads, "THRESHOLD": 0.5})
    reference, lines = lines_of(roads)
    assert reference.IsSame(image.GetSpatialRef())
    assert len(lines) == network["COUNT"] > 0
    assert sum(items["length_m"] for items, _ in lines) == pytest.approx(network["LENGTH_M"])
    assert all(0 <= items["confidence"] <= 1 and items["width_m"] > 0 for items, _ in lines)


def test_extract_roads_gives_lines_along_the_masks_roads(extracted):
    _, lines = lines_of(extracted["OUTPUT"])
    assert len(lines) == extracted["COUNT"] > 0 and share_on_mask(lines, extracted["MASK"]) > 0.95


def test_a_layer_of_roads_becomes_a_network_with_its_fields_and_bridges(ground, tmp_path):
    roads, nodes = str(tmp_path / "clean.gpkg"), str(tmp_path / "nodes.gpkg")
    values = {"INPUT": str(ground.roads), "BRIDGE_FIELD": "bridge", "OUTPUT": roads, "NODES": nodes}
    cleaned = headless.run("roadseg:cleannetwork", values)
    reference, lines = lines_of(roads)
    assert reference.IsSame(gdal.Open(str(ground.image)).GetSpatialRef())
    assert len(lines) == cleaned["COUNT"] > 0 and cleaned["COMPONENTS"] >= 1
    assert sum(items["length_m"] for items, _ in lines) == pytest.approx(cleaned["LENGTH_M"])
    assert {"road_class", "width_m", "surface", "bridge", "component"} < set(lines[0][0])
    _, before = lines_of(str(ground.roads))
    assert {items["road_class"] for items, _ in lines} == {items["road_class"] for items, _ in before}
    assert all(items["degree"] >= 1 for items, _ in lines_of(nodes)[1])


def test_a_network_is_scored_against_the_true_roads(ground, extracted, tmp_path):
    errors, report, scores = (str(tmp_path / name) for name in ("errors.gpkg", "report.html", "scores.json"))
    outputs = {"OUTPUT": errors, "REPORT": report, "SCORES": scores}
    fields = {"TRUTH_SPEED_FIELD": "width_m", "PROPOSAL_SPEED_FIELD": "width_m"}  # any numbers will do
    values = {"INPUT": extracted["OUTPUT"], "TRUTH": str(ground.roads), **fields, **outputs}
    scored = headless.run("roadseg:scorenetwork", values)
    assert 0 < scored["APLS_TIME_SCORE"] < 1 and 0 < scored["TOPO_F1"] < 1
    assert 0 < scored["APLS_SCORE"] < 1 and 0 < scored["LINES_QUALITY"] < 1
    assert json.loads((tmp_path / "scores.json").read_text())["apls"]["score"] == scored["APLS_SCORE"]
    reference, lines = lines_of(errors)
    assert reference.IsSame(lines_of(str(ground.roads))[0])
    assert {items["kind"] for items, _ in lines} <= {"matched", "missed", "false"}
    assert (tmp_path / "errors.qml").is_file()
    assert f"{scored['APLS_SCORE']:.4f}" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_network_before_is_compared_with_the_one_after(ground, tmp_path):
    reference, lines = lines_of(str(ground.roads))
    after, places = str(tmp_path / "after.gpkg"), str(tmp_path / "places.gpkg")
    *others, longest = sorted((line for _, line in lines), key=lambda line: line.Length())
    write_layer(after, *others, system=reference)
    write_layer(places, *(line.Value(line.Length() / 2) for _, line in lines), system=reference)
    changes, reached, report = (str(tmp_path / name) for name in ("changes.gpkg", "reached.gpkg", "report.html"))
    inputs = {"BEFORE": str(ground.roads), "INPUT": after, "PLACES": places}
    result = headless.run(
        "roadseg:comparenetworks", {**inputs, "OUTPUT": changes, "REACHED": reached, "REPORT": report}
    )
    assert result["LOST_LENGTH_M"] == pytest.approx(longest.Length(), rel=0.2) and result["NEW_LENGTH_M"] == 0
    assert result["INTACT_SHARE"] + result["LOST_SHARE"] + result["DISPLACED_SHARE"] == pytest.approx(1)
    compared, found = lines_of(changes)
    assert compared.IsSame(reference) and {"intact", "lost"} == {items["change"] for items, _ in found}
    assert {"road_class", "surface", "intact_share"} < set(found[0][0])
    statuses = [items["status"] for items, _ in lines_of(reached)[1]]
    assert len(statuses) == len(lines) and statuses.count("cut off") == result["ROUTES_CUT_OFF"]
    assert (tmp_path / "changes.qml").is_file() and (tmp_path / "reached.qml").is_file()
    assert "changes of a road network" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_state_of_known_roads_is_found_with_what_it_means(ground, tmp_path):
    reference, lines = lines_of(str(ground.roads))
    sites, hazards = str(tmp_path / "sites.gpkg"), str(tmp_path / "hazards.gpkg")
    longest = max((line for _, line in lines), key=lambda line: line.Length())
    write_layer(sites, *(line.Value(0) for _, line in lines), system=reference)
    write_layer(hazards, longest.Value(longest.Length() / 2).Buffer(20), system=reference)
    inputs = {"INPUT": str(ground.roads), "RASTER": str(ground.image), "MODEL": str(ground.model)}
    inputs |= {"SITES": sites, "HAZARDS": hazards, "DISTRICTS": hazards, "CLASS_FIELD": "road_class"}
    outputs = {"OUTPUT": "states.gpkg", "REACHED": "reached.gpkg", "REPORT": "report.html"}
    outputs = {name: str(tmp_path / file) for name, file in outputs.items()}
    result = headless.run("roadseg:roadstatus", {**inputs, **outputs})
    found, stretches = lines_of(outputs["OUTPUT"])
    assert found.IsSame(reference) and {"road_class", "lost_probability", "check"} < set(stretches[0][0])
    in_hazard_m = sum(line.Length() for items, line in stretches if items["state"] == "in a hazard")
    assert result["IN_A_HAZARD_M"] == pytest.approx(in_hazard_m, rel=0.01) and in_hazard_m > 35
    reached = [items for items, _ in lines_of(outputs["REACHED"])[1]]
    assert len(reached) == len(lines) and result["PATHS_REACHED_AFTER_M"] < result["PATHS_REACHED_BEFORE_M"]
    assert (tmp_path / "states.qml").is_file() and (tmp_path / "reached.qml").is_file()
    assert "state of known roads" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_new_road_becomes_a_change_of_the_extract_that_it_was_found_with(tmp_path):
    extract, after = tmp_path / "Straße 1.osm", str(tmp_path / "after.gpkg")
    nodes = "".join(f'<node id="{number}" version="1" lat="52.5" lon="13.{number}"/>' for number in (400, 403))
    way = '<way id="7" version="4"><nd ref="400"/><nd ref="403"/><tag k="highway" v="track"/></way>'
    extract.write_text(f'<osm version="0.6">{nodes}{way}</osm>', encoding="utf-8")
    ways = ("LINESTRING (13.4 52.5, 13.403 52.5)", "LINESTRING (13.401 52.50005, 13.401 52.501)")
    write_layer(after, *ways, system=system_of(4326))
    changes, osc = str(tmp_path / "changes.gpkg"), str(tmp_path / "Straße 1.osc")
    values = {"BEFORE": f"{extract}|layername=lines", "INPUT": after, "OUTPUT": changes}
    assert headless.run("roadseg:comparenetworks", values)["NEW_SHARE"] > 0
    told = headless.run("roadseg:exportchanges", {"INPUT": changes, "EXTRACT": str(extract), "OUTPUT": osc})
    assert told == {"OUTPUT": osc, "ROADS": 1, "JOINED": 1, "MODIFIED": 1, "LENGTH_M": pytest.approx(111, abs=1)}
    text = Path(osc).read_text(encoding="utf-8")
    assert '<way id="7" version="4"><nd ref="400"/><nd ref="-1"/><nd ref="403"/>' in text
    assert '<node id="-1" lat="52.5000000" lon="13.4010000"/>' in text


@pytest.mark.slow
def test_what_is_new_or_lost_on_an_image_becomes_tasks(ground, tmp_path):
    reference, lines = lines_of(str(ground.roads))
    before = str(tmp_path / "osm.gpkg")
    no_road = "LINESTRING (500010 5400010, 500240 5400200)"
    write_layer(before, *(line for _, line in lines[::2]), no_road, system=reference)
    changes, challenge = str(tmp_path / "changes.gpkg"), tmp_path / "challenge.geojson"
    values = {"INPUT": str(ground.image), "MODEL": str(ground.model), "BEFORE": before, "EXTENT": str(ground.image)}
    outputs = {"OUTPUT": changes, "ROADS": str(tmp_path / "roads.gpkg"), "CHALLENGE": str(challenge)}
    headless.run("roadseg:updateosm", {**values, **outputs})
    kinds = {items["change"] for items, _ in lines_of(changes)[1]}
    tasks = [json.loads(line.lstrip("\x1e"))["features"][0] for line in challenge.read_text().split("\n") if line]
    assert {task["properties"]["change"] for task in tasks} == kinds & {"new", "lost"} == {"new", "lost"}


@pytest.mark.slow
def test_an_exported_model_finds_the_same_roads(ground, segmented, tmp_path):
    exported, mask = str(tmp_path / "town.onnx"), str(tmp_path / "mask.tif")
    assert headless.run("roadseg:exportmodel", {"INPUT": str(ground.model), "OUTPUT": exported})["MEGABYTES"] > 10
    values = {"INPUT": str(ground.image), "MODEL": exported, "MASK": mask, "PRECISION": "fp32", "ENGINE": "openvino"}
    assert [segmented["ENGINE"], headless.run("roadseg:segment", values)["ENGINE"]] == ["native", "openvino"]
    masks = [gdal.Open(path).ReadAsArray() for path in (segmented["MASK"], mask)]
    assert (masks[0] != masks[1]).mean() < 1e-3


@pytest.mark.slow
def test_two_models_of_the_starter_become_one(ground, tmp_path):
    roads = {"ROADS": str(ground.roads), "WIDTH_FIELD": "width_m"}
    models = [str(ground.model), str(tmp_path / "Süd.safetensors")]
    recipe = {"STEPS": 2, "CHIP_PX": 64, "BATCH_SIZE": 2, "RESOLUTION_M": 0.5, "SEED": 1}
    headless.run("roadseg:finetune", {"INPUT": [str(ground.image)], **roads, **recipe, "MODEL": models[1]})
    merged = str(tmp_path / "both.safetensors")
    result = headless.run("roadseg:mergemodels", {"INPUT": models, "RASTERS": [str(ground.image)], "OUTPUT": merged})
    assert result["OUTPUT"] == merged and 0 < result["THRESHOLD"] < 1 and result["CHIPS"] > 0
    scores = headless.run("roadseg:evaluate", {"INPUT": [str(ground.image)], **roads, "MODEL": merged})
    assert scores["PIXEL_F1"] > 0.3


@pytest.mark.slow
def test_a_quantized_model_loses_next_to_nothing_or_is_not_made(ground, tmp_path):
    path = tmp_path / "town_int8.onnx"
    images = {"INPUT": [str(ground.image)], "ROADS": str(ground.roads), "WIDTH_FIELD": "width_m", "CHIP_PX": 128}
    try:
        result = headless.run("roadseg:quantize", {**images, "MODEL": str(ground.model), "OUTPUT": str(path)})
    except headless.AlgorithmError as error:  # so little learning may not be enough for it
        assert "does not find the same roads" in str(error) and not path.exists()
        return
    assert result["IOU"] >= result["IOU_BEFORE"] - 0.005
    assert result["MEGABYTES"] == pytest.approx(path.stat().st_size / 1e6) and result["MEGABYTES"] < 90


@pytest.mark.slow
def test_real_suburb_with_one_band_of_11_bits(real_data, tmp_path):
    image, model, mask = (
        str(path) for path in (real_data / "vegas_pan.tif", tmp_path / "m.safetensors", tmp_path / "m.tif")
    )
    learned = headless.run(
        "roadseg:finetune",
        {
            "INPUT": [image],
            "ROADS": str(real_data / "vegas_pan_roads.geojson"),
            "WIDTH_M": 8,
            "BASE_MODEL": "",
            "STEPS": 60,
            "CHIP_PX": 192,
            "MODEL": model,
        },
    )
    assert learned["VALIDATION_F1"] > 0.2
    headless.run("roadseg:segment", {"INPUT": image, "MODEL": model, "MASK": mask})
    result, source = gdal.Open(mask), gdal.Open(image)
    assert result.GetGeoTransform() == source.GetGeoTransform() and result.RasterXSize == source.RasterXSize


def test_a_region_becomes_one_network_with_masks_an_index_and_a_report(ground, tmp_path):
    folder = tmp_path / "region"
    folder.mkdir()
    result = headless.run(
        "roadseg:mapregion",
        {
            "INPUT": [str(ground.image)],
            "MODEL": str(ground.model),
            "FOLDER": str(folder),
            "OUTPUT": str(tmp_path / "roads.gpkg"),
        },
    )
    assert (result["SCENES"], result["DONE"], result["FAILED"], result["SEAM_MISMATCHES"]) == (1, 1, 0, 0)
    _, lines = lines_of(result["OUTPUT"])
    assert len(lines) == result["COUNT"] > 0
    mask = folder / "masks" / f"{ground.image.stem}_mask.tif"
    assert share_on_mask(lines, str(mask)) > 0.9
    _, scenes = lines_of(str(folder / "index.gpkg"))
    assert [fields["status"] for fields, _ in scenes] == ["done"]
    HTMLParser().feed((folder / "report.html").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_learning_from_a_review_extracts_anew_what_nobody_has_judged(ground, extracted, tmp_path):
    crs, found = lines_of(extracted["OUTPUT"])
    middles = [shape.Centroid().GetX() for _, shape in found]
    # The western half is right, but for its first line.
    judged = [shape for _, shape in found if shape.Centroid().GetX() < np.median(middles)]
    review, model, roads = (str(tmp_path / name) for name in ("review.gpkg", "learned.safetensors", "learned.gpkg"))
    dataset = ogr.Open(write_layer(review, *judged, system=crs), 1)
    layer = dataset.GetLayer(0)
    for name in ("change", "review"):
        layer.CreateField(ogr.FieldDefn(name, ogr.OFTString))
    for number, line in enumerate(list(layer)):
        line["change"], line["review"] = "road", "accepted" if number else "rejected"
        layer.SetFeature(line)
    dataset = layer = line = None
    values = {"INPUT": str(ground.image), "ROADS": extracted["OUTPUT"], "REVIEW": review, "MINUTES": 0.1}
    result = headless.run(
        "roadseg:learnfromreview", {**values, "BASE_MODEL": str(ground.model), "MODEL": model, "OUTPUT": roads}
    )
    assert result["MODEL"] == model and Path(model).is_file()
    _, lines = lines_of(roads)
    accepted_m = sum(shape.Length() for shape in judged[1:])
    assert sum(each["length_m"] for each, _ in lines if each["status"] == "reviewed") == pytest.approx(
        accepted_m, rel=0.01
    )
    assert any(each["status"] == "machine" for each, _ in lines)
    middle = judged[0].Value(judged[0].Length() / 2)
    assert all(shape.Distance(middle) > 1 for _, shape in lines)
