"""The packages of the core, what each does and may import: the rule, and the table of it in the design.

Scope: names, and the first lines of packages, which are read and not imported, so that any Python can do it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DESIGN = ROOT / "docs" / "design.md"
# What all may import.
CONTRACT = ("errors", "events", "jobs")
_ROADS = ("geodata", "system")
# Each package or module with those that it imports besides the contract. These stand before it.
ALLOWED = {
    "errors": (),
    "events": ("errors",),
    "jobs": ("errors",),
    "system": (),
    "geodata": ("system",),
    "labels": _ROADS,
    "models": _ROADS,
    "networks": _ROADS,
    "scenes": ("system",),
    "segmentation": ("models", *_ROADS),
    "extraction": ("networks", *_ROADS),
    "learning": ("segmentation", "labels", "models", *_ROADS),
    "distributed": ("learning", "segmentation", "labels", "models", "system"),
    "whole_images": ("learning", "segmentation", "labels", "models", *_ROADS),
    "comparison": ("extraction", "segmentation", "networks", "models", "labels", *_ROADS),
    "regions": ("extraction", "networks", "segmentation", "models", *_ROADS),
    "fleet": ("regions", "system"),
    "reports": ("regions", "comparison", "learning", "segmentation", "models", "labels", *_ROADS),
    "profiling": ("reports", "learning", "segmentation", "labels", "models", *_ROADS),
    "live": (
        "reports", "learning", "extraction", "segmentation", "networks", "models", "labels", *_ROADS,
    ),
    "pipelines": (
        "live", "reports", "fleet", "regions", "comparison", "profiling", "learning", "distributed", "whole_images",
        "extraction", "segmentation", "scenes", "networks", "models", "labels", *_ROADS,
    ),
    "worker": ("pipelines", "distributed", "system"),
    "cli": ("worker", "geodata", "system"),
    "__main__": ("cli",),
    "__init__": (),
}  # fmt: skip
_TABLE = re.compile(r"(?<=<!-- import table -->\n).*?(?=<!-- end of the import table -->)", re.DOTALL)


def with_table(text: str) -> str:
    """Return the text of the design with the table as `ALLOWED` and the docstrings have it."""
    rows = [
        f"| `{name}` | {_what(name)} | {_listed(others)} |" for name, others in ALLOWED.items() if name != "__init__"
    ]
    table = "\n".join(["| package | what it does | may import |", "| --- | --- | --- |", *rows, ""])
    return _TABLE.sub(lambda _: table, text)


def write_table() -> None:
    """Bring the table in the design up to date."""
    DESIGN.write_text(with_table(DESIGN.read_text(encoding="utf-8")), encoding="utf-8")


def _what(name: str) -> str:
    """Return the first sentence of a package's docstring, without its full stop."""
    core = ROOT / "training_core"
    path = core / name / "__init__.py" if (core / name).is_dir() else core / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.splitlines()[0].rstrip(".")


def _listed(others: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in others) or "\u2014"


if __name__ == "__main__":
    write_table()
