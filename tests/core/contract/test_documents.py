"""Documents lead to what is there: links to files and headings, and paths of the repository that they name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
    ROOT / "resources/starter/CARD.md",
]

# Paths in documents begin at one of these.
FOLDERS = ("", "training_core", "qgis_roadseg", "resources", "tests", "tests/core", "tests/plugin")


def anchors(document):
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_paths_lead_to_what_is_there(document):
    text = document.read_text("utf-8")
    lost = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if target.startswith("http") or target.startswith("{"):  # addresses, and Overpass' {{bbox}}
            continue
        file = document.parent / target if target else document
        if not file.exists() or (anchor and anchor not in anchors(file)):
            lost.append(f"{target}#{anchor}")
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", text):
        if not any((ROOT / folder / path).exists() for folder in FOLDERS):
            lost.append(path)
    assert not lost
