import pytest
from qgis.core import QgsProcessingAlgorithm, QgsProcessingException

from . import test_conventions

IDS = set().union(*test_conventions.IDS.values())


def test_the_algorithms_are_listed_without_a_runtime(provider, no_runtime):
    assert {algorithm.name() for algorithm in provider.algorithms()} == IDS
    for algorithm in provider.algorithms():
        able, message = algorithm.canExecute()
        assert able == (algorithm.name() in ("setupruntime", "createlabellayers", "reportproblem"))
        assert able or "Run Set up runtime" in message


def test_running_without_a_runtime_says_what_to_do(provider, no_runtime, image, tmp_path, ear):
    import processing

    values = {"INPUT": str(image), "OUTPUT": str(tmp_path / "roads.gpkg")}
    with pytest.raises(QgsProcessingException, match="no runtime yet. Run Set up runtime"):
        processing.run("roadseg:vectorize", values, feedback=ear)
    assert not (tmp_path / "roads.gpkg").exists()


def test_the_provider_is_known_by_its_id_name_and_icon(provider):
    assert (provider.id(), provider.name()) == ("roadseg", "RoadSeg")
    assert not provider.icon().isNull()
    for algorithm in provider.algorithms():
        assert not algorithm.flags() & QgsProcessingAlgorithm.Flag.FlagNoThreading  # which would hold up all of QGIS
