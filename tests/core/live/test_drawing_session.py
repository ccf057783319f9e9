"""A drawing session through a real worker process, as a panel holds it: draw, erase, pause, keep, kill, resume."""

import time

import geopandas
import numpy as np
import psutil
import pytest
import rasterio
from shapely.geometry import LineString, box

from tests.core.support.worker_process import LiveWorker
from training_core import events
from training_core.events import Reporter
from training_core.jobs import Evaluate, Live, MakeScene
from training_core.pipelines import evaluate, makescene

pytestmark = pytest.mark.slow
SIDE_PX = 512
# A hedge that is seen, and is no road: what is drawn along it by mistake can be learned.
HEDGE_WIDTH_M, GREEN = 4.0, (52, 104, 40)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    raster, roads = str(folder / "scene.tif"), str(folder / "scene.gpkg")
    makescene.run(MakeScene(raster=raster, roads=roads, size_px=SIDE_PX, seed=11, layout="mixed"), Reporter())
    paint(raster, hedge_along(raster).buffer(HEDGE_WIDTH_M / 2), GREEN)
    return raster, roads


def hedge_along(raster):
    left, bottom, right, _ = extent_of(raster)
    return LineString([(left + 20, bottom + 30), (right - 20, bottom + 40)])


def paint(raster, shape, color):
    """Paint a shape into an image, with some noise."""
    with rasterio.open(raster, "r+") as dataset:
        values = dataset.read()
        inside = rasterio.features.rasterize([shape], dataset.shape, transform=dataset.transform) > 0
        noise = np.random.default_rng(0).integers(-6, 7, (len(color), np.count_nonzero(inside)))
        values[:, inside] = np.array(color)[:, None] + noise
        dataset.write(values)


def extent_of(raster):
    with rasterio.open(raster) as dataset:
        return list(dataset.bounds)


def complete_after(worker, step):
    """Return the next complete prediction of a model that has learned for a number of steps."""
    while True:
        found = worker.wait_for(events.Prediction, timeout_s=240)
        if found.fraction == 1 and found.step >= step:
            return found


def seen_at(prediction, shape):
    """Return the mean probability in a shape."""
    with rasterio.open(prediction.path) as dataset:
        values = dataset.read(1).astype(float)
        inside = rasterio.features.rasterize([shape], dataset.shape, transform=dataset.transform) > 0
    assert (values[inside] < 255).all()
    return float(values[inside].mean() / 254)


def busy_s(worker):
    return sum(psutil.Process(worker.process.pid).cpu_times()[:2])


def test_a_person_draws_erases_pauses_keeps_and_goes_on_after_a_crash(scene, tmp_path):
    raster, roads = scene
    truth = geopandas.read_file(roads)
    longest = truth.iloc[np.argsort(-truth.length.to_numpy())].geometry[:3]
    hedge = hedge_along(raster)
    on_hedge = hedge.buffer(2.0).difference(truth.buffer(12).union_all())
    job = Live(raster=raster, folder=str(tmp_path / "session"))
    with LiveWorker(job, tmp_path) as worker:
        worker.send("view", extent=extent_of(raster))
        first = complete_after(worker, 0)
        before = seen_at(first, on_hedge)
        worker.send("learn")
        for number, road in enumerate(longest):
            sequence = worker.draw(**{f"road{number}": ("roads", road)})
            assert worker.wait_for(events.Learned, sequence=sequence).seconds < 30  # on a machine that others use

        # A hedge that was drawn as a road is learned, and forgotten once it is erased.
        sequence = worker.draw(hedge=("roads", hedge))
        worker.wait_for(events.Learned, sequence=sequence)
        steps = worker.all_of(events.State)[-1].step
        taught = seen_at(complete_after(worker, steps + 40), on_hedge)
        worker.draw(hedge=("roads", None))
        steps = worker.all_of(events.State)[-1].step
        erased = seen_at(complete_after(worker, steps + 40), on_hedge)
        assert taught > before + 0.3, (before, taught)
        assert erased < before + 0.5 * (taught - before), (before, taught, erased)

        # While it is paused, and once nothing improves, the processor rests.
        worker.send("pause")
        worker.wait_for(events.State, state="paused")
        time.sleep(3)
        began_s = busy_s(worker)
        time.sleep(4)
        assert busy_s(worker) - began_s < 0.4

        model = tmp_path / "kept.safetensors"
        worker.send("keep", model=str(model), report=str(tmp_path / "kept.html"))
        worker.wait_for(events.Kept)
        assert model.is_file() and (tmp_path / "kept.html").is_file()
        deadline = time.monotonic() + 60
        while not (tmp_path / "session" / "checkpoint.safetensors").is_file():
            assert time.monotonic() < deadline
            time.sleep(0.2)
        time.sleep(6)  # labels are written every few seconds
        worker.process.kill()
        assert worker.end()[0] != 0

    with LiveWorker(job, tmp_path) as worker:
        worker.send("view", extent=extent_of(raster))
        again = complete_after(worker, 1)
        assert again.step > 0 and worker.all_of(events.State)[-1].roads == len(longest)
        assert not worker.all_of(events.Warning)
        worker.process.stdin.close()
        result = worker.wait_for(events.Result).result
        assert worker.end()[0] == 0 and result["step"] >= again.step

    scored = geopandas.GeoDataFrame(geometry=[box(*extent_of(raster))], crs=truth.crs)
    scored.to_file(tmp_path / "area.gpkg")
    scores = evaluate.run(
        Evaluate(rasters=(raster,), roads=roads, aoi=str(tmp_path / "area.gpkg"), model=str(model), engine="native"),
        Reporter(),
    )
    assert scores["relaxed"]["f1"] > 0.5


def test_a_place_without_a_road_does_not_take_the_others_away(scene, tmp_path):
    raster, roads = scene
    left, bottom, right, top = extent_of(raster)
    truth = geopandas.read_file(roads).union_all()
    places = [
        box(x, y, x + 12, y + 12) for x in np.arange(left, right - 12, 12) for y in np.arange(bottom, top - 12, 12)
    ]
    place = max(places, key=truth.distance)
    job = Live(raster=raster, folder=str(tmp_path / "session"))
    with LiveWorker(job, tmp_path) as worker:
        worker.send("view", extent=extent_of(raster))
        before = seen_at(complete_after(worker, 0), truth.buffer(1.5))
        worker.send("learn")
        worker.draw(place=("no_road", place))
        after = seen_at(complete_after(worker, 20), truth.buffer(1.5))
    assert before > 0.4
    assert after > 0.8 * before, (before, after)
