"""Fills a folder with the wheels of a runtime, for another platform and Python than this machine's.

uv resolves for that platform, since pip evaluates markers such as `sys_platform == "win32"` for the Python that runs
it; pip then downloads exactly that. Without a folder it only says what would come, a line for each set that is added
to those before it: `python -m scripts.wheels macosx_arm64 3.12 native onnx openvino`.
"""

from __future__ import annotations

import argparse
import os
import re
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
    "macosx_arm64": ("aarch64-apple-darwin", [f"macosx_{major}_0_arm64" for major in range(11, 15)]),
    "manylinux_x86_64": (
        "x86_64-manylinux_2_28",
        ["linux_x86_64", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64"]
        + [f"manylinux_2_{minor}_x86_64" for minor in range(5, 29)],
    ),
}
_MACOS = {"MACOSX_DEPLOYMENT_TARGET": "14.0"}  # the oldest that has the newest PyTorch
_SIZE = re.compile(r"\bsize = (\d+)")


def download(platform: str, python: str, sets: list[str], folder: Path) -> None:
    """Download all wheels that sets of requirements need on a platform (a key of PLATFORMS) with a Python ("3.12")."""
    index = _index(platform)
    with tempfile.TemporaryDirectory() as scratch:
        pinned = Path(scratch, "pinned.txt")
        pinned.write_text(_resolved(platform, python, sets, index, "requirements.txt"), encoding="utf-8")
        _run(
            [sys.executable, "-m", "pip", "download", "--progress-bar", "off", "--no-deps", "--only-binary=:all:"],
            ["--implementation", "cp", "--python-version", python],
            [f"--platform={tag}" for tag in PLATFORMS[platform][1]],
            [*index, "-r", pinned, "-d", folder],
        )
    wheels = list(folder.glob("*.whl"))
    print(f"{folder}: {len(wheels)} wheels, {sum(wheel.stat().st_size for wheel in wheels) / 1e6:.0f} MB")


def megabytes(platform: str, python: str, sets: list[str]) -> float:
    """Return how much the wheels of sets of requirements are, without downloading them.

    Raises CalledProcessError if a package has no wheel there.
    """
    packages = _resolved(platform, python, sets, _index(platform), "pylock.toml").split("[[packages]]")[1:]
    sizes = [_SIZE.search(each) for each in packages]  # of the first wheel; an index that tells no size counts as none
    return sum(int(size[1]) for size in sizes if size) / 1e6


def _resolved(platform: str, python: str, sets: list[str], index: list[str], kind: str) -> str:
    return _run(
        [Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet", "--no-header", "--no-annotate"],
        ["--python-platform", PLATFORMS[platform][0], "--python-version", python, "--only-binary", ":all:"],
        [
            "--index-strategy",
            "unsafe-best-match",
            *index,
            "--format",
            kind,
            *(RESOURCES / f"{name}.txt" for name in sets),
        ],
    )


def _index(platform: str) -> list[str]:
    return ["--extra-index-url", CPU_INDEX] if "linux" in platform and _answers(CPU_INDEX) else []


def _answers(index: str) -> bool:
    try:
        with urllib.request.urlopen(f"{index}/torch/", timeout=5):
            return True
    except OSError:
        print(f"{index} cannot be reached: PyTorch comes with CUDA, some 3 GB in all.", file=sys.stderr)
        return False


def _run(*parts: list) -> str:
    command = [str(each) for part in parts for each in part]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **_MACOS}).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platform", choices=PLATFORMS)
    parser.add_argument("python", help="such as 3.12")
    parser.add_argument("sets", nargs="+", choices=sorted(path.stem for path in RESOURCES.glob("*.txt")))
    parser.add_argument("--to", type=Path, help="folder to fill")
    given = parser.parse_args()
    if given.to:
        download(given.platform, given.python, given.sets, given.to)
    else:
        for count in range(1, len(given.sets) + 1):
            each = given.sets[:count]
            print(f"{' + '.join(each)}: {megabytes(given.platform, given.python, each):.0f} MB")
