"""OpenStreetMap tags of extracted roads."""

import numpy as np

from training_core.networks.network_tables import osm_tags


def test_a_road_of_unknown_class_is_tagged_road_with_its_width_in_meters():
    tags = osm_tags(np.array([7.04, 5.46, np.nan]))
    assert {key: list(values) for key, values in tags.items()} == {
        "highway": ["road"] * 3,
        "width": ["7", "5.5", None],
        "source": ["RoadSeg"] * 3,
    }


def test_classes_of_openstreetmap_become_tags():
    classes = np.array(["Primary", "motorway_link", "30-50 km/h", None, "road"], dtype=object)
    tags = osm_tags(np.full(5, 6.0), classes)
    assert list(tags["highway"]) == ["primary", "motorway_link", "road", "road", "road"]
    assert "maxspeed" not in tags
