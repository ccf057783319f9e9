"""The folder of a session: whose it is, what was drawn and learned, and what damaged files do."""

import json

import numpy as np
import pytest
import torch
from rasterio.crs import CRS
from shapely.geometry import LineString, box

from support.rasters import NORTH_UP
from training_core.errors import JobError
from training_core.events import Reporter
from training_core.geodata.grid import Grid
from training_core.live.commands import Change
from training_core.live.session_folder import CHECKPOINT, LABELS, SESSION, Saved, SessionFolder

GRID = Grid(CRS.from_epsg(32633), NORTH_UP, 300, 300)
FEATURES = (
    Change("roads", "1", LineString([(390000.123456789, 5820000), (390010, 5819990)]), 4.5, False),
    Change("no_road", "ä", box(0, 0, 1, 1)),
)
SPARED = {(3, 5): np.eye(64, dtype=bool), (0, 0): np.ones((64, 64), dtype=bool)}
STATE = {"network.a": torch.arange(4.0), "average.updates": torch.tensor(7)}


def opened(path, told=None, sha256="ab", grid=GRID):
    return SessionFolder(str(path), "image.tif", sha256, grid, Reporter(told.append if told is not None else print))


def test_what_was_drawn_and_learned_comes_back(tmp_path):
    with opened(tmp_path / "new" / "session") as folder:
        assert folder.read_labels() == () and folder.read_checkpoint() is None
        folder.write_labels(FEATURES)
        folder.write_checkpoint(Saved(12, 3.5, [(10, 3.0, 0.75)], STATE, SPARED))
    with opened(tmp_path / "new" / "session") as folder:
        assert folder.read_labels() == FEATURES
        found = folder.read_checkpoint()
    assert (found.step, found.trained_s, found.scores) == (12, 3.5, [(10, 3.0, 0.75)])
    assert all(torch.equal(found.state[name], values) for name, values in STATE.items())
    assert found.state.keys() == STATE.keys() and found.spared.keys() == SPARED.keys()
    assert all(np.array_equal(found.spared[block], mask) for block, mask in SPARED.items())
    names = sorted(path.name for path in (tmp_path / "new" / "session").iterdir())
    assert names == [CHECKPOINT, LABELS, SESSION]


@pytest.mark.parametrize("other", [{"sha256": "cd"}, {"grid": GRID.window(1, 0, 200, 200)}])
def test_the_folder_of_another_session_is_refused(tmp_path, other):
    opened(tmp_path).finish()
    with pytest.raises(JobError, match="another image, resolution or base model") as refused:
        opened(tmp_path, **other)
    assert refused.value.remedy


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(JobError, match="cannot be used"):
        opened(tmp_path / "file")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x80\x04\x95."),
        lambda path: path.write_bytes(path.read_bytes()[:-5]),
        lambda path: path.write_bytes(b"[" * 10_000),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
@pytest.mark.parametrize("name", [LABELS, CHECKPOINT])
def test_a_damaged_file_is_warned_of_and_the_session_begins_without_it(tmp_path, name, spoil):
    with opened(tmp_path) as folder:
        folder.write_labels(FEATURES)
        folder.write_checkpoint(Saved(12, 3.5, [], STATE))
    spoil(tmp_path / name)
    told = []
    with opened(tmp_path, told) as folder:
        found = folder.read_labels() if name == LABELS else folder.read_checkpoint()
    assert not found and [event.kind for event in told] == ["warning"]
    assert name in told[0].message


def test_a_checkpoint_with_nan_is_not_used(tmp_path):
    told = []
    with opened(tmp_path, told) as folder:
        folder.write_checkpoint(Saved(12, 3.5, [], {"network.a": torch.tensor([float("nan")])}))
    with opened(tmp_path, told) as folder:
        assert folder.read_checkpoint() is None
    assert "no numbers" in told[0].message


def test_a_full_disk_is_warned_of_and_the_session_goes_on(tmp_path, monkeypatch):
    told = []
    with opened(tmp_path, told) as folder:
        monkeypatch.setattr("training_core.live.session_folder.save_file", _full)
        monkeypatch.setattr("training_core.live.session_folder._write_text", _full)
        folder.write_labels(FEATURES)
        folder.write_checkpoint(Saved(12, 3.5, [], STATE))
    assert [event.kind for event in told] == ["warning", "warning"]
    assert all("goes on" in event.message for event in told)
    assert [path.name for path in tmp_path.iterdir()] == [SESSION]


def _full(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_session_of_an_unknown_form_is_refused(tmp_path):
    (tmp_path / SESSION).write_text(json.dumps({"format": "roadseg-live-9"}))
    with pytest.raises(JobError):
        opened(tmp_path)
