import numpy as np

from training_core.tags import osm_tags


def test_a_road_of_which_only_the_width_is_known_is_a_road_with_its_width_in_meters():
    tags = osm_tags(np.array([7.04, 5.46, np.nan]))
    assert {key: list(values) for key, values in tags.items()} == {
        "highway": ["road"] * 3,
        "width": ["7", "5.5", None],
        "source": ["RoadSeg"] * 3,
    }
