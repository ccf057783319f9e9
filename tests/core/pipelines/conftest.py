from functools import partial

import pytest

from tests.core.support.disasters import write_grid, write_points, write_river
from tests.core.support.rasters import write_layer


@pytest.fixture
def write(tmp_path):
    return lambda name, *shapes, **columns: write_layer(tmp_path / f"{name}.gpkg", *shapes, **columns)


@pytest.fixture
def points(tmp_path):
    return partial(write_points, tmp_path)


@pytest.fixture
def grid(tmp_path):
    return write_grid(tmp_path)


@pytest.fixture
def river(tmp_path):
    return write_river(tmp_path)
