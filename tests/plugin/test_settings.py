import os
import sys

import pytest
from qgis.core import QgsSettings
from roadseg.qgis_roadseg import settings
from roadseg.qgis_roadseg.settings import Settings

from .support.acting import failure

pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    monkeypatch.delenv("ROADSEG_THREADS", raising=False)
    monkeypatch.delenv("ROADSEG_MEMORY_GB", raising=False)
    monkeypatch.delenv("ROADSEG_DEVICE", raising=False)


def test_what_is_kept_is_found_again_and_what_is_taken_back_leaves_no_key(tmp_path, monkeypatch):
    assert settings.load() == Settings("", 0, 0.0, "") and settings.load().variables() == {}
    kept = Settings(sys.executable, 1, 2.5, str(tmp_path), "cpu")
    settings.save(kept)
    assert settings.load() == kept
    assert kept.variables() == {"ROADSEG_THREADS": "1", "ROADSEG_MEMORY_GB": "2.5", "ROADSEG_DEVICE": "cpu"}
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "3")  # which counts before the settings
    monkeypatch.setenv("ROADSEG_DEVICE", "cuda")
    assert kept.variables() == {"ROADSEG_THREADS": "1"}
    settings.save(Settings())
    assert settings.load() == Settings()
    assert [key for key in QgsSettings().allKeys() if key.startswith("roadseg/")] == []


@pytest.mark.parametrize(
    ("key", "value", "taken"),
    [
        ("threads", "10000", os.cpu_count()),
        ("threads", "-3", 0),
        ("threads", "many", 0),
        ("memory_gb", "1e9", 4096),
        ("memory_gb", "-1", 0),
        ("memory_gb", "nan", 0),
        ("memory_gb", "much", 0),
        ("device", "quantum", ""),
    ],
)
def test_values_that_cannot_be_are_clipped_or_ignored_with_a_word(key, value, taken):
    QgsSettings().setValue(f"roadseg/{key}", value)
    told = []
    assert getattr(settings.load(told.append), key) == taken
    assert len(told) == 1 and f"The setting roadseg/{key} is " in told[0]


def test_a_python_or_a_folder_that_is_not_there_is_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.touch()
    for python in ("/no/such/python", str(tmp_path), str(text)):
        assert Settings(python=python).problems() == [
            f"{python} is not an executable file. Choose a Python interpreter, or leave the field empty."
        ]
    assert Settings(models_folder=str(text)).problems() == [
        f"{text} is not a folder. Choose another folder, or leave the field empty."
    ]
    assert Settings(sys.executable, models_folder=str(tmp_path)).problems() == []


def test_an_algorithm_hands_the_settings_on_and_tells_what_it_clips(provider, play_runtime, image):
    play_runtime("""
told = {name: os.environ.get(name) for name in ("ROADSEG_THREADS", "ROADSEG_MEMORY_GB")}
send("error", code="job", message=f"{told}", remedy="")
""")
    QgsSettings().setValue("roadseg/threads", "10000")
    QgsSettings().setValue("roadseg/memory_gb", "2.5")
    told = failure("vectorize", {"INPUT": str(image), "OUTPUT": "TEMPORARY_OUTPUT"})
    assert str({"ROADSEG_THREADS": str(os.cpu_count()), "ROADSEG_MEMORY_GB": "2.5"}) in told
    assert "roadseg/threads is 10000" in told
