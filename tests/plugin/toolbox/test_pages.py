"""The algorithms' pages say what the algorithms say, and lead to what is there."""

import re

import pytest
from qgis.core import QgsProcessingParameterDefinition
from roadseg.algorithms import ALGORITHMS
from roadseg.qgis_roadseg import translation
from roadseg.qgis_roadseg.toolbox.provider import make_algorithms

from scripts import algorithm_pages
from scripts.algorithm_examples import EXAMPLES

from ..conftest import ROOT

OPTIONAL = QgsProcessingParameterDefinition.Flag.FlagOptional


@pytest.fixture(scope="module")
def algorithms(provider):
    translation.set_locale("en_US")
    return [algorithm.create() for algorithm in make_algorithms(ALGORITHMS)]


@pytest.fixture(scope="module")
def pages(algorithms):
    names = {code: translation.read_translations(translation.source(code)) for code in translation.languages()}
    return algorithm_pages.make_pages(algorithms, names)


def headings(text):
    return {algorithm_pages.anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_the_pages_are_those_that_the_code_makes(pages):
    there = {path.name: path.read_text("utf-8") for path in algorithm_pages.FOLDER.iterdir()}
    assert set(there) == set(pages), "run `make docs`"
    old = [name for name in pages if there[name] != pages[name]]
    assert not old, "run `make docs`"


def test_every_example_is_a_call_that_the_algorithm_takes(algorithms):
    assert set(EXAMPLES) == {algorithm.name() for algorithm in algorithms}
    for algorithm in algorithms:
        values = EXAMPLES[algorithm.name()].values
        definitions = {parameter.name(): parameter for parameter in algorithm.parameterDefinitions()}
        assert set(values) <= set(definitions)
        for name, parameter in definitions.items():
            needed = not parameter.flags() & OPTIONAL and parameter.defaultValue() is None
            assert not needed or name in values, f"{algorithm.name()}:{name}"
        for name, value in values.items():
            assert definitions[name].checkValueIsAcceptable(value), f"{algorithm.name()}:{name}"
        assert EXAMPLES[algorithm.name()].shown in {output.name() for output in algorithm.outputDefinitions()}


def test_every_link_of_a_page_leads_somewhere(pages):
    guide = headings((ROOT / "docs" / "guide.md").read_text("utf-8"))
    for name, page in pages.items():
        for target, place in re.findall(r"\]\(([^)#]+)#?([^)]*)\)", page):
            assert (algorithm_pages.FOLDER / target).is_file(), f"{name}: {target}"
            assert not place or place in guide, f"{name}: {target}#{place}"


def test_the_readme_leads_to_every_page(pages):
    linked = re.findall(r"\]\(docs/algorithms/([\w.]+)\)", (ROOT / "README.md").read_text("utf-8"))
    assert sorted(linked) == sorted(set(pages) - {algorithm_pages.INDEX})
