"""Documentation pages of the algorithms in Markdown, generated from their parameters, outputs and helps.

Scope: how parameters and outputs are shown to a reader. Independent of what the algorithms do; not shipped.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qgis.core import (
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingOutputDefinition,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterFile,
    QgsProcessingParameterNumber,
)

from scripts.algorithm_examples import EXAMPLES

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "algorithms"
INDEX = "README.md"
LANGUAGES = {"de": "German", "es": "Spanish", "fr": "French"}

_FLAGS = QgsProcessingParameterDefinition.Flag
_SOURCE = QgsProcessing.SourceType
_KINDS = {
    _SOURCE.TypeVectorPoint: "points",
    _SOURCE.TypeVectorLine: "lines",
    _SOURCE.TypeVectorPolygon: "polygons",
    _SOURCE.TypeRaster: "raster",
    _SOURCE.TypeMesh: "mesh",
}
_TYPES = {
    "authcfg": "login that QGIS keeps",
    "boolean": "yes or no",
    "extent": "extent",
    "multilayer": "raster layers",
    "raster": "raster layer",
    "rasterDestination": "raster file",
    "string": "text",
    "outputFile": "file",
    "folderDestination": "folder",
    "outputFolder": "folder",
    "outputHtml": "HTML file",
    "outputNumber": "number",
    "outputRaster": "raster file",
    "outputString": "text",
    "outputVector": "vector layer",
}


def make_pages(algorithms: Iterable[QgsProcessingAlgorithm], names: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the Markdown of all pages by file name, including the index.

    Parameters
    ----------
    algorithms : iterable of QgsProcessingAlgorithm
        Algorithms to document, in the order of the index.
    names : dict of dict
        Translations of English texts, by language code.

    Raises
    ------
    KeyError
        An algorithm has no example.
    """
    listed = list(algorithms)
    bare = [algorithm.name() for algorithm in listed if algorithm.name() not in EXAMPLES]
    if bare:
        raise KeyError(f"Give an example in scripts/algorithm_examples.py: {', '.join(bare)}")
    pages = {f"{algorithm.name()}.md": _page(algorithm, listed, names) for algorithm in listed}
    return {INDEX: _index(listed), **pages}


def _index(algorithms: list[QgsProcessingAlgorithm]) -> str:
    rows = [
        (each.group(), f"[{each.displayName()}]({each.name()}.md)", f"`roadseg:{each.name()}`", each.shortDescription())
        for each in algorithms
    ]
    return _join(
        "# The algorithms",
        "All algorithms with their parameters. The [user guide](../guide.md) explains how to use them.",
        _table(("Group", "Algorithm", "Id", "What it does"), rows),
    )


def _page(
    algorithm: QgsProcessingAlgorithm, others: list[QgsProcessingAlgorithm], names: dict[str, dict[str, str]]
) -> str:
    found = algorithm.parameterDefinitions()
    outputs = [each for each in found if each.isDestination()]
    rare = [each for each in found if each.flags() & _FLAGS.FlagAdvanced]
    usual = [each for each in found if each not in outputs and each not in rare]
    example = EXAMPLES[algorithm.name()]
    title = algorithm.displayName()
    called = ", ".join(f"*{names[code].get(title, title)}* in {language}" for code, language in LANGUAGES.items())
    return _join(
        f"# {title}",
        f"`roadseg:{algorithm.name()}`, group *{algorithm.group()}*. {called}.",
        algorithm.shortDescription(),
        *algorithm.shortHelpString().split("\n\n")[0].split("\n"),
        _section("Parameters", _parameter_table(usual)),
        _section("Advanced parameters", _parameter_table(rare)),
        _section("Outputs", _parameter_table(outputs)),
        _section("Results", _output_table(algorithm.outputDefinitions())),
        "## Examples",
        "In a terminal:",
        _indent(_command_line(algorithm.name(), example.values)),
        "In QGIS' Python console, which returns the results above:",
        _indent(_script(algorithm.name(), example.values, example.shown)),
        "## More",
        _links(algorithm, others, example.guide),
    )


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(title: str, table: str) -> str:
    return f"## {title}\n\n{table}" if table else ""


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table without its empty columns; an empty text without rows."""
    if not rows:
        return ""
    used = [index for index in range(len(head)) if any(row[index] for row in rows)]
    lines = [head, ("---",) * len(head), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line[index] for index in used)} |" for line in lines)


def _parameter_table(parameters: list[QgsProcessingParameterDefinition]) -> str:
    rows = [
        (f"`{each.name()}`", each.description(), _type(each), _default(each), _range(each), each.help())
        for each in parameters
    ]
    return _table(("Name", "Label", "Type", "Default", "Range", "Description"), rows)


def _output_table(outputs: list[QgsProcessingOutputDefinition]) -> str:
    rows = [(f"`{each.name()}`", _TYPES[each.type()], each.description()) for each in outputs]
    return _table(("Key", "Type", "Description"), rows)


def _type(parameter: QgsProcessingParameterDefinition) -> str:
    kind = parameter.type()
    if kind == "enum":
        how_many = "any" if parameter.allowMultiple() else "one"
        return f"{how_many} of {', '.join(f'`{choice}`' for choice in parameter.options())}"
    if kind == "field":
        return f"field of `{parameter.parentLayerParameterName()}`"
    if kind == "number":
        whole = parameter.dataType() == QgsProcessingParameterNumber.Type.Integer
        return "whole number" if whole else "number"
    if kind == "source":
        return " or ".join(_KINDS[geometry] for geometry in parameter.dataTypes())
    if kind == "layer":
        return " or ".join(_KINDS[each] for each in parameter.dataTypes()) + " layer"
    if kind in ("sink", "vectorDestination"):
        return _KINDS[parameter.dataType()]
    if kind == "file" and parameter.behavior() == QgsProcessingParameterFile.Behavior.Folder:
        return "folder"
    if kind == "multilayer" and parameter.layerType() == _SOURCE.TypeFile:
        return "files"
    if kind in ("file", "fileDestination"):
        patterns = re.findall(r"\*\.([\w.]+)", parameter.fileFilter())
        return " ".join(["file", *(f"`.{pattern}`" for pattern in patterns)])
    return _TYPES[kind]


def _default(parameter: QgsProcessingParameterDefinition) -> str:
    if parameter.isDestination():
        return "written" if parameter.createByDefault() else "not written"
    default = parameter.defaultValue()
    if default in (None, "", []):
        if parameter.type() == "field" and parameter.defaultValueForGui():
            return f"in dialogs `{parameter.defaultValueForGui()}`, if the layer has it"
        return "none" if parameter.flags() & _FLAGS.FlagOptional else "required"
    if isinstance(default, bool):
        return "yes" if default else "no"
    return _number(default) if isinstance(default, (int, float)) else f"`{default}`"


def _range(parameter: QgsProcessingParameterDefinition) -> str:
    if parameter.type() != "number":
        return ""
    ends, unit = (parameter.minimum(), parameter.maximum()), re.search(r"\(([^()]+)\)$", parameter.description())
    bounded = [abs(end) < sys.float_info.max for end in ends]
    words = [f"{word} {_number(end)}" for word, end, there in zip(("from", "to"), ends, bounded) if there]
    return " ".join([*words, unit[1]] if words and unit else words)


def _number(value: float) -> str:
    return f"{value:.15g}"


def _command_line(name: str, values: dict[str, Any]) -> str:
    given = [
        f"--{key}={item}" for key, value in values.items() for item in (value if isinstance(value, list) else [value])
    ]
    lines = [f"qgis_process run roadseg:{name}"]
    for argument in given:
        if len(lines[-1]) + len(argument) > 100:
            lines.append("   ")
        lines[-1] += f" {argument}"
    return " \\\n".join(lines)


def _script(name: str, values: dict[str, Any], shown: str) -> str:
    given = [f'        "{key}": {_literal(value)},' for key, value in values.items()]
    call = ["results = processing.run(", f'    "roadseg:{name}",', "    {", *given, "    },", ")"]
    return "\n".join(["import processing", "", *call, f'print(results["{shown}"])'])


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _links(algorithm: QgsProcessingAlgorithm, others: list[QgsProcessingAlgorithm], headings: tuple[str, ...]) -> str:
    group = [each for each in others if each.groupId() == algorithm.groupId() and each.name() != algorithm.name()]
    lines = [f"- In the guide: [{heading}](../guide.md#{anchor(heading)})" for heading in headings]
    lines += [f"- In the same group: [{each.displayName()}]({each.name()}.md)" for each in group]
    return "\n".join([*lines, f"- [All algorithms]({INDEX})"])


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def write_pages(pages: dict[str, str]) -> None:
    """Write the pages, and remove those of algorithms that no longer exist."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for old in set(FOLDER.glob("*.md")) - {FOLDER / name for name in pages}:
        old.unlink()
