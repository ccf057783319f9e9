"""Qt translation sources (.ts) of exactly the plugin's texts.

Scope: which texts need a translation, and the file format. Independent of how the plugin reads it; not shipped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

from qgis.core import QgsProcessingAlgorithm

ROOT = Path(__file__).resolve().parents[1]
_HEAD = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="{language}" sourcelanguage="en">
<context>
    <name>RoadSeg</name>
"""
_MESSAGE = """    <message>
        <source>{source}</source>
        <translation{state}>{translation}</translation>
    </message>
"""
_TAIL = "</context>\n</TS>\n"


def find_texts(algorithms: Iterable[QgsProcessingAlgorithm]) -> list[str]:
    """Return the English texts that need a translation: all but helps, which stay English.

    Parameters
    ----------
    algorithms : iterable of QgsProcessingAlgorithm
        The algorithms, in English.
    """
    captions: list[str] = []
    helps: set[str] = set()
    for algorithm in algorithms:
        parameters, outputs = algorithm.parameterDefinitions(), algorithm.outputDefinitions()
        captions += [algorithm.group(), algorithm.displayName(), ",".join(algorithm.tags())]
        captions += [each.description() for each in (*parameters, *outputs)]
        helps |= {each.help() for each in parameters} | {algorithm.shortDescription()}
        helps.add(algorithm.shortHelpString().partition("\n\n")[0])
    return list(dict.fromkeys([*captions, *(text for text in _literals() if text not in helps)]))


def _literals() -> list[str]:
    """Return the literals that the plugin's code passes to `tr`."""
    files = sorted([*ROOT.glob("qgis_roadseg/**/*.py"), *ROOT.glob("algorithms/*.py")])
    calls = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8"))) if _names_text(node)]
    return [call.args[0].value for call in calls]


def _names_text(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not node.args:
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    text = node.args[0]
    return name == "tr" and isinstance(text, ast.Constant) and isinstance(text.value, str)


def source_text(language: str, texts: Iterable[str], translations: dict[str, str]) -> str:
    """Return a translation source of these texts; those without a translation are marked unfinished.

    Parameters
    ----------
    language : str
        Code of the language, such as de.
    texts : iterable of str
        English texts, in order.
    translations : dict of str to str
        Translations by English text; those of other texts are dropped.

    Returns
    -------
    str
        The file's content, XML.
    """
    messages = [
        _MESSAGE.format(
            source=escape(text),
            state="" if text in translations else ' type="unfinished"',
            translation=escape(translations.get(text, "")),
        )
        for text in texts
    ]
    return "".join([_HEAD.format(language=language), *messages, _TAIL])
