"""Rules of the plugin hub (plugins.qgis.org) and of QGIS' installer on a plugin's zip.

Scope: size, structure, file names, metadata. Independent of the code; `scanners.py` checks that.
"""

from __future__ import annotations

import configparser
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import urlparse

MAX_BYTES = 25_000_000
NEEDED = ("__init__.py", "metadata.txt", "LICENSE")
REQUIRED = (
    "name", "description", "version", "qgisMinimumVersion", "author", "email", "about",
    "tracker", "repository", "homepage",
)  # fmt: skip
BINARIES = (
    ".a", ".bat", ".cmd", ".dll", ".dylib", ".egg", ".exe", ".jar", ".lib", ".o", ".ps1", ".pyc", ".pyd", ".pyo",
    ".sh", ".so", ".whl",
)  # fmt: skip


def complaints(path: Path) -> list[str]:
    """Return a sentence per violated rule; none if the hub accepts the zip."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        return [f"It has {size:,} bytes, {size - MAX_BYTES:,} more than the hub takes."]
    try:
        with zipfile.ZipFile(path) as package:
            broken = package.testzip()
            if broken is not None:
                return [f"{broken} is damaged."]
            found = [*_about_structure(package.namelist()), *_about_files(package.infolist())]
            return found or list(_about_metadata(package))
    except zipfile.BadZipFile:
        return ["It is not a zip file."]


def _about_structure(names: list[str]) -> Iterator[str]:
    tops = sorted({name.split("/")[0] for name in names})
    if len(tops) != 1 or any("/" not in name for name in names):
        yield f"It does not hold one folder, but {', '.join(tops) or 'nothing'}."
        return
    (folder,) = tops
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]+", folder):
        yield f"Its folder {folder} has no name that Python can import."
    for name in NEEDED:
        if f"{folder}/{name}" not in names:
            yield f"There is no {name} in {folder}."
    for name in names:
        # The installer takes the first that it finds for the plugin's.
        if name.endswith("metadata.txt") and name != f"{folder}/metadata.txt":
            yield f"{name} is not the plugin's metadata."


def _about_files(entries: list[zipfile.ZipInfo]) -> Iterator[str]:
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        if ".." in parts or "\\" in entry.filename:
            yield f"{entry.filename} leads out of the folder."
        elif any(part.startswith(".") or part in ("__pycache__", "__MACOSX") for part in parts):
            yield f"{entry.filename} is hidden, or a cache."
        elif entry.filename.lower().endswith(BINARIES):
            yield f"{entry.filename} is a binary or a script."
        elif entry.external_attr >> 16 & 0o111 and not entry.is_dir():
            yield f"{entry.filename} is executable."


def _about_metadata(package: zipfile.ZipFile) -> Iterator[str]:
    folder = package.namelist()[0].split("/")[0]
    parser = configparser.ConfigParser()  # as QGIS and the hub read it: a percent sign alone is an error
    parser.optionxform = str  # type: ignore[assignment]
    try:
        parser.read_string(package.read(f"{folder}/metadata.txt").decode("utf-8"))
        general = dict(parser["general"])
    except (UnicodeDecodeError, KeyError, configparser.Error) as error:
        yield f"metadata.txt cannot be read: {error}"
        return
    yield from _about_values(general)
    if "icon" in general and f"{folder}/{general['icon']}" not in package.namelist():
        yield f"The icon {general['icon']} is not there."
    if b"GNU GENERAL PUBLIC LICENSE" not in package.read(f"{folder}/LICENSE"):
        yield "LICENSE is not the GPL."


def _about_values(general: dict[str, str]) -> Iterator[str]:
    addresses = {key: urlparse(general.get(key, "")) for key in ("tracker", "repository", "homepage")}
    wrong = {
        **{f"metadata.txt has no {key}.": not general.get(key, "").strip() for key in REQUIRED},
        **{
            f"{key} is not a web address.": address.scheme not in ("http", "https") or "." not in address.netloc
            for key, address in addresses.items()
        },
        **{
            f"{key} is not a version of QGIS.": not re.fullmatch(r"\d+\.\d+(\.\d+)?", general.get(key, ""))
            for key in ("qgisMinimumVersion", "qgisMaximumVersion")
        },
        "The word plugin is in the name.": "plugin" in general.get("name", "").lower(),
        "A slash is in the author's name.": "/" in general.get("author", ""),
        "hasProcessingProvider is not yes, so that qgis_process does not load it.": (
            general.get("hasProcessingProvider") != "yes"
        ),
        "about does not state the external dependencies.": (
            "external dependencies" not in general.get("about", "").lower()
        ),
    }
    yield from (complaint for complaint, is_so in wrong.items() if is_so)
