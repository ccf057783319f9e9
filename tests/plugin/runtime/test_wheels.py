"""Wheels of every platform that RoadSeg is offered for, as an index has them."""

import pytest

from scripts import wheels


@pytest.mark.slow
@pytest.mark.parametrize("python", [f"3.{minor}" for minor in range(10, 15)])
@pytest.mark.parametrize("platform", wheels.PLATFORMS)
def test_every_package_has_a_wheel_and_those_for_the_first_map_are_few(platform, python):
    first, every = (wheels.megabytes(platform, python, ["native", *more]) for more in ([], ["all"]))
    assert 0 < first < every
    if platform != "manylinux_x86_64":  # whose index of CPU builds tells no sizes
        assert first <= 350
