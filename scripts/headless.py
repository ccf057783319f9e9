"""qgis_process, run headless with a profile of the project's own.

The profile in build/ links this checkout as the plugin `roadseg`, so the user's own QGIS stays untouched. For the demo,
the set-up and the end-to-end tests; no part of the plugin.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"


class AlgorithmError(Exception):
    """An algorithm failed: its log is the message."""


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a headless QGIS with the project's profile, which is created if missing."""
    profile = BUILD / "qgis-profile"
    plugins = profile / "profiles" / "default" / "python" / "plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    link = plugins / "roadseg"
    if not link.is_symlink() or link.readlink() != ROOT:  # as where the checkout was moved after the last run
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT, target_is_directory=True)
    runtime_dir = BUILD / "run"
    runtime_dir.mkdir(mode=0o700, exist_ok=True)
    foreign = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        # QGIS takes the first Python on the path for its own, and an active virtual environment is not that.
        "PATH": os.pathsep.join(["/usr/bin", os.environ.get("PATH", os.defpath)]),
        "QGIS_CUSTOM_CONFIG_PATH": str(profile),
        "QT_QPA_PLATFORM": "offscreen",
        "LC_ALL": "C.UTF-8",  # so that messages are English in any locale
        "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", str(runtime_dir)),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }


def qgis_process(*arguments: str, text: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run qgis_process with the plugin enabled, and return its status and output."""
    env = environment(**variables)
    marker = Path(env["QGIS_CUSTOM_CONFIG_PATH"]) / "enabled"
    if not marker.exists():
        subprocess.run(["qgis_process", "plugins", "enable", "roadseg"], env=env, check=True, capture_output=True)
        marker.touch()
    return subprocess.run(["qgis_process", *arguments], env=env, input=text, capture_output=True, text=True)


def run(algorithm: str, parameters: dict[str, Any], **variables: str) -> dict[str, Any]:
    """Run an algorithm and return its results.

    Parameters
    ----------
    algorithm : str
        Its id: roadseg:segment.
    parameters : dict
        The parameters' values.
    **variables : str
        Environment variables.

    Returns
    -------
    dict
        The outputs' values by name.

    Raises
    ------
    AlgorithmError
        It failed; the message is what QGIS printed.
    """
    document = json.dumps({"inputs": parameters})
    done = qgis_process("--json", "run", algorithm, "-", text=document, **variables)
    if done.returncode:
        raise AlgorithmError(f"{algorithm} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return json.loads(done.stdout[done.stdout.index("{") :])["results"]


def say(message: str) -> None:
    """Print a message to standard error, unbuffered."""
    print(message, file=sys.stderr, flush=True)
