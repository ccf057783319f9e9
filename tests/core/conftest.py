from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

from tests.shared_fixtures import make_once  # noqa: E402
from training_core.system.processor import prepare_process  # noqa: E402

# One thread: where several processes share the cores, threads that wait for each other take all of the time.
prepare_process(threads=1)


@pytest.fixture(scope="session")
def real_data():
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real imagery (shared/data) is not here")
    return folder


@pytest.fixture(scope="session")
def town(tmp_path_factory):
    """A town's image, drawn roads and area; do not write there."""
    from tests.core.support.towns import make_town

    return make_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    """A model file for red, green and blue that has learned nothing."""
    from tests.core.support.towns import plant_model

    return plant_model(tmp_path_factory.mktemp("planted") / "model.safetensors")


@pytest.fixture(scope="session")
def learned(town, planted, tmp_path_factory):
    """What fine-tuning on the town told, and the files that it made: a model that finds the town's roads."""
    from tests.core.support.towns import learn

    return make_once(tmp_path_factory, "learned", lambda folder: learn(town, planted, folder))


@pytest.fixture(scope="session")
def learned_onnx(learned, tmp_path_factory):
    """The model that finds the town's roads as an ONNX file."""
    from training_core.events import Reporter
    from training_core.jobs import ExportModel
    from training_core.pipelines import exportmodel

    def export(folder):
        path = str(folder / "town.onnx")
        exportmodel.run(ExportModel(model=learned.model, onnx=path), Reporter())
        return path

    return make_once(tmp_path_factory, "onnx", export)


@pytest.fixture
def enough_memory(monkeypatch):
    """Let every training fit into memory, without the seconds that measuring its needs takes."""
    import numpy as np

    from training_core.learning import plan

    nothing = plan.Footprint(0, 0, 0, np.zeros(1), np.zeros(1), 0)
    monkeypatch.setattr(plan, "measure_footprint", lambda *_: nothing)
