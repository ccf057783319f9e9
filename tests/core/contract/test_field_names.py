"""The names by which fields are stored."""

import pytest

from training_core.jobs.fields import describe_renamed, stored_names


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
