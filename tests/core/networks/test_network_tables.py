"""OpenStreetMap tags of extracted roads."""

import numpy as np

from training_core.networks.network_tables import osm_tags


def test_roads_are_tagged_with_their_width_in_meters_and_the_classes_of_openstreetmap():
    tags = osm_tags(np.array([7.04, 5.46, np.nan]))
    assert {key: list(values) for key, values in tags.items()} == {
        "highway": ["road"] * 3,
        "width": ["7", "5.5", None],
        "source": ["RoadSeg"] * 3,
    }
    classes = np.array(["Primary", "motorway_link", "30-50 km/h", None, "road"], dtype=object)
    tags = osm_tags(np.full(5, 6.0), classes)
    assert list(tags["highway"]) == ["primary", "motorway_link", "road", "road", "road"]
    assert "maxspeed" not in tags
