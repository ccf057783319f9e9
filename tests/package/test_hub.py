"""What the plugin hub refuses; each rule is broken once in a zip that is right but for that."""

import zipfile

import pytest

from scripts import hub

METADATA = {
    "name": "Roads",
    "description": "Finds roads.",
    "version": "1.0",
    "qgisMinimumVersion": "3.40",
    "qgisMaximumVersion": "4.99",
    "hasProcessingProvider": "yes",
    "about": "Finds roads. External dependencies: none.",
    "author": "Somebody",
    "email": "somebody@example.org",
    "homepage": "https://example.org/roads",
    "repository": "https://example.org/roads.git",
    "tracker": "https://example.org/roads/issues",
    "icon": "icon.svg",
}


def text_of(metadata):
    return "[general]\n" + "".join(f"{key}={value}\n" for key, value in metadata.items())


RIGHT = {
    "roads/__init__.py": "",
    "roads/metadata.txt": text_of(METADATA),
    "roads/LICENSE": "GNU GENERAL PUBLIC LICENSE\nVersion 2",
    "roads/icon.svg": "<svg/>",
}


def zip_of(path, files):
    with zipfile.ZipFile(path, "w") as package:
        for name, content in files.items():
            package.writestr(zipfile.ZipInfo(name), content)
    return path


def complaints_of(path, files):
    return hub.complaints(zip_of(path, files))


def test_what_is_right_is_let_through(tmp_path):
    assert complaints_of(tmp_path / "right.zip", RIGHT) == []


def test_the_zip_of_this_checkout_is_let_through(zipped):
    assert hub.complaints(zipped) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"scratch/notes.txt": ""}, "does not hold one folder, but roads, scratch"),
        ({"notes.txt": ""}, "does not hold one folder"),
        ({"roads/LICENSE": None}, "no LICENSE in roads"),
        ({"roads/__init__.py": None}, "no __init__.py in roads"),
        ({"roads/metadata.txt": None}, "no metadata.txt in roads"),
        ({"roads/core/metadata.txt": ""}, "roads/core/metadata.txt is not the plugin's"),
        ({"roads/../evil.py": ""}, "leads out of the folder"),
        ({"roads/.hidden/notes.txt": ""}, "hidden"),
        ({"roads/.gitignore": ""}, "hidden"),
        ({"roads/__pycache__/core.txt": ""}, "cache"),
        ({"roads/core.pyc": ""}, "binary"),
        ({"roads/core.SO": ""}, "binary"),
        ({"roads/install.sh": ""}, "script"),
        ({"roads/icon.svg": None}, "icon icon.svg is not there"),
        ({"roads/LICENSE": "All rights reserved."}, "not the GPL"),
        ({"roads/metadata.txt": "name=Roads"}, "cannot be read"),
        ({"roads/metadata.txt": "[other]\nname=Roads"}, "cannot be read"),
        ({"roads/metadata.txt": b"[general]\nname=\xff"}, "cannot be read"),
    ],
)
def test_files_that_are_refused(tmp_path, change, complaint):
    files = {name: content for name, content in {**RIGHT, **change}.items() if content is not None}
    (found,) = complaints_of(tmp_path / "broken.zip", files)
    assert complaint in found


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        *((key, "", f"has no {key}") for key in ("name", "description", "version", "author", "email")),
        ("name", "Roads Plugin", "word plugin"),
        ("author", "Somebody/Nobody", "slash"),
        ("homepage", "roads", "homepage is not a web address"),
        ("repository", "http://repo", "repository is not a web address"),
        ("tracker", "file:///roads", "tracker is not a web address"),
        ("qgisMinimumVersion", "3", "qgisMinimumVersion is not a version"),
        ("qgisMaximumVersion", "any", "qgisMaximumVersion is not a version"),
        ("hasProcessingProvider", "True", "hasProcessingProvider is not yes"),
        ("about", "Finds roads.", "external dependencies"),
        ("about", "Finds 99 % of roads. External dependencies: none.", "cannot be read"),
    ],
)
def test_metadata_that_is_refused(tmp_path, key, value, complaint):
    files = {**RIGHT, "roads/metadata.txt": text_of({**METADATA, key: value})}
    (found,) = complaints_of(tmp_path / "broken.zip", files)
    assert complaint in found


@pytest.mark.parametrize("folder", ["3roads", "my-roads", "straße"])
def test_a_folder_that_python_cannot_import_is_refused(tmp_path, folder):
    files = {name.replace("roads/", f"{folder}/"): content for name, content in RIGHT.items()}
    (found,) = complaints_of(tmp_path / "broken.zip", files)
    assert "no name that Python can import" in found


def test_an_executable_file_is_refused(tmp_path):
    path = zip_of(tmp_path / "broken.zip", RIGHT)
    with zipfile.ZipFile(path, "a") as package:
        entry = zipfile.ZipInfo("roads/run.py")
        entry.external_attr = 0o755 << 16
        package.writestr(entry, "")
    assert hub.complaints(path) == ["roads/run.py is executable."]


def test_one_byte_too_many_is_refused(tmp_path):
    path = tmp_path / "large.zip"
    for length, complaints in (
        (25_000_000, ["It is not a zip file."]),
        (25_000_001, ["It has 25,000,001 bytes, 1 more than"]),
    ):
        with path.open("wb") as file:
            file.truncate(length)
        (found,) = hub.complaints(path)
        assert found.startswith(complaints[0])


def test_a_damaged_file_is_refused(tmp_path):
    path = zip_of(tmp_path / "damaged.zip", RIGHT)
    path.write_bytes(path.read_bytes().replace(b"Finds roads.", b"Finds roofs.", 1))
    assert hub.complaints(path) == ["roads/metadata.txt is damaged."]
