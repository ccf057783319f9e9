"""Accuracy samples and other places under review: their order, the keys that answer, and what the panel estimates."""

import sqlite3

import pytest
from qgis.core import QgsCoordinateTransformContext, QgsField, QgsVectorFileWriter, QgsVectorLayer
from qgis.PyQt.QtCore import QMetaType
from roadseg.training_core.jobs.accuracy import place_of
from roadseg.training_core.jobs.accuracy_estimates import estimate

from ...support.reviewing import press, review_in, shown, write

pytestmark = pytest.mark.usefixtures("qgis_new_project")

PLACES = [
    ("crossing", "350300 3060000, 350320 3060000"),  # a sample has its own order; distance does not count
    ("sampled", "350100 3060000, 350120 3060000"),
    ("new", "350110 3060000, 350130 3060000"),
    ("road", "352000 3060000, 352020 3060000"),
]


@pytest.fixture
def places(layer, window, tmp_path):
    """Return a review layer of several kinds, with fields for who answers and when."""
    path = tmp_path / "places.gpkg"
    write(path, "&field=review:string&field=reviewer:string&field=reviewed_at:datetime", PLACES)
    layer.setDataSource(str(path), "Places", "ogr")
    return path


def test_a_transect_takes_a_digit_and_no_verdict_and_other_places_no_digit(review, places):
    review.begin()
    press(review, "AX")  # which are no answers to how many
    assert shown(review)[0].startswith("Transect") and review_in(places) == {}
    visible = {name for name, button in review.panel._buttons.items() if not button.isHidden()}
    assert visible == {*"0123456789", "skip", "back", "zoom"}
    press(review, "0")
    assert review_in(places) == {1: "0"} and shown(review)[0] == "Sampled"
    press(review, "2")
    assert review_in(places) == {1: "0"}
    press(review, "B9")
    assert review_in(places) == {1: "9"}
    press(review, "AXA")
    assert review_in(places) == {1: "9", 2: "accepted", 3: "rejected", 4: "accepted"}
    assert "The review is complete" in review.panel.line.text()


@pytest.fixture
def sample(layer, window, tmp_path):
    """Return an accuracy sample of 60 places; the first lie at the two ends of a line of 60 km."""
    path = tmp_path / "sample.gpkg"
    kinds = ["sampled", "crossing"] * 30
    east = [350000 + 1000 * (place if place % 4 < 2 else 60 - place) for place in range(60)]
    fields = "&field=review:string&field=stratum:string&field=stratum_size:double&field=length_m:double"
    write(path, fields, [(k, f"{x} 3060000, {x + 100} 3060000") for k, x in zip(kinds, east)])  # fmt: skip
    layer.setDataSource(str(path), "Sample", "ogr")
    values = {"stratum": ["all"] * 60, "stratum_size": [5e3, 1e4] * 30, "length_m": [20.0, 100.0] * 30}
    columns = {layer.fields().lookupField(name): column for name, column in values.items()}
    layer.dataProvider().changeAttributeValues(
        {row + 1: {field: column[row] for field, column in columns.items()} for row in range(60)}
    )
    return path


def test_a_sample_is_judged_in_its_order_however_far_the_next_place_is(review, layer, sample):
    review.begin()
    for count in range(1, 9):
        press(review, "A" if count % 2 else "0")
        assert set(review_in(sample)) == set(range(1, count + 1))


def test_a_sample_that_a_format_has_sorted_is_judged_by_its_numbers(review, layer, sample, window, tmp_path):
    layer.dataProvider().addAttributes([QgsField("number", QMetaType.Type.Int)])
    layer.updateFields()
    number = layer.fields().lookupField("number")
    layer.dataProvider().changeAttributeValues({row: {number: 61 - row} for row in range(1, 61)})
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.driverName = "GeoJSON"  # in which the first id is 0
    path = str(tmp_path / "sample.geojson")
    QgsVectorFileWriter.writeAsVectorFormatV3(layer, path, QgsCoordinateTransformContext(), options)
    sorted_ = QgsVectorLayer(path, "Sorted", "ogr")
    window.setActiveLayer(sorted_)
    review.begin()
    for count in range(1, 61):
        press(review, "0" if count % 2 else "A")
        assert [line.id() for line in sorted_.getFeatures() if line["review"]] == list(range(60 - count, 60))


def test_after_each_verdict_on_a_sample_the_panel_says_how_right_the_network_is(review, layer, sample):
    review.begin()
    assert "first estimate: 20" in review.panel.accuracy.text()
    press(review, "A0" * 10)
    judged = [place_of({**row.attributeMap(), "review": row["review"] or None}) for row in layer.getFeatures()]
    expected = estimate(judged)
    assert f"{expected.completeness.low:.1%} to {expected.completeness.high:.1%}" in review.panel.accuracy.text()
    assert f"About {expected.more:,} more places" in review.panel.accuracy.text()
    press(review, "X")
    assert "<b>Correctness</b> 90.9%" in review.panel.accuracy.text()
    press(review, "B")
    assert "<b>Correctness</b> 100.0%" in review.panel.accuracy.text()
    layer.dataProvider().changeAttributeValues({1: {layer.fields().lookupField("stratum_size"): None}})
    review.begin()
    assert "stratum_size" in review.panel.accuracy.text() and "Completeness" not in review.panel.accuracy.text()


def test_who_answered_and_when_is_written_where_there_are_fields_and_taken_back(review, layer, places):
    review.begin()
    press(review, "1")
    answered = layer.getFeature(1)
    assert answered["reviewer"] and answered["reviewed_at"].isValid()
    press(review, "B")
    database = sqlite3.connect(places)
    assert database.execute("select review, reviewer, reviewed_at from changes where fid = 1").fetchone() == (None,) * 3
    database.close()
