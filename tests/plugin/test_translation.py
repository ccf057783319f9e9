"""RoadSeg speaks QGIS' language, and no text is left out, left over or damaged."""

import re
import string

import pytest
from qgis.core import QgsSettings
from roadseg import classFactory
from roadseg.algorithms import ALGORITHMS
from roadseg.qgis_roadseg import translation
from roadseg.qgis_roadseg.toolbox.provider import make_algorithms

from scripts.translation_sources import find_texts, source_text

pytestmark = pytest.mark.usefixtures("provider", "english")

LANGUAGES = ("de", "es", "fr")
UNITS = {"GB": "Go", "MB": "Mo"}  # where a language has its own


@pytest.fixture
def english():
    translation.set_locale("en_US")
    yield
    translation.set_locale("en_US")


@pytest.fixture(scope="module")
def texts():
    translation.set_locale("en_US")
    return find_texts([algorithm.create() for algorithm in make_algorithms(ALGORITHMS)])


def translations(language):
    return translation.read_translations(translation.source(language))


def holes(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_group_and_label_is_translated(texts, language):
    missing = set(texts) - set(translations(language))
    assert not missing, f"run `make docs`, then translate these in {translation.source(language)}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_is_of_a_text_that_is_no_more(texts, language):
    assert set(translations(language)) <= set(texts), "`make docs` takes them out"


@pytest.mark.parametrize("language", LANGUAGES)
def test_placeholders_units_and_capitals_survive(language):
    for text, translated in translations(language).items():
        assert holes(translated) == holes(text), text
        assert translated == translated.strip(), text
        if text[0].isupper():
            assert translated[0].isupper(), text
        unit = re.search(r" \(([^()]+)\)$", text)
        if unit and unit[1] != "degrees":
            assert translated.endswith((unit[0], f"({UNITS.get(unit[1])})")), text


@pytest.mark.parametrize(
    ("locale", "name", "group", "label"),
    [
        ("de_AT", "Modell nachtrainieren", "Training", "Straßenbreite (m)"),
        ("es_MX", "Ajustar un modelo", "Entrenamiento", "Ancho de vía (m)"),
        ("fr", "Affiner un modèle", "Entraînement", "Largeur de route (m)"),
        ("en_GB", "Fine-tune a model", "Training", "Road width (m)"),
        ("ja_JP", "Fine-tune a model", "Training", "Road width (m)"),
        ("C", "Fine-tune a model", "Training", "Road width (m)"),
    ],
)
def test_the_plugin_speaks_the_language_that_qgis_is_set_to(locale, name, group, label):
    settings = QgsSettings()
    settings.setValue("locale/overrideFlag", True)
    settings.setValue("locale/userLocale", locale)
    try:
        classFactory(None)
    finally:
        settings.remove("locale/overrideFlag")
        settings.remove("locale/userLocale")
    algorithm = next(each for each in ALGORITHMS if each.__name__ == "FineTune")().create()
    assert (algorithm.displayName(), algorithm.group()) == (name, group)
    assert (algorithm.name(), algorithm.groupId()) == ("finetune", "training")
    width = algorithm.parameterDefinition("WIDTH_M")
    assert width.description() == label
    assert f"{label}: Width given to road lines" in algorithm.shortHelpString()
    assert algorithm.parameterDefinition("ENGINE").options() == ["auto", "native", "ipex"]  # values, in any language


def test_an_unfinished_translation_is_none(tmp_path):
    path = tmp_path / "roadseg_de.ts"
    path.write_text(source_text("de", ["Roads <1 & 2>", "Model"], {"Roads <1 & 2>": "Straßen <1 & 2>"}), "utf-8")
    assert translation.read_translations(path) == {"Roads <1 & 2>": "Straßen <1 & 2>"}


def test_a_file_that_is_no_source_is_refused(tmp_path):
    path = tmp_path / "roadseg_de.ts"
    path.write_text("<TS><context>", "utf-8")
    with pytest.raises(ValueError, match="not a translation source"):
        translation.read_translations(path)
