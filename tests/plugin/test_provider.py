import configparser
import re

import pytest
from qgis.core import QgsApplication, QgsProcessingAlgorithm, QgsProcessingException

from .conftest import ROOT

IDS = {
    "setupruntime",
    "finetune",
    "evaluate",
    "exportmodel",
    "quantize",
    "makescene",
    "segment",
    "vectorize",
    "extractroads",
    "cleannetwork",
    "scorenetwork",
    "exportnetwork",
    "comparenetworks",
}


def test_the_algorithms_are_listed_without_a_runtime(provider, no_runtime):
    assert {algorithm.name() for algorithm in provider.algorithms()} == IDS
    for algorithm in provider.algorithms():
        able, message = algorithm.canExecute()
        assert able == (algorithm.name() == "setupruntime")
        assert able or "Run Set up runtime" in message


def test_running_without_a_runtime_says_what_to_do(provider, no_runtime, image, tmp_path, ear):
    import processing

    values = {"INPUT": str(image), "OUTPUT": str(tmp_path / "roads.gpkg")}
    with pytest.raises(QgsProcessingException):
        processing.run("roadseg:vectorize", values, feedback=ear)
    assert "no runtime yet. Run Set up runtime" in ear.text
    assert not (tmp_path / "roads.gpkg").exists()


def test_ids_groups_and_texts(provider):
    assert (provider.id(), provider.name()) == ("roadseg", "RoadSeg")
    assert not provider.icon().isNull()
    for algorithm in provider.algorithms():
        assert re.fullmatch("[a-z]+", algorithm.name())
        assert re.fullmatch("[a-z]+", algorithm.groupId())
        assert algorithm.groupId() == algorithm.group().lower()
        assert algorithm.displayName()
        assert algorithm.tags()
        assert not algorithm.flags() & QgsProcessingAlgorithm.Flag.FlagNoThreading  # which would hold up all of QGIS
        for parameter in algorithm.parameterDefinitions():
            assert parameter.help()
            assert f"{parameter.description()}: {parameter.help()}" in algorithm.shortHelpString()


def test_only_the_format_that_is_written_is_offered(provider):
    assert provider.supportedOutputRasterLayerExtensions() == ["tif"]


def test_every_algorithm_makes_another_of_its_kind(provider):
    registry = QgsApplication.processingRegistry()
    for name in IDS:
        assert registry.createAlgorithmById(f"roadseg:{name}").name() == name


def test_the_metadata_is_what_the_plugin_repository_wants():
    metadata = configparser.ConfigParser(interpolation=None)
    metadata.read(ROOT / "metadata.txt", encoding="utf-8")
    general = metadata["general"]
    wanted = "name description version qgisMinimumVersion author email about tracker repository homepage"
    assert all(general[key] for key in wanted.split())
    assert "plugin" not in general["name"].lower()
    assert general.getboolean("hasProcessingProvider")
    assert (ROOT / general["icon"]).is_file()
    assert "GNU GENERAL PUBLIC LICENSE" in (ROOT / "LICENSE").read_text()
