"""Fields that are carried over to outputs have names that a GeoPackage can hold."""

import pyogrio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely.geometry import LineString

from tests.core.support.rasters import layer
from training_core.geodata.vector_output import write_layers
from training_core.geodata.vectors import carried_fields

ROAD = LineString([(390000, 5820000), (390100, 5820050)])


def named(*names):
    return layer(ROAD, **{name: ["x"] for name in names})


@pytest.mark.parametrize(
    ("own", "carried"),
    [
        (("lanes", "surface"), {"lanes": "lanes", "surface": "surface"}),
        (("geom",), {"geom_2": "geom"}),
        (("GEOM", "geom_2"), {"GEOM_3": "GEOM", "geom_2": "geom_2"}),
        (("Name", "name", "NAME"), {"Name": "Name", "name_2": "name", "NAME_3": "NAME"}),
        (("fid", "FID", "Length_m", "lanes"), {"lanes": "lanes"}),
    ],
)
def test_a_name_that_is_taken_gets_a_number(own, carried):
    assert carried_fields(named(*own), {"length_m"}) == carried


@given(st.lists(st.sampled_from(["a", "A", "a_2", "A_2", "a_3", "geom", "Geom", "geom_2", "fid", "made"]), unique=True))
def test_every_field_is_carried_once_under_a_name_of_its_own(own):
    found = carried_fields(named(*own), {"made"})
    assert list(found.values()) == [name for name in own if name not in ("fid", "made")]
    assert len({name.lower() for name in found} | {"geom", "fid", "made"}) == len(found) + 3


def test_a_geopackage_takes_the_names(tmp_path):
    given_layer = named("geom", "Name", "name", "NAME_2")
    columns = {name: given_layer[field] for name, field in carried_fields(given_layer, ()).items()}
    write_layers(tmp_path / "roads.gpkg", {"roads": layer(ROAD, **columns)})
    assert set(columns) < set(pyogrio.read_dataframe(tmp_path / "roads.gpkg").columns)
