"""QGIS' window under Xvfb with a fresh profile: runs a scripted session (story) and returns what it recorded.

Scope: starting, watching and ending of QGIS. Independent of what is done in it; see `tests/gui/story.py`. Run by
itself, it makes the tutorial's pictures.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.headless import BUILD, ROOT, environment, say

STORY = ROOT / "tests" / "gui"
SCREEN_PX = (1600, 1000)
# Settings that enable the plugin, as the plugin manager does, and switch off the start-up dialogs.
SETTINGS = """[PythonPlugins]
processing=true
roadseg=true

[locale]
overrideFlag=true
userLocale=en_US

[qgis]
checkVersion=false
"""
PICTURES = ROOT / "docs" / "images"
# The live session of the tutorial, and its review; see live_story.py and review_story.py. Their films are named.
LIVE = {"story": "live_story", "roads": 6, "rests": 4, "clips": "tutorial_live.gif"}
REVIEW = {
    **{"story": "review_story", "clips": "tutorial_review.gif", "places": 60},
    **{"view_m": 420, "middle": (500215, 5400500)},
}


@contextmanager
def screen(scale: float) -> Iterator[str]:
    """Start an X server without hardware and yield its display's name."""
    receive, send = os.pipe()
    width, height = (round(scale * side) for side in SCREEN_PX)
    command = ["Xvfb", "-displayfd", str(send), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[send], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(send)
    try:
        with os.fdopen(receive) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise SystemExit("Xvfb did not start.")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def act(folder: Path, plan: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """Start QGIS, run the story in it, and return what it recorded.

    Parameters
    ----------
    folder : Path
        For profile, user data and pictures; created if missing.
    plan : dict
        Parameters of the story; see `story.py`. With `scale`, all is larger by that, and so is the screen.
    limit_s : float
        Time limit in seconds, after which QGIS ends itself; 30 s later it is killed.

    Returns
    -------
    dict
        What the story recorded, and `exit_status`.

    Raises
    ------
    RuntimeError
        QGIS ended without a record.
    """
    profile = folder / "profiles" / "profiles" / "default"
    (profile / "python" / "plugins").mkdir(parents=True)
    (profile / "python" / "plugins" / "roadseg").symlink_to(ROOT, target_is_directory=True)
    (profile / "QGIS").mkdir()
    (folder / "temporary").mkdir()
    for version in (3, 4):  # each reads its own
        (profile / "QGIS" / f"QGIS{version}.ini").write_text(SETTINGS)
    seen = folder / "seen.json"
    paths = {"seen": str(seen), "pictures": str(folder), "limit_s": limit_s}
    (folder / "plan.json").write_text(json.dumps({**plan, **paths}))
    scale = plan.get("scale", 1.0)
    with screen(scale) as display:
        variables = {
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "QT_SCALE_FACTOR": str(scale),
            "TMPDIR": str(folder / "temporary"),  # which what a person saves does not lie in
            "XDG_DATA_HOME": str(folder / "data"),
            "ROADSEG_PYTHON": (BUILD / "runtime-python.txt").read_text().strip(),
            "ROADSEG_CHECKOUT": str(ROOT),
            "ROADSEG_PLAN": str(folder / "plan.json"),
        }
        options = ["--nologo", "--noversioncheck", "--profiles-path", str(folder / "profiles")]
        command = ["qgis", *options, "--code", str(STORY / "begin.py")]
        with open(folder / "qgis.log", "wb") as log:
            status = _run(command, environment(**variables), log, limit_s + 30)
    if not seen.is_file():
        tail = (folder / "qgis.log").read_text(errors="replace")[-4000:]
        raise RuntimeError(f"QGIS ended ({status}) without a record:\n{tail}")
    return {**json.loads(seen.read_text()), "exit_status": status}


def _run(command: list[str], env: dict[str, str], log: Any, limit_s: float) -> int:
    process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        return process.wait(limit_s)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def timings(seen: dict[str, Any]) -> str:
    """Return a table of the steps' durations, and of the longest time without response in each."""
    rows = [
        f"{name:<16}{each['seconds']:>8.1f} s{each['max_gap_s']:>10.3f} s{each['max_work_s']:>8.3f} s"
        for name, each in seen["steps"].items()
    ]
    return "\n".join([f"{'step':<16}{'took':>10}{'no answer':>12}{'working':>10}", *rows])


def main() -> None:
    """Make the tutorial's pictures."""
    with tempfile.TemporaryDirectory(prefix="roadseg-pictures-") as name:
        for plan in ({}, LIVE, REVIEW):
            folder = Path(name, plan.get("story", "story"))
            seen = act(folder, plan, limit_s=900)
            say(timings(seen))
            if seen["error"]:
                raise SystemExit(seen["error"])
            _animate(folder, plan.get("clips", ""))
            _open_report(folder / "accuracy.html")
            for picture in sorted(folder.glob("tutorial_*.*")):
                shutil.copy(picture, PICTURES)
                say(f"{PICTURES / picture.name}: {picture.stat().st_size / 1000:.0f} kB")


def _animate(folder: Path, name: str) -> None:
    """Make an animation of a story's frames, if it has any."""
    if any(folder.glob("frame_*.png")):
        python = (BUILD / "runtime-python.txt").read_text().strip()
        script = Path(__file__).with_name("animation.py")
        subprocess.run([python, str(script), str(folder), str(folder / name)], check=True)


def _open_report(report: Path) -> None:
    """Make a picture of the upper part of a report, if there is one, and a browser that can."""
    browser = shutil.which("chromium")
    if report.is_file() and browser:
        picture = report.with_name("tutorial_report.png")
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=760,420"]
        subprocess.run([browser, *options, f"--screenshot={picture}", report.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
