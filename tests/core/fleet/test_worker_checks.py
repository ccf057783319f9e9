import pytest

from training_core.errors import ModelFileError, OutputError
from training_core.fleet import worker_checks
from training_core.fleet.worker_checks import Leader


def differences(document, answer):
    return list(worker_checks.differences(document, answer))


@pytest.fixture
def leader(tmp_path):
    """Return a leader whose model and scene lie in a folder."""
    (tmp_path / "model").write_bytes(b"weights")
    (tmp_path / "scene.tif").touch()
    paths = (str(tmp_path / "scene.tif"), "/vsicurl/https://example.org/scene.tif")
    made = Leader(str(tmp_path / "region"), [str(tmp_path / "model")], paths)
    yield made
    made.close()


def test_a_worker_with_the_same_of_all_fits_and_is_seen(leader, monkeypatch):
    monkeypatch.setattr(worker_checks, "SEEN_WITHIN_S", 0.0)
    assert differences(leader.document, "worker-1") == []
    assert leader.unseen("worker-1") == []
    assert leader.unseen("worker-2") == [f"files that it writes into {leader.document['folder']} are not visible here"]


def test_every_difference_of_a_worker_is_named(leader, tmp_path, monkeypatch):
    (tmp_path / "model").write_bytes(b"other weights")
    (tmp_path / "scene.tif").unlink()
    theirs = {**worker_checks.checked_versions(), "torch": "1.0"}
    del theirs["numpy"]
    own = worker_checks.checked_versions()
    monkeypatch.setattr(worker_checks, "checked_versions", lambda: theirs)
    assert differences(leader.document, "w") == [
        f"numpy is missing there, but {own['numpy']} here",
        f"torch is 1.0 there, but {own['torch']} here",
        f"{tmp_path / 'model'} is another file there",
        f"{tmp_path / 'scene.tif'} cannot be found there",
    ]
    (tmp_path / "model").unlink()
    assert f"{tmp_path / 'model'} cannot be read (No such file or directory) there" in differences(leader.document, "w")


def test_a_folder_of_the_same_name_that_is_another_one_is_found_out(leader, tmp_path, monkeypatch):
    monkeypatch.setattr(worker_checks, "SEEN_WITHIN_S", 0.0)
    (tmp_path / "region").rename(tmp_path / "here")
    folder = str(tmp_path / "region")
    assert differences(leader.document, "w") == [f"the folder {folder} does not exist there"]
    (tmp_path / "region").mkdir()
    assert differences(leader.document, "w") == [f"the folder {folder} is not the same one there"]


def test_a_leader_leaves_nothing_behind_and_says_so_without_a_folder_or_a_model(tmp_path):
    leader = Leader(str(tmp_path))
    differences(leader.document, "w")
    leader.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file cannot be written to"):
        Leader(str(tmp_path / "file"))
    with pytest.raises(ModelFileError, match=r"no\.model cannot be read"):
        Leader(str(tmp_path), [str(tmp_path / "no.model")])
