"""The guide's troubles, and the tests that the table in the design names for them, are there."""

import ast
import re

from ..conftest import ROOT

TESTS = ROOT / "tests"


def rows(document, heading):
    """Return the rows of the table under a head, as lists of cells."""
    lines = (ROOT / document).read_text("utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(heading)) + 2
    last = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[first:last]]


def test_every_trouble_of_the_guide_has_tests_and_an_answer():
    told = rows("docs/guide.md", "| trouble | what RoadSeg does |")
    shown = rows("docs/design.md", "| trouble | shown to be handled by |")
    assert len(told) == 14
    assert all(len(row) == 3 and all(row) for row in told)
    assert [row[0] for row in told] == [row[0] for row in shown]


def test_the_tests_named_for_a_trouble_are_there():
    for trouble, tests in rows("docs/design.md", "| trouble | shown to be handled by |"):
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", tests)
        assert len(named) == tests.count("::") > 0, trouble
        for path, name in named:
            tree = ast.parse((TESTS / path).read_text("utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{path}::{name}"


def test_the_guide_leads_to_the_algorithms_pages():
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    linked = set(re.findall(r"\]\((algorithms/\w+\.md)", guide))
    assert "algorithms/README.md" in linked
    assert all((ROOT / "docs" / page).is_file() for page in linked)
