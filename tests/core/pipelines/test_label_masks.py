"""Label masks in place of drawn roads, and pictures without georeference, through whole jobs."""

import numpy as np
import pytest
from rasterio.errors import NotGeoreferencedWarning

from tests.core.support.rasters import write_raster
from tests.core.support.towns import ROAD_M, image_of, true_roads
from training_core.errors import JobError, LabelError
from training_core.events import Reporter
from training_core.jobs import Evaluate, FineTune, from_options
from training_core.models.loading import load_network
from training_core.models.model_file import weights_sha256
from training_core.pipelines import evaluate, finetune

pytestmark = [
    pytest.mark.usefixtures("enough_memory"),
    pytest.mark.filterwarnings(f"ignore::{NotGeoreferencedWarning.__module__}.{NotGeoreferencedWarning.__name__}"),
]
NATIVE = {"engine": "native", "precision": "fp32", "threads": 1}


@pytest.fixture(scope="module")
def chips(tmp_path_factory):
    """A folder of pictures and one of masks, both without a place on the map."""
    folder = tmp_path_factory.mktemp("chips")
    truth, made = true_roads(), {}
    for kind, values in (("images", image_of(truth)), ("masks", np.where(truth, 255, 0).astype(np.uint8)[None])):
        (folder / kind).mkdir()
        made[kind] = write_raster(folder / kind / "town.png", values, driver="PNG", transform=None, crs=None)
    return made


def scores(model, **options):
    return evaluate.run(Evaluate(model=model, **NATIVE, **options), Reporter())


def fine_tuned(path, **options):
    settled = {"steps": 3, "chip_px": 64, "batch_size": 2, "base_model": "", "encoder": "resnet18", **NATIVE}
    finetune.run(FineTune(model=str(path), **settled, **options), Reporter())
    return load_network(str(path))


def test_a_mask_of_the_drawn_roads_teaches_and_scores_the_same(town, learned, tmp_path):
    mask = write_raster(tmp_path / "town.tif", true_roads().astype(np.uint8)[None])
    by_mask = {"rasters": (town.raster,), "masks": (mask,)}
    drawn = scores(learned.model, **town.labeled)
    assert scores(learned.model, **by_mask)["pixel"] == drawn["pixel"]
    both = [fine_tuned(tmp_path / f"{len(each)}.safetensors", **each)[0] for each in (by_mask, town.labeled)]
    assert len({weights_sha256(network.state_dict()) for network in both}) == 1


@pytest.mark.slow
def test_pictures_without_a_place_are_learned_from_and_scored_at_the_size_given(chips, town, learned, tmp_path):
    options = {"rasters": (chips["images"],), "masks": (chips["masks"],), "pixel_m": 1.0}
    _, card = fine_tuned(tmp_path / "model.safetensors", **options)
    assert card.resolution_m == pytest.approx(1)
    assert scores(learned.model, **options)["pixel"] == scores(learned.model, **town.labeled)["pixel"]
    _, card = fine_tuned(tmp_path / "coarse.safetensors", **{**options, "resolution_m": 2.0})
    assert card.resolution_m == pytest.approx(2)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, r"Drawn roads \(roads\) are missing"),
        ({"roads": "r.gpkg", "masks": ["m.tif"]}, "Leave one of them out"),
        ({"masks": ["m.tif"], "no_road": "n.gpkg"}, r"no_road\) need drawn roads"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, reason):
    with pytest.raises(JobError, match=reason):
        from_options(Evaluate, {"rasters": ["i.tif"], "model": "m", "width_m": ROAD_M, **options})


def test_an_image_too_small_to_learn_from_is_refused_by_name(tmp_path):
    raster = write_raster(tmp_path / "small.tif", image_of(np.zeros((60, 16), bool)), photometric="rgb")
    mask = write_raster(tmp_path / "mask.tif", np.tile(np.uint8([0, 1]), (60, 8)))
    with pytest.raises(LabelError, match=r"Only 960 pixels of .*small\.tif"):
        fine_tuned(tmp_path / "model.safetensors", rasters=(raster,), masks=(mask,))
