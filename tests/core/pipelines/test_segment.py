import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.enums import ColorInterp
from rasterio.features import rasterize
from shapely.geometry import LineString, Polygon, box

from tests.core.support.rasters import NORTH_UP, files, write_layer, write_raster
from tests.core.support.towns import ROAD_M, ROADS, SIDE_PX, image_of, on_map, plant_model, true_roads
from training_core.errors import Cancelled, ImageryError, OutputError
from training_core.events import Log, Progress, Reporter
from training_core.geodata.pixel_codes import NO_DATA
from training_core.jobs import Segment
from training_core.models.loading import load_network
from training_core.models.model_file import save_model
from training_core.pipelines.segment import run
from training_core.segmentation.result_rasters import ROAD_COLOR


def segment(folder, reporter=None, **options):
    """Segment on the native engine; return the result, and mask and probability as they are opened."""
    paths = {"mask": str(folder / "mask.tif"), "probability": str(folder / "probability.tif")}
    defaults = {"engine": "native", "precision": "fp32", "threads": 1, **paths}
    result = run(Segment(**{**defaults, **options}), reporter or Reporter())
    return result, rasterio.open(paths["mask"]), rasterio.open(paths["probability"])


def test_a_trained_model_finds_the_roads(town, learned, tmp_path):
    result, mask, probability = segment(tmp_path, raster=town.raster, model=learned.model)
    found = mask.read(1) == 1
    assert (found & town.truth).sum() / (found | town.truth).sum() > 0.8
    assert result["road_share"] == pytest.approx(found.mean())
    assert result["mask"] == mask.name and result["probability"] == probability.name
    assert result["engine"] == "native" and result["precision"] == "fp32"
    assert result["megapixels_per_s"] > 0 and result["overhead"] == 1


PLACES = {
    "south up": ("EPSG:32633", Affine(1, 0, 390000, 0, 1, 5820000)),
    "rotated": ("EPSG:32633", Affine.translation(390000, 5820000) @ Affine.rotation(30) @ Affine.scale(1, -1)),
    "geographic": ("EPSG:4326", Affine(1e-5, 0, 10, 0, -1e-5, 60)),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_mask_lies_on_its_image(tmp_path, planted, place):
    crs, transform = PLACES[place]
    raster = write_raster(tmp_path / "image.tif", image_of(true_roads()), crs, transform)
    _, mask, probability = segment(tmp_path, raster=raster, model=planted)
    with rasterio.open(raster) as source:
        for result in (mask, probability):
            assert result.crs == source.crs
            corners = [(0, 0), (source.width, 0), (0, source.height), (source.width, source.height)]
            for corner in corners:
                share = (corner[0] / source.width * result.width, corner[1] / source.height * result.height)
                assert result.transform @ share == pytest.approx(source.transform @ corner, rel=1e-12)


def test_on_pixels_of_its_resolution_the_mask_lies_pixel_on_pixel(town, planted, tmp_path):
    _, mask, probability = segment(tmp_path, raster=town.raster, model=planted)
    with rasterio.open(town.raster) as source:
        assert mask.shape == probability.shape == source.shape and mask.transform == source.transform
    assert mask.count == probability.count == 1 and mask.dtypes == probability.dtypes == ("uint8",)
    assert mask.nodata == probability.nodata == 255
    assert mask.colorinterp == (ColorInterp.palette,)
    assert mask.colormap(1)[1] == ROAD_COLOR != mask.colormap(1)[0] and mask.colormap(1)[255][3] == 0
    assert mask.descriptions == ("road",) and probability.descriptions == ("road probability",)


@pytest.mark.parametrize("pixel_m", [0.3, 1.9])
def test_the_mask_has_the_pixels_of_a_finer_or_coarser_image(learned, tmp_path, pixel_m):
    side, transform = round(SIDE_PX / pixel_m), NORTH_UP @ Affine.scale(pixel_m)
    truth = rasterize([on_map(road.buffer(ROAD_M / 2)) for road in ROADS], (side, side), transform=transform) > 0
    image = image_of(truth)
    image[:, : side // 4, : side // 3] = 0
    raster = write_raster(tmp_path / "image.tif", image, transform=transform, nodata=0)
    result, mask, probability = segment(tmp_path, raster=raster, model=learned.model)
    _, coarse, _ = segment(tmp_path / "model", raster=raster, model=learned.model, grid="model")
    assert mask.shape == probability.shape == (side, side) and mask.transform.almost_equals(transform, 1e-9)
    assert coarse.shape == (SIDE_PX, SIDE_PX)
    found, shown = mask.read(1), np.ones((side, side), bool)
    shown[: side // 4, : side // 3] = False
    assert ((found != 255) == shown).mean() > 0.99
    assert result["road_share"] == pytest.approx((found[found != 255] == 1).mean())
    assert 2 * ((found == 1) & truth)[shown].sum() / ((found == 1)[shown].sum() + truth[shown].sum()) > 0.95


@pytest.mark.parametrize("threshold", [0.0, 107 / 254, 1.0])
def test_mask_and_probability_agree_at_the_threshold(town, tmp_path, threshold):
    model = plant_model(tmp_path / "model.safetensors", threshold=0.3)
    result, mask, probability = segment(tmp_path, raster=town.raster, model=model, threshold=threshold)
    values, scale = probability.read(1), probability.scales[0]
    assert scale == pytest.approx(1 / 254) and values.max() <= 254
    expected = values * scale >= (threshold or 0.3) - 1e-9
    np.testing.assert_array_equal(mask.read(1), expected)
    assert result["road_share"] == pytest.approx(expected.mean())


@pytest.mark.parametrize("nodata", [-3.4028235e38, np.nan])  # with which no model can compute
def test_nodata_stays_nodata(tmp_path, planted, nodata):
    values, known = image_of(true_roads()), np.ones((SIDE_PX, SIDE_PX), bool)
    known[20:70, :90] = False
    raster = write_raster(tmp_path / "image.tif", np.where(known, values, nodata).astype(np.float32), nodata=nodata)
    result, mask, probability = segment(tmp_path, raster=raster, model=planted)
    np.testing.assert_array_equal(mask.read(1) != 255, known)
    np.testing.assert_array_equal(probability.read(1) != 255, known)
    assert result["road_share"] == pytest.approx((mask.read(1)[known] == 1).mean())


AREA = Polygon([(10.1, 20.2), (100.3, 30.4), (90.7, 150.1), (40.2, 160.9), (60.6, 90.3)])  # on no pixel's center


@pytest.mark.slow
def test_outside_the_area_there_is_nothing(town, planted, tmp_path):
    aoi = write_layer(tmp_path / "aoi.gpkg", on_map(AREA))
    _, whole, _ = segment(tmp_path / "whole", raster=town.raster, model=planted)
    _, mask, probability = segment(tmp_path, raster=town.raster, model=planted, aoi=aoi, tile_px=32, halo="exact")
    within = rasterize([AREA], out_shape=(SIDE_PX, SIDE_PX)) > 0
    np.testing.assert_array_equal(mask.read(1) != 255, within)
    np.testing.assert_array_equal(probability.read(1) != 255, within)
    assert (mask.read(1)[within] == whole.read(1)[within]).mean() > 0.99
    assert mask.shape == (SIDE_PX, SIDE_PX)
    events = []
    segment(tmp_path, Reporter(events.append), raster=town.raster, model=planted, aoi=aoi, tile_px=32, halo="0")
    tiles = {event.message for event in events if isinstance(event, Progress)}
    assert "Tile 1 of 24" in tiles  # 4 columns, 6 rows: those that the area's bounds touch


def test_tiles_leave_no_seams_where_the_halo_is_exact(planted, tmp_path, tile_px=100):
    """On an image that is longer than two of its halos."""
    raster = write_raster(tmp_path / "street.tif", np.tile(image_of(true_roads())[:, :90], (1, 1, 7)))
    _, _, whole = segment(tmp_path / "whole", raster=raster, model=planted)
    result, _, probability = segment(tmp_path, raster=raster, model=planted, tile_px=tile_px, halo="exact")
    difference = np.abs(probability.read(1).astype(int) - whole.read(1))
    assert difference.max() <= 1
    assert result["overhead"] > 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (33, 31)])
def test_a_raster_of_any_size_is_covered_to_its_last_pixel(tmp_path, planted, shape):
    raster = write_raster(tmp_path / "small.tif", image_of(np.zeros(shape, bool)))
    _, mask, _ = segment(tmp_path, raster=raster, model=planted)
    assert mask.shape == shape and set(np.unique(mask.read(1))) <= {0, 1}


def test_large_results_have_overviews(tmp_path, planted):
    raster = write_raster(tmp_path / "large.tif", image_of(np.zeros((64, 1100), bool)))
    _, mask, probability = segment(tmp_path, raster=raster, model=planted, halo="32")
    assert mask.overviews(1) == probability.overviews(1) == [2, 4]
    assert mask.block_shapes == [(512, 512)] and mask.compression.name == "deflate"
    for result in (mask, probability):
        assert result.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
    small = mask.read(1, out_shape=(16, 275))
    assert set(np.unique(small)) <= {0, 1}


def test_the_halo_of_the_model_file_is_taken(town, tmp_path):
    unet, card = load_network(plant_model(tmp_path / "planted.safetensors"))
    model = tmp_path / "model.safetensors"
    save_model(model, unet.state_dict(), dataclasses.replace(card, halo_px=64))
    result, *_ = segment(tmp_path, raster=town.raster, model=str(model), tile_px=64)
    assert result["halo_px"] == 64 and result["tile_px"] == 64
    events = []
    result, *_ = segment(
        tmp_path, Reporter(events.append), raster=town.raster, model=str(tmp_path / "planted.safetensors")
    )
    assert result["halo_px"] == 128
    assert any("128 px is used" in event.message for event in events if isinstance(event, Log))


@pytest.mark.slow
def test_where_the_model_file_has_no_halo_it_is_measured_on_the_image(planted, tmp_path, monkeypatch):
    """Where nothing is road, whatever is cut off, the narrowest will do."""
    monkeypatch.setattr("training_core.segmentation.segmenter.MEASURED_FROM_PX", 300 * 300)
    raster = write_raster(tmp_path / "town.tif", np.tile(image_of(true_roads()), (1, 2, 2)))
    unet, card = load_network(planted)
    unet.segmentation_head[0].bias.data -= 1000
    blind = tmp_path / "blind.safetensors"
    save_model(blind, unet.state_dict(), card)
    halos = []
    for model in (str(blind), planted):
        events = []
        result, *_ = segment(tmp_path, Reporter(events.append), raster=raster, model=model)
        halos.append(result["halo_px"])
        said = f"On the middle of {raster}, {halos[-1]} px suffice"
        assert any(said in event.message for event in events if isinstance(event, Log))
    assert halos[0] == 32 < halos[1]


def test_an_image_without_data_in_the_area_is_refused_and_nothing_is_left(tmp_path, planted):
    values = np.zeros((3, 80, 80), np.uint8)
    values[:, 60:] = 9
    raster = write_raster(tmp_path / "empty.tif", values, nodata=0)
    aoi = write_layer(tmp_path / "aoi.gpkg", on_map(box(0, 0, 50, 50)))
    with pytest.raises(ImageryError, match=r"empty\.tif has no data"):
        segment(tmp_path / "out", raster=raster, model=planted, aoi=aoi)
    assert files(tmp_path / "out") == []


# Several images in one job.


def test_several_images_go_into_a_folder_under_their_names(tmp_path, planted):
    rasters = []
    for number, place in enumerate(("east", "west")):
        (tmp_path / place).mkdir()
        rasters.append(write_raster(tmp_path / place / "town.tif", image_of(np.zeros((40, 50 + number), bool))))
    rasters.append(write_raster(tmp_path / "village.tif", image_of(np.zeros((40, 60), bool))))
    job = Segment(rasters=tuple(rasters), model=planted, folder=str(tmp_path / "masks"), engine="native", threads=1)
    events = []
    result = run(job, Reporter(events.append))
    assert files(tmp_path / "masks") == ["town_roads.tif", "town_roads_2.tif", "village_roads.tif"]
    widths = {Path(mask).name: rasterio.open(mask).width for mask in result["masks"]}
    assert widths == {"town_roads.tif": 50, "town_roads_2.tif": 51, "village_roads.tif": 60}
    fractions = [event.fraction for event in events if isinstance(event, Progress)]
    assert fractions == sorted(fractions) and fractions[-1] == 1


def test_one_of_several_images_without_data_does_not_stop_the_others(tmp_path, planted):
    ground = image_of(np.zeros((40, 50), bool)).clip(1)
    rasters = tuple(
        write_raster(tmp_path / f"{name}.tif", values, nodata=0)
        for name, values in (("corner", np.zeros_like(ground)), ("town", ground))
    )
    reporter, options = Reporter(), {"rasters": rasters, "model": planted, "folder": str(tmp_path), "engine": "native"}
    corner, town = run(Segment(**options), reporter)["masks"]
    assert [(rasterio.open(mask).read(1) == NO_DATA).all() for mask in (corner, town)] == [True, False]
    assert ["corner.tif has no data" in warning for warning in reporter.warnings] == [True]
    assert run(Segment(**options, resume=True), Reporter())["skipped"] == 2


def test_going_on_leaves_out_what_is_done(tmp_path, planted):
    """As after a run that was killed: a mask is there whole or not at all."""
    rasters = tuple(
        write_raster(tmp_path / f"{name}.tif", image_of(np.zeros((40, 50), bool)), photometric="rgb")
        for name in ("done", "older than its image", "missing")
    )
    options = {"rasters": rasters, "model": planted, "folder": str(tmp_path / "masks"), "engine": "native"}
    first = run(Segment(**options), Reporter())
    done, old, missing = map(Path, first["masks"])
    missing.unlink()
    os.utime(old, (0, 0))
    written = done.stat().st_mtime_ns
    events = []
    second = run(Segment(**options, resume=True), Reporter(events.append))
    assert second["masks"] == first["masks"] and second["skipped"] == 1 and first["skipped"] == 0
    assert done.stat().st_mtime_ns == written and missing.exists() and old.stat().st_mtime > 1
    assert any("1 of 3 images have their mask already" in event.message for event in events if isinstance(event, Log))
    assert run(Segment(**options, resume=True), Reporter())["skipped"] == 3


def test_going_on_takes_places_without_a_road_that_lie_on_images_that_are_done(tmp_path, planted):
    river = write_layer(tmp_path / "river.gpkg", on_map(LineString([(20, -5), (20, 45)])))
    rasters = tuple(
        write_raster(
            tmp_path / f"{x}.tif", image_of(np.zeros((40, 50), bool)), transform=NORTH_UP @ Affine.translation(x, 0)
        )
        for x in (0, 9000)
    )
    options = {"rasters": rasters, "model": planted, "folder": str(tmp_path), "engine": "native", "no_road": river}
    Path(run(Segment(**options), Reporter())["masks"][1]).unlink()
    assert run(Segment(**options, resume=True), Reporter())["skipped"] == 1


def test_several_images_do_not_write_over_one_another(tmp_path, planted):
    values = image_of(np.zeros((40, 50), bool))
    first, second = (write_raster(tmp_path / name, values) for name in ("town.tif", "town_roads.tif"))
    job = Segment(rasters=(first, second), model=planted, folder=str(tmp_path), engine="native", threads=1)
    with pytest.raises(OutputError, match=r"town_roads\.tif is an input"):
        run(job, Reporter())
    with rasterio.open(second) as dataset:
        np.testing.assert_array_equal(dataset.read(), values)


def test_a_cancelled_run_leaves_nothing(town, planted, tmp_path):
    events = []
    reporter = Reporter(events.append, lambda: any(isinstance(event, Progress) for event in events))
    with pytest.raises(Cancelled):
        segment(tmp_path, reporter, raster=town.raster, model=planted, tile_px=32, halo="0")
    assert files(tmp_path) == []
