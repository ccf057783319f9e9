"""Docstrings of public functions, read from the source: what the signature cannot say, and nothing that it does.

Arrays need a shape and a dtype, numbers a unit or range in their name or their description, and exceptions a section
Raises; an entry of only a name and a type is a repetition.

A function is public if neither its name nor its class begins with an underscore. An exception leaves a function if it
is raised there or in a function of the same module that it calls, and no `except` around it catches it. `Cancelled`
leaves whatever takes a reporter, so it is not repeated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FILES = sorted(path for top in ("training_core", "qgis_roadseg", "algorithms") for path in ROOT.glob(f"{top}/**/*.py"))
ARRAYS = re.compile(r"\b(np\.ndarray|NDArray|Tensor|torch\.Tensor)\b")
SHAPE = re.compile(r"\([^()]*,[^()]*\)|\(\.\.\.\)|0-d|scalar")
DTYPE = re.compile(
    r"\b(bool|u?int(8|16|32|64)|b?float(16|32|64)|complex\d+|str|object|any (dtype|type|number)|dtype of|same dtype)\b"
)
UNIT = re.compile(r"_(m2?|km2?|px|mpx|s|ms|min|minutes|hours|bytes|mb|gb|deg|kmh|db|hz|share|fraction|factor|percent)$")
ENTRY_OF_A_TYPE = re.compile(r"[^(\d\n,]+")
# What every function that takes a reporter may end with, and what tells programmers of their own mistakes.
IMPLIED = {"Cancelled", "NotImplementedError", "StopIteration", "TypeError", "AssertionError"}


@dataclass(frozen=True)
class Function:
    """A public function and where it stands."""

    node: ast.FunctionDef
    owner: str
    path: Path

    @property
    def name(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.node.lineno} {self.owner}{self.node.name}"

    @cached_property
    def text(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def parameters(self) -> list[ast.arg]:
        arguments = self.node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return [each for each in every if each.arg not in ("self", "cls")]

    @property
    def returns(self) -> str:
        return ast.unparse(self.node.returns) if self.node.returns else "None"

    def section(self, *titles: str) -> str:
        """Return the text of the first section with one of some titles, or nothing."""
        found = re.search(rf"^({'|'.join(titles)})\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", self.text, re.M | re.S)
        return found.group(2) if found else ""

    def entry(self, parameter: str) -> str:
        """Return what the section Parameters says of one of them, or nothing."""
        names = rf"(?:\*{{0,2}}\w+, )*\*{{0,2}}{parameter}(?:, \*{{0,2}}\w+)*"
        found = re.search(rf"^{names}\b[^\n]*\n(?:^(?:[ \t]+[^\n]*)?\n?)*", self.section("Parameters"), re.M)
        return found.group(0) if found else ""


def functions_of(path: Path, source: str | None = None) -> list[Function]:
    """Return the public functions and methods of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8") if source is None else source)
    found = [Function(node, "", path) for node in tree.body if isinstance(node, ast.FunctionDef)]
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")):
        found += [Function(node, f"{owner.name}.", path) for node in owner.body if isinstance(node, ast.FunctionDef)]
    return [each for each in found if not each.node.name.startswith("_")]


def repetitions(function: Function) -> Iterator[str]:
    """Yield the entries that say no more than the signature: a name and a type, without shape, unit or meaning."""
    for title in ("Parameters", "Returns", "Yields"):
        for entry in filter(None, re.split(r"\n(?=\S)", function.section(title).strip())):
            kind = entry.partition(" : ")[2] if title == "Parameters" else entry
            if ENTRY_OF_A_TYPE.fullmatch(kind) and (title == "Parameters" or " : " not in kind):
                yield f"{title} repeats the signature: {entry}"


def without_units(function: Function) -> Iterator[str]:
    """Yield the numbers whose unit or range is in neither the name nor the docstring."""
    for each in function.parameters:
        is_float = each.annotation is not None and ast.unparse(each.annotation) == "float"
        if is_float and not UNIT.search(each.arg) and not re.search(rf"\b{each.arg}\b", function.text):
            yield f"unit or range of {each.arg}"


def without_shapes(function: Function) -> Iterator[str]:
    """Yield which arrays are said to have no shape or no dtype."""
    for each in function.parameters:
        if each.annotation and ARRAYS.search(ast.unparse(each.annotation)):
            words = function.entry(each.arg) or function.text
            if not (SHAPE.search(words) and DTYPE.search(words)):
                yield f"shape or dtype of {each.arg}"
    words = function.section("Returns", "Yields") or function.text
    if ARRAYS.search(function.returns) and not (SHAPE.search(words) and DTYPE.search(words)):
        yield "shape or dtype of what is returned"


def raised_in(node: ast.AST, functions: dict[str, ast.FunctionDef], seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of the exceptions that leave a piece of code, by what is raised in its module."""
    found: set[str] = set()
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(raised, ast.Name) and raised.id[:1].isupper():
            found.add(raised.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
        name = node.func.id
        if name not in seen:
            found |= raised_in(functions[name], functions, seen | {name})
    if isinstance(node, ast.Try):
        caught = {
            each.id
            for handler in node.handlers
            for each in ast.walk(handler.type or node)
            if isinstance(each, ast.Name)
        }
        inner = set().union(*(raised_in(each, functions, seen) for each in node.body))
        rest = [*node.handlers, *node.orelse, *node.finalbody]
        is_all = any(handler.type is None for handler in node.handlers) or "Exception" in caught
        return (
            found
            | (set() if is_all else inner - caught)
            | set().union(*(raised_in(each, functions, seen) for each in rest), set())
        )
    for child in ast.iter_child_nodes(node):
        found |= raised_in(child, functions, seen)
    return found


def without_raises(function: Function, functions: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """Yield the exceptions that leave a function and are not in its section Raises."""
    said = function.section("Raises")
    for name in sorted(raised_in(function.node, functions) - IMPLIED):
        if not re.search(rf"\b{name}\b", said):
            yield f"Raises: {name}"


def offenses(path: Path, source: str | None = None) -> list[str]:
    """Return what is missing in the docstrings of a file, a line each."""
    text = path.read_text(encoding="utf-8") if source is None else source
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    return [
        f"{function.name}: {missing}"
        for function in functions_of(path, text)
        for missing in (
            *repetitions(function),
            *without_units(function),
            *without_shapes(function),
            *without_raises(function, functions),
        )
    ]


def test_docstrings_add_to_the_signature():
    found = [line for path in FILES for line in offenses(path)]
    assert not found, f"{len(found)} gaps in docstrings:\n" + "\n".join(found)


PARAMETERS = 'def f(a: int) -> int:\n    """Do.\n\n    Parameters\n    ----------\n    a : int\n'


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        (PARAMETERS + '    """', ["Parameters repeats the signature: a : int"]),
        (PARAMETERS + '        Seed.\n    """', []),
        (
            'def f() -> int:\n    """Do.\n\n    Returns\n    -------\n    int\n    """',
            ["Returns repeats the signature: int"],
        ),
        ('def f(speed: float):\n    """Do."""', ["unit or range of speed"]),
        ('def f(speed_kmh: float):\n    """Do."""', []),
        ('def f(x: np.ndarray) -> int:\n    """Return the sum of pixels, (n, 2)."""', ["shape or dtype of x"]),
        ('def f() -> np.ndarray:\n    """Return pixels (or none), bool."""', ["shape or dtype of what is returned"]),
        ('def f() -> np.ndarray:\n    """Return pixels, bool."""', ["shape or dtype of what is returned"]),
        ('def f():\n    """Do."""\n    raise JobError("no")', ["Raises: JobError"]),
        ('def _g():\n    raise JobError("no")\ndef f():\n    """Do."""\n    _g()', ["Raises: JobError"]),
        ('def f():\n    """Do."""\n    try:\n        raise KeyError("no")\n    except KeyError:\n        pass', []),
        ('def _f(a, b, c):\n    raise JobError("no")', []),
        ('def f() -> np.ndarray:\n    """Return pixels: (n, 2), int64."""', []),
    ],
)
def test_a_gap_is_found(source, missing):
    found = offenses(ROOT / "training_core" / "example.py", source)
    assert [line.partition(": ")[2] for line in found] == missing
