"""One QGIS for all of these tests: it acts the story out once, and they look at what it saw."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

from scripts import desktop  # noqa: E402


def act(folder, plan, limit_s, request):
    """Return what a story saw in a QGIS of its own."""
    if not shutil.which("qgis") or not shutil.which("Xvfb"):
        pytest.skip("QGIS' window or Xvfb is not installed")
    seen = desktop.act(folder, plan, limit_s)
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{desktop.timings(seen)}\n{seen.get('strokes', '')}")
    return seen


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("Person 1")


@pytest.fixture(scope="session")
def seen(folder, request):
    return act(folder, {"steps": 60, "scene_px": 768}, 400, request)
