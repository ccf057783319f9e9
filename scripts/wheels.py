"""Fills a folder with the wheels of a runtime, for another platform and Python than this machine's.

uv resolves for that platform, since pip evaluates markers such as `sys_platform == "win32"` for the Python that runs
it; pip then downloads exactly that.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

RESOURCES = Path(__file__).resolve().parents[1] / "resources" / "runtime"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# By pip's name of a platform: uv's, and all tags of wheels that run there.
PLATFORMS = {
    "win_amd64": ("x86_64-pc-windows-msvc", ["win_amd64"]),
    "macosx_arm64": ("aarch64-apple-darwin", [f"macosx_{major}_0_arm64" for major in (11, 12, 13)]),
    "manylinux_x86_64": (
        "x86_64-manylinux_2_28",
        ["linux_x86_64", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64"]
        + [f"manylinux_2_{minor}_x86_64" for minor in range(5, 29)],
    ),
}


def download(platform: str, python: str, requirements: str, folder: Path) -> None:
    """Download all wheels that a requirement set needs on a platform (a key of PLATFORMS) with a Python ("3.12")."""
    name, tags = PLATFORMS[platform]
    index = ["--extra-index-url", CPU_INDEX] if "linux" in platform and _answers(CPU_INDEX) else []
    with tempfile.TemporaryDirectory() as scratch:
        pinned = Path(scratch, "pinned.txt")
        _run(
            [Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet", "--no-header", "--no-annotate"],
            ["--python-platform", name, "--python-version", python, "--only-binary", ":all:"],
            ["--index-strategy", "unsafe-best-match", *index, RESOURCES / f"{requirements}.txt", "-o", pinned],
        )
        _run(
            [sys.executable, "-m", "pip", "download", "--progress-bar", "off", "--no-deps", "--only-binary=:all:"],
            ["--implementation", "cp", "--python-version", python, *(f"--platform={tag}" for tag in tags)],
            [*index, "-r", pinned, "-d", folder],
        )
    wheels = list(folder.glob("*.whl"))
    print(f"{folder}: {len(wheels)} wheels, {sum(wheel.stat().st_size for wheel in wheels) / 1e6:.0f} MB")


def _answers(index: str) -> bool:
    try:
        with urllib.request.urlopen(f"{index}/torch/", timeout=5):
            return True
    except OSError:
        print(f"{index} cannot be reached: PyTorch comes with CUDA, 3.3 GB in all.", file=sys.stderr)
        return False


def _run(*parts: list) -> None:
    subprocess.run([str(each) for part in parts for each in part], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platform", choices=PLATFORMS)
    parser.add_argument("python", help="such as 3.12")
    parser.add_argument("requirements", choices=["native", "ipex"])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    download(given.platform, given.python, given.requirements, given.folder)
