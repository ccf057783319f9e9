"""A package of one module as a wheel, and a requirement set of that package alone."""

import os
import zipfile

from roadseg.qgis_roadseg.runtime import runtime
from roadseg.qgis_roadseg.runtime.runtime import RequirementSet


def make_wheel(folder, code="__version__ = '1.2'", extra=(), name="tiny", version="1.2", requires=()):
    """Write the wheel into a folder, with further files by their names in the archive; return the folder's path."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **dict(extra),
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in files))
    return str(folder)


def tiny_set(folder, set_attribute=setattr):
    """Make the requirement set, whose files lie in a folder, the only one; return it."""
    (folder / "runtime").mkdir(exist_ok=True)
    (folder / "runtime" / "tiny.txt").write_text("-r common.txt\n")
    (folder / "runtime" / "common.txt").write_text("tiny==1.2\n")
    requirements = RequirementSet("tiny", ((3, 9), (3, 99)))
    set_attribute(runtime, "RESOURCES", folder)
    set_attribute(runtime, "REQUIREMENT_SETS", {"tiny": requirements})
    return requirements


def no_own_index(monkeypatch, folder):
    """Remove the package indexes that pip and uv are configured with, by variables and files."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
