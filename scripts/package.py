"""Builds the plugin's zip from the files under version control, and checks it as the plugin hub does.

Knows which files a user needs to run the plugin; the hub's rules are in `hub.py`, its scanners in `scanners.py`.
"""

from __future__ import annotations

import configparser
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import hub
import scanners
from headless import BUILD, ROOT

FOLDER = "roadseg"
SHIPPED = ("LICENSE", "__init__.py", "algorithms", "metadata.txt", "qgis_roadseg", "resources", "training_core")
LEFT_OUT = (
    ".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "README.md", "benchmarks", "docs",
    "pyproject.toml", "scripts", "tests",
)  # fmt: skip

# What the Makefile's targets and tools leave in a checkout; see .gitignore.
MADE = (".hypothesis", ".pytest_cache", ".qgis-settings", ".ruff_cache", "__pycache__", "build", "demo")


def build(folder: Path, root: Path = ROOT) -> Path:
    """Build the zip of a checkout and return its path; the same files give the same bytes.

    Parameters
    ----------
    folder : Path
        Where to put it; a zip of that version that is there is replaced.
    root : Path
        The checkout.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{FOLDER}.{version(root)}.zip"
    with zipfile.ZipFile(path, "w") as package:
        for name in files_to_ship(tracked(root)):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}")  # whose time is the zip format's first, not the file's
            entry.create_system = 3  # Unix, on any system
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            package.writestr(entry, (root / name).read_bytes(), compresslevel=9)
    return path


def version(root: Path) -> str:
    """Return the version that the metadata tells."""
    metadata = configparser.ConfigParser()
    metadata.read(root / "metadata.txt", encoding="utf-8")
    return metadata["general"]["version"]


def tracked(root: Path) -> list[str]:
    """Return the files under version control, relative to the root; where there is none, all that was not made here."""
    if not (root / ".git").exists():  # an unpacked archive
        tops = [path for path in root.iterdir() if path.name not in MADE]
        files = [path for top in tops for path in (top, *top.rglob("*")) if path.is_file()]
        return [path.relative_to(root).as_posix() for path in files if path.parent.name != "__pycache__"]
    command = ["git", "-c", f"safe.directory={root}", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
    return listed.decode("utf-8").rstrip("\0").split("\0")


def files_to_ship(names: list[str]) -> list[str]:
    """Return those of a checkout's files that go into the zip, sorted.

    Raises
    ------
    ValueError
        Of some it is not decided whether they do.
    """
    undecided = {name.split("/")[0] for name in names} - {*SHIPPED, *LEFT_OUT}
    if undecided:
        raise ValueError(f"Say in {__file__} whether the zip holds {', '.join(sorted(undecided))}.")
    return sorted(name for name in names if name.split("/")[0] in SHIPPED)


def main() -> None:
    """Build the zip in build/, check it, tell of both, and fail where the hub would."""
    path = build(BUILD)
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as package:
            count = len(package.namelist())
            package.extractall(folder)
        found = {
            "Structure and metadata": hub.complaints(path),
            "Bandit": scanners.bandit(Path(folder)),
            "detect-secrets": scanners.secrets(Path(folder)),
        }
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {count} files, {size:,} bytes; the hub takes {hub.LARGEST_BYTES - size:,} more")
    for check, complaints in found.items():
        print(f"{check}: {len(complaints) or 'nothing'} to complain of", *complaints, sep="\n    ")
    sys.exit(any(found.values()))


if __name__ == "__main__":
    main()
