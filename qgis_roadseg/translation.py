"""Translation of RoadSeg's texts, read from Qt's translation sources (.ts) without compiling them.

Scope: languages, and the one in use. Independent of the texts.
"""

from __future__ import annotations

from pathlib import Path

from qgis.PyQt.QtCore import QXmlStreamReader

from .paths import RESOURCES

FOLDER = RESOURCES / "translations"

_translations: dict[str, str] = {}


def languages() -> list[str]:
    """Return the codes of the languages with a translation: de, es ..."""
    return sorted(path.stem.partition("_")[2] for path in FOLDER.glob("roadseg_*.ts"))


def source(language: str) -> Path:
    """Return the path of a language's translation source."""
    return FOLDER / f"roadseg_{language}.ts"


def set_locale(locale: str) -> None:
    """Use the language of a locale such as de_AT from now on; English where it has no translation.

    Raises ValueError if the language's file is not a translation source.
    """
    language = locale.partition("_")[0]
    _translations.clear()
    if language in languages():
        _translations.update(read_translations(source(language)))


def tr(text: str) -> str:
    """Return a text's translation into the language in use; the text itself where it has none."""
    return _translations.get(text, text)


def read_translations(path: Path) -> dict[str, str]:
    """Return a file's finished translations by source text; raise ValueError if it is not a translation source."""
    reader, found, text = QXmlStreamReader(path.read_bytes()), {}, ""
    while not reader.atEnd():
        reader.readNext()
        if reader.isStartElement() and reader.name() == "source":
            text = reader.readElementText()
        elif reader.isStartElement() and reader.name() == "translation":
            finished = not reader.attributes().hasAttribute("type")
            translation = reader.readElementText()
            if finished and translation:
                found[text] = translation
    if reader.hasError():
        raise ValueError(f"{path} is not a translation source: {reader.errorString()}")
    return found
