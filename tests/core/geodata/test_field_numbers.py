"""Numbers in fields, as people write them."""

import geopandas
import numpy as np
import pandas
import pytest
from shapely.geometry import LineString

from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.geodata.fields import check_numbers, numbers_in
from training_core.jobs.field_values import METERS


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("12,5", 12.5), ("12.5", 12.5), ("  6 ", 6), ("12.5 m", 12.5), ("12,5m", 12.5), ("20 ft", 6.096), ("-3", -3),
        (",5", 0.5), ("6.", 6), ("1e3", 1000), ("1,234", 1.234), (7, 7), (None, np.nan), ("", np.nan),
        ("1.234,5", np.nan), ("1 234", np.nan), ("6 km", np.nan), ("6-8", np.nan), ("wide", np.nan), ("nan", np.nan),
    ],
)  # fmt: skip
def test_a_number_is_read_with_either_separator_and_a_unit_of_length(written, number):
    assert numbers_in(pandas.Series([written, "x"], dtype=object), METERS)[0] == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize("values", [[3, 6], [3.0, 6.0], [True, False], pandas.array([3, None], dtype="Int64")])
def test_numbers_stay_what_they_are(values):
    expected = [np.nan if pandas.isna(value) else float(value) for value in values]
    assert np.array_equal(numbers_in(pandas.Series(values)), expected, equal_nan=True)


def checked(*values):
    told = []
    line = LineString([(0, 0), (1, 1)])
    roads = geopandas.GeoDataFrame({"width": values}, geometry=[line] * len(values), crs="EPSG:32645")
    check_numbers(roads, "width", "roads.gpkg", "drawn roads", Reporter(told.append), METERS)
    return [event.message for event in told]


def test_values_that_are_no_numbers_are_told_with_an_example():
    (told,) = checked("12,5", "", None, "wide", "narrow", " 3 ")
    assert "2 of 4 values in the field 'width' of the drawn roads" in told and "'wide'" in told
    assert checked("12,5", "", None) == checked("", None) == checked(1.5, None) == []


def test_a_field_without_any_number_is_refused_by_its_name():
    with pytest.raises(LayerError, match=r"The field 'width' of the drawn roads \(roads.gpkg\) has no numbers.*'wide'"):
        checked("wide", None, "")
