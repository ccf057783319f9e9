"""The jobs sampleaccuracy and checkaccuracy: from a network to a judged sample, and to its report."""

import geopandas
import numpy as np
import pytest
import shapely

from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options
from training_core.pipelines import checkaccuracy, sampleaccuracy

LINES = [shapely.LineString([(390000, 5820000 + y), (391000, 5820000 + y)]) for y in range(0, 1000, 100)]


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "roads.gpkg"
    probability = np.linspace(0.3, 1, len(LINES))
    geopandas.GeoDataFrame({"road_probability": probability}, geometry=LINES, crs=32633).to_file(path)
    return str(path)


def drawn(network, path, **options):
    job = from_options(JOBS["sampleaccuracy"], {"lines": network, "sample": str(path), "count": 80, **options})
    return sampleaccuracy.run(job, Reporter()), geopandas.read_file(path)


def check(path, **options):
    return checkaccuracy.run(from_options(JOBS["checkaccuracy"], {"sample": str(path), **options}), Reporter())


def test_a_sample_lies_in_the_network_and_the_area_and_is_the_same_for_a_seed(network, tmp_path):
    result, sample = drawn(network, tmp_path / "a.gpkg")
    stretches, transects = (sample[sample["change"] == kind] for kind in ("sampled", "crossing"))
    assert len(stretches) == len(transects) == 40
    assert (shapely.distance(stretches.geometry.to_numpy(), shapely.union_all(LINES)) < 0.01).all()
    assert transects.geometry.within(shapely.box(390000, 5820000, 391000, 5820900).buffer(0.1)).all()
    sizes = stretches.groupby("stratum")["stratum_size"].first()
    assert sizes.sum() == pytest.approx(10_000, rel=1e-3) and len(sizes) == 2
    assert result["area_m2"] == pytest.approx(900_000, rel=1e-3)
    assert set(sample["change"][:4]) == {"sampled", "crossing"}
    assert drawn(network, tmp_path / "b.gpkg")[1].geometry.equals(sample.geometry)


def test_a_judged_sample_gives_its_numbers_and_a_report(network, tmp_path):
    _, sample = drawn(network, tmp_path / "a.gpkg")
    judged = sample.assign(review=np.where(sample["change"] == "sampled", "accepted", "0"))
    judged.loc[70:, "review"] = None
    judged.to_file(tmp_path / "judged.gpkg")
    result = check(tmp_path / "judged.gpkg", report=str(tmp_path / "r.html"))
    assert result["correctness"]["value"] == result["completeness"]["value"] == 1
    assert (result["judged"], result["undecided"]) == (70, 10)
    assert "not judged: 10" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "Only .* places"),
        ({"review": "perhaps"}, "perhaps"),
        ({"stratum_size": lambda sample: np.arange(1.0, len(sample) + 1)}, "several sizes"),
        ({"stratum_size": -1.0}, "above 0"),
        ({"change": "lost"}, "lost"),
        ({"change": "sampled"}, "no places that are crossing|several sizes"),
    ],
)
def test_a_layer_that_is_no_judged_sample_is_refused(network, tmp_path, changes, told):
    _, sample = drawn(network, tmp_path / "a.gpkg")
    sample.assign(**changes).to_file(tmp_path / "bad.gpkg")
    with pytest.raises(LayerError, match=told):
        check(tmp_path / "bad.gpkg", report=str(tmp_path / "r.html"))
    assert not (tmp_path / "r.html").exists()


def test_an_area_elsewhere_is_refused(network, tmp_path):
    aoi = tmp_path / "aoi.gpkg"
    geopandas.GeoDataFrame(geometry=[shapely.box(500000, 5820000, 501000, 5821000)], crs=32633).to_file(aoi)
    with pytest.raises(LayerError, match="area of interest"):
        drawn(network, tmp_path / "a.gpkg", aoi=str(aoi))
    assert not (tmp_path / "a.gpkg").exists()
