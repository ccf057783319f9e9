"""The names by which fields are stored, and intervals of time as people write them."""

from datetime import datetime, timezone

import pytest

from training_core.jobs.fields import ALL_TIME, describe_renamed, parse_interval, stored_names


@pytest.mark.parametrize(
    ("names", "max_bytes", "stored"),
    [
        (["fixme", "FIXME", "Fixme"], None, ["fixme", "FIXME_2", "Fixme_3"]),
        (["FIXME", "fixme", "fixme_2"], None, ["FIXME", "fixme_3", "fixme_2"]),
        (["geom", "Geometry", "FID", "ogc_fid"], None, ["geom_2", "Geometry_2", "FID_2", "ogc_fid"]),
        (["road_probability", "component"], 10, ["road_proba", "component"]),
        (["road_probability", "road_probable", "road_pro_2"], 10, ["road_proba", "road_pro_3", "road_pro_2"]),
        (["größe_wege", "größe_weg"], 10, ["größe_we", "größe__2"]),
    ],
)
def test_a_name_that_is_taken_or_too_long_is_replaced(names, max_bytes, stored):
    assert stored_names(names, max_bytes=max_bytes) == dict(zip(names, stored))


def test_only_fields_with_another_name_are_told():
    assert describe_renamed(stored_names(["Name", "geom", "name"])) == "geom: geom_2, name: name_2"


def utc(*parts):
    return datetime(*parts, tzinfo=timezone.utc)


def test_a_date_means_its_whole_day_and_two_dots_an_open_end():
    days = parse_interval("2024-09-01/2024-09-30")
    assert days.start == utc(2024, 9, 1) and utc(2024, 9, 30, 23, 59, 59) < days.end < utc(2024, 10, 1)
    assert parse_interval("2024-09-27").overlaps(parse_interval("2024-09-27T23:59:59Z"))
    assert not parse_interval("2024-09-28/..").overlaps(parse_interval("2024-09-28T00:30:00+02:00"))
    assert parse_interval("../2024-09-28").overlaps(parse_interval("2024-09-28T12:00:00.1234567Z"))
    assert parse_interval("") == ALL_TIME


def test_an_api_is_given_times_of_utc():
    assert parse_interval("2024-09-01/..").rfc3339() == "2024-09-01T00:00:00Z/.."
    assert parse_interval("/2024-09-01T02:00:00+02:00").rfc3339() == "../2024-09-01T00:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "..",
        "2024",
        "2024-13-01",
        "2024-09-02/2024-09-01",
        "2024-09-01/2024-09-02/..",
        "0001-01-01T00:00:00+10:00",
    ],
)
def test_what_is_no_interval_is_refused(text):
    with pytest.raises(ValueError):
        parse_interval(text)
