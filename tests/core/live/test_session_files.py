"""The folder of a session: its identity, labels, checkpoint and rasters, and what damaged files do."""

import json
import time
from dataclasses import asdict

import numpy as np
import pytest
import rasterio
import torch
from rasterio.crs import CRS
from safetensors import safe_open
from safetensors.torch import save_file
from shapely.geometry import LineString, Point, box

from tests.core.support.rasters import NORTH_UP
from training_core.errors import JobError
from training_core.events import Reporter
from training_core.geodata.grid import Grid
from training_core.geodata.road_raster import band_raster
from training_core.learning.history import History
from training_core.live.commands import Change
from training_core.live.session_files import CHECKPOINT, LABELS, SESSION, UNREAD, Saved, SessionFiles
from training_core.live.session_reports import SessionReports
from training_core.segmentation.pixel_metrics import Scores

GRID = Grid(CRS.from_epsg(32633), NORTH_UP, 300, 300)
RASTER_GRID = GRID.window(0, 0, 300, 200)
FEATURES = (
    Change("roads", "1", LineString([(390000.123456789, 5820000), (390010, 5819990)]), 4.5, False),
    Change("no_road", "ä", box(0, 0, 1, 1)),
)
SPARED = {(3, 5): np.eye(64, dtype=bool), (0, 0): np.ones((64, 64), dtype=bool)}
STATE = {"network.a": torch.arange(4.0), "average.updates": torch.tensor(7)}
SAVED = Saved(History(step=12, elapsed_s=3.5), STATE)
BASE = {"a": torch.zeros(4), "encoder": torch.rand(100_000), "encoder.batches": torch.tensor(3)}


def opened(path, told=None, sha256="ab", grid=GRID):
    reporter = Reporter(told.append if told is not None else print)
    return SessionFiles(str(path), "image.tif", BASE, sha256, grid, reporter)


def written(path, state):
    """Write a checkpoint, and return it as it is read again, and the names of the tensors in its file."""
    with opened(path) as folder:
        folder.write_checkpoint(Saved(History(), state))
    with opened(path) as folder, safe_open(path / CHECKPOINT, "pt") as file:
        return folder.read_checkpoint().state, set(file.keys())


def test_what_was_drawn_and_learned_comes_back(tmp_path):
    history = History(12, 3.5, [(1, 0.25, 0.7, 3e-4)], [(10, 3.0, Scores(0.6, 0.75, 0.7, 0.8))])
    with opened(tmp_path / "new" / "session") as folder:
        assert folder.read_labels() == () and folder.read_checkpoint() is None
        folder.write_labels(FEATURES)
        folder.write_checkpoint(Saved(history, STATE, SPARED))
    with opened(tmp_path / "new" / "session") as folder:
        assert folder.read_labels() == FEATURES
        found = folder.read_checkpoint()
    assert found.history == history and found.spared.keys() == SPARED.keys()
    assert all(torch.equal(found.state[name], values) for name, values in STATE.items())
    assert found.state.keys() == {*STATE, "network.encoder", "network.encoder.batches"}  # the base model's
    assert all(np.array_equal(found.spared[block], mask) for block, mask in SPARED.items())
    names = sorted(path.name for path in (tmp_path / "new" / "session").iterdir())
    assert names == [CHECKPOINT, LABELS, SESSION]


def test_the_folder_of_another_session_or_of_an_unknown_form_is_refused(tmp_path):
    opened(tmp_path).finish()
    for other in ({"sha256": "cd"}, {"grid": GRID.window(1, 0, 200, 200)}):
        with pytest.raises(JobError, match="another image, resolution or base model") as refused:
            opened(tmp_path, **other)
        assert refused.value.remedy
    (tmp_path / SESSION).write_text(json.dumps({"format": "roadseg-live-9"}))
    with pytest.raises(JobError):
        opened(tmp_path)
    with pytest.raises(JobError, match="cannot be used"):
        opened(tmp_path / SESSION)  # a file in place of the folder


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
        folder.write_checkpoint(SAVED)
    spoil(tmp_path / name)
    told = []
    with opened(tmp_path, told) as folder:
        found = folder.read_labels() if name == LABELS else folder.read_checkpoint()
    assert not found and [event.kind for event in told] == ["warning"]
    assert name in told[0].message
    assert (tmp_path / UNREAD).exists() == (name == LABELS) and (tmp_path / name).exists() == (name != LABELS)


def test_labels_are_written_and_read_in_lines_of_limited_length(tmp_path):
    features = tuple(Change("roads", str(number), LineString([(0, number), (9, number)])) for number in range(1001))
    with opened(tmp_path) as folder:
        assert folder.write_labels(features) and folder.read_labels() == features
        lines = (tmp_path / LABELS).read_bytes().splitlines()
        assert len(lines) == 1002 and max(map(len, lines)) < 250  # each feature has one
        assert folder.write_labels(()) and folder.read_labels() == ()


@pytest.mark.parametrize("limit", ["MAX_LABELS_BYTES", "MAX_LINE_BYTES"])
def test_more_labels_than_can_be_read_are_refused_with_the_limit(tmp_path, limit, monkeypatch):
    circles = [Point(0, 0).buffer(number + 1, quad_segs=32) for number in range(400)]  # of some 5 kB each
    features, told = [Change("aoi", str(number), circle) for number, circle in enumerate(circles)], []
    with opened(tmp_path, told) as folder:
        assert folder.write_labels(features[:5])
        assert folder.write_labels(features)
        whole = (tmp_path / LABELS).read_bytes()
        monkeypatch.setattr(f"training_core.live.session_files.{limit}", 1 << 20)
        if limit == "MAX_LABELS_BYTES":
            assert not folder.write_labels(features)
            assert f"{tmp_path / LABELS} (they are larger than 1 MiB" in told.pop().message
            assert (tmp_path / LABELS).read_bytes() == whole  # the earlier file is left
        (tmp_path / LABELS).write_bytes(whole.replace(b"\n", b" ") if limit == "MAX_LINE_BYTES" else whole)
        assert folder.read_labels() == ()
    (warning,) = told
    assert str(tmp_path / LABELS) in warning.message and "1 MiB" in warning.message
    assert (tmp_path / UNREAD).stat().st_size == len(whole)


def test_a_checkpoint_holds_what_is_another_than_in_the_base_model(tmp_path):
    state = {
        "network.a": torch.arange(4.0),
        "network.encoder": BASE["encoder"].clone(),
        "network.encoder.batches": BASE["encoder.batches"].clone(),
        "average.a": torch.arange(4.0) / 2,
        "optimizer.0.exp_avg": torch.zeros(4),
    }
    found, stored = written(tmp_path, state)
    assert stored == {"network.a", "average.a", "optimizer.0.exp_avg"}
    assert found.keys() == state.keys() and all(torch.equal(found[name], values) for name, values in state.items())
    assert (tmp_path / CHECKPOINT).stat().st_size < 10_000  # and not 400,000
    state["network.encoder"][7] += 1e-6  # as soon as it learns, too
    found, stored = written(tmp_path, state)
    assert "network.encoder" in stored and torch.equal(found["network.encoder"], state["network.encoder"])


@pytest.mark.parametrize("history", [None, [], {"step": -1}, {**asdict(SAVED.history), "steps": [[13, 1, 0.5, 1]]}])
def test_a_checkpoint_with_a_history_that_cannot_be_is_not_used(tmp_path, history):
    told = []
    with opened(tmp_path, told) as folder:
        folder.write_checkpoint(SAVED)
    with safe_open(tmp_path / CHECKPOINT, "pt") as file:
        document = json.loads(file.metadata()["roadseg"])
    save_file(STATE, tmp_path / CHECKPOINT, {"roadseg": json.dumps({**document, "history": history})})
    with opened(tmp_path, told) as folder:
        assert folder.read_checkpoint() is None
    assert "cannot be used" in told[0].message


def test_a_checkpoint_with_nan_or_larger_than_any_is_not_used(tmp_path):
    told = []
    with opened(tmp_path, told) as folder:
        folder.write_checkpoint(Saved(History(), {"network.a": torch.tensor([float("nan")])}))
        folder.finish()
        assert folder.read_checkpoint() is None
        assert "not numbers" in told.pop().message
        with (tmp_path / CHECKPOINT).open("wb") as file:
            file.truncate(1 << 40)  # of which the disk has nothing
        assert folder.read_checkpoint() is None
    assert "at most 257 MiB" in told[0].message and str(tmp_path / CHECKPOINT) in told[0].message


def test_a_full_disk_is_warned_of_and_the_session_goes_on(tmp_path, monkeypatch):
    told = []
    with opened(tmp_path, told) as folder:
        with monkeypatch.context() as patch:
            patch.setattr("training_core.learning.checkpoint.save_file", _full)
            patch.setattr("training_core.live.session_files._write_lines", _full)
            for _ in range(2):
                assert not folder.write_labels(FEATURES)
                folder.write_checkpoint(SAVED)
                assert failure_of(folder)
        assert [event.kind for event in told] == ["warning", "warning"]  # one of a kind
        assert all("continues" in event.message for event in told)
        assert [path.name for path in tmp_path.iterdir()] == [SESSION]
        assert folder.write_labels(FEATURES)
        folder.write_checkpoint(SAVED)
        assert not failure_of(folder)
    assert len(told) == 2 and (tmp_path / LABELS).is_file() and (tmp_path / CHECKPOINT).is_file()


def failure_of(folder):
    """Return whether the checkpoint that is being written fails."""
    end = time.monotonic() + 5
    while not (has_failed := folder.has_failed()) and folder._writer._writing is not None and time.monotonic() < end:
        time.sleep(0.01)
    return has_failed


def _full(*_, **__):
    raise OSError(28, "No space left on device")


def ramp():
    return np.broadcast_to(np.linspace(0, 254, 300).astype(np.uint8), (200, 300)).copy()


def test_a_raster_lies_where_its_ground_is_and_reads_as_a_probability(tmp_path):
    values = ramp()
    values[:10] = 255
    path = SessionReports(tmp_path, Reporter()).write_prediction(values, RASTER_GRID, "probability")
    assert path.name == "prediction-000001.tif" and sorted(tmp_path.iterdir()) == [path]
    with rasterio.open(path) as dataset:
        assert (dataset.crs, dataset.transform, dataset.nodata) == (RASTER_GRID.crs, RASTER_GRID.transform, 255)
        assert dataset.scales[0] == pytest.approx(1 / 254)
        found, known = band_raster(dataset, 0.5, Reporter()).read(0, 200)
    assert not known[:10].any() and known[10:].all()
    np.testing.assert_allclose(found[10:], values[10:] / 254, atol=1e-6)


def test_uncertainty_is_highest_where_the_model_cannot_tell(tmp_path):
    path = SessionReports(tmp_path, Reporter()).write_prediction(ramp(), RASTER_GRID, "uncertainty")
    with rasterio.open(path) as dataset:
        found = dataset.read(1)[0].astype(int)
    assert found[0] == found[-1] == 0 and found.max() == 254 and abs(int(found.argmax()) - 150) < 10


def test_superseded_files_go_once_three_newer_ones_are_there_and_numbers_go_on_after_a_session(tmp_path):
    files = SessionReports(tmp_path, Reporter())
    for _ in range(7):
        files.write_prediction(ramp(), RASTER_GRID, "probability")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"prediction-{number:06d}.tif" for number in (4, 5, 6, 7)
    ]
    (tmp_path / "prediction-of-mine.tif").write_text("not of the session")
    path = SessionReports(tmp_path, Reporter()).write_prediction(
        ramp(), RASTER_GRID, "probability"
    )  # in another session
    assert path.name == "prediction-000008.tif"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["prediction-000008.tif", "prediction-of-mine.tif"]
