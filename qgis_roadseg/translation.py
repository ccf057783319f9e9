"""RoadSeg's words in the person's language: Qt's sources of translations, read as they are.

Knows where the languages lie and which one is spoken; knows none of the words.
"""

from __future__ import annotations

from pathlib import Path

from qgis.PyQt.QtCore import QXmlStreamReader

from .paths import RESOURCES

FOLDER = RESOURCES / "translations"

_spoken: dict[str, str] = {}


def languages() -> list[str]:
    """Return the codes of the languages that there are translations for: de, es ..."""
    return sorted(path.stem.partition("_")[2] for path in FOLDER.glob("roadseg_*.ts"))


def source(language: str) -> Path:
    """Return the file of a language's translations."""
    return FOLDER / f"roadseg_{language}.ts"


def speak(locale: str) -> None:
    """Speak the language of a locale such as de_AT from now on; English where there is no translation."""
    language = locale.partition("_")[0]
    _spoken.clear()
    if language in languages():
        _spoken.update(read_translations(source(language)))


def tr(text: str) -> str:
    """Return a text in the language that is spoken; the text itself where it has no translation."""
    return _spoken.get(text, text)


def read_translations(path: Path) -> dict[str, str]:
    """Return a file's finished translations by their English texts.

    Raises
    ------
    ValueError
        The file is no translation source.
    """
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
        raise ValueError(f"{path} is no source of translations: {reader.errorString()}")
    return found
