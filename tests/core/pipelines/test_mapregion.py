"""Regions mapped in this process: scenes in, masks and one network out."""

import json
import re
from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.warp import calculate_default_transform, reproject
from rasterio.windows import Window
from shapely.geometry import box

from tests.core.support.browser import Page
from tests.core.support.cities import same_lines
from tests.core.support.dask_processes import Processes
from tests.core.support.http_files import serving
from tests.core.support.rasters import NORTH_UP, write_layer, write_raster
from tests.core.support.towns import ROADS, image_of, on_map, true_roads
from tests.shared_fixtures import make_once
from training_core.errors import Cancelled, ImageryError, JobError, OutputError
from training_core.events import Reporter, Warning
from training_core.extraction import road_extraction
from training_core.jobs import ExtractRoads, MapRegion, Segment
from training_core.pipelines import extractroads, mapregion, segment
from training_core.regions import prediction, tasks

SIDE_PX = 384
# A fixed size of tiles, since the largest that fits depends on the memory that is free.
EXACT = {"engine": "native", "precision": "fp32", "halo": "exact", "threads": 1, "tile_px": 768}
FAST = {**EXACT, "halo": "32"}


@pytest.fixture(scope="module")
def land(tmp_path_factory):
    """An image of four towns side by side."""
    image = image_of(np.tile(true_roads(), (2, 2)))
    return write_raster(tmp_path_factory.mktemp("land") / "land.tif", image, photometric="rgb")


def cut(land, folder, windows):
    """Write parts of an image as scenes: name to column, row, width, height."""
    folder.mkdir(exist_ok=True)
    with rasterio.open(land) as dataset:
        for name, place in windows.items():
            values = dataset.read(window=Window(*place))
            write_raster(
                folder / f"{name}.tif", values, transform=NORTH_UP @ Affine.translation(*place[:2]), photometric="rgb"
            )
    return str(folder)


# In blocks of 208 pixels, the first has two.
FOUR = {"nw": (0, 0, 234, 206), "ne": (192, 0, 192, 208), "sw": (0, 200, 200, 184), "se": (194, 192, 190, 192)}


def map_region(folder, reporter=None, **options):
    folder.mkdir(exist_ok=True)
    job = MapRegion(**{"folder": str(folder), "roads": str(folder / "roads.gpkg"), **FAST, **options})
    job.validate()
    return mapregion.run(job, reporter or Reporter())


def counts(result):
    """Scenes that were mapped, and those that were kept."""
    return result["done"], result["kept"]


@pytest.fixture(autouse=True)
def known_throughput(monkeypatch):
    """Choose blocks without timing the model."""
    monkeypatch.setattr(prediction, "seconds_per_px", lambda _: 1e-6)


@pytest.fixture(scope="module")
def mapped(land, learned, tmp_path_factory):
    """The towns as four scenes that overlap: the folder and the result."""

    def map_towns(folder):
        source = cut(land, folder / "scenes", FOUR)
        return folder, map_region(folder / "out", source=source, model=learned.model, block_px=208, **EXACT)

    return make_once(tmp_path_factory, "region", map_towns)


def test_scenes_that_overlap_give_the_network_of_the_undivided_image(land, learned, mapped, tmp_path):
    _, result = mapped
    job = ExtractRoads(raster=land, model=learned.model, roads=str(tmp_path / "whole.gpkg"), **EXACT)
    whole = extractroads.run(job, Reporter())
    same, other = same_lines(geopandas.read_file(job.roads), geopandas.read_file(result["roads"]))
    assert same > 25 and other <= 0.02 * same
    assert (result["count"], result["components"]) == (whole["count"], whole["components"])
    assert result["length_m"] == pytest.approx(whole["length_m"], rel=1e-3)
    assert result["seam_mismatches"] == 0 and not result["partial"]


def test_each_scene_has_the_mask_and_probability_that_the_undivided_image_has_there(land, learned, mapped, tmp_path):
    base, _ = mapped
    paths = {name: str(tmp_path / f"{name}.tif") for name in ("mask", "probability")}
    segment.run(Segment(raster=land, model=learned.model, **paths, **EXACT), Reporter())
    for name, place in FOUR.items():
        for kind, path in paths.items():
            with rasterio.open(path) as whole, rasterio.open(base / "out" / "masks" / f"{name}_{kind}.tif") as own:
                values = whole.read(1, window=Window(*place)).astype(int)
                assert np.abs(own.read(1) - values).max() <= (1 if kind == "probability" else 0)
                assert own.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"


@pytest.mark.parametrize("name", ["index.gpkg", "masks/nw_mask.tif"])
def test_what_lies_in_the_folder_and_is_an_input_is_not_overwritten(land, learned, tmp_path, name):
    source, own = cut(land, tmp_path / "scenes", {"nw": FOUR["nw"]}), tmp_path / "out" / name
    own.parent.mkdir(parents=True)
    if own.suffix == ".gpkg":
        write_layer(own, box(*rasterio.open(f"{source}/nw.tif").bounds))
        given = {"aoi": str(own), "source": source}
    else:
        own.symlink_to(tmp_path / "scenes" / "nw.tif")
        given = {"source": source}
    before = own.read_bytes()
    with pytest.raises(OutputError, match="is an input of this job and would be overwritten"):
        map_region(tmp_path / "out", model=learned.model, **given)
    assert own.read_bytes() == before


def test_a_second_run_computes_nothing_and_gives_the_same_network(mapped, learned, monkeypatch):
    base, first = mapped
    monkeypatch.setattr(tasks, "run_task", None)  # calling it would fail each task
    again = map_region(
        base / "out",
        source=str(base / "scenes"),
        model=learned.model,
        block_px=208,
        roads=str(base / "b.gpkg"),
        **EXACT,
    )
    assert (again["kept"], again["done"], again["failed"], again["partial"]) == (4, 0, 0, False)
    one, other = (geopandas.read_file(each["roads"]) for each in (first, again))
    assert one.geometry.geom_equals_exact(other.geometry, 0).all() and one["width_m"].equals(other["width_m"])


@pytest.mark.slow
def test_two_processes_give_the_bytes_and_the_network_of_one(mapped, learned, tmp_path):
    base, first = mapped
    exact = {**EXACT, "threads": 2}
    again = map_region(
        tmp_path / "out", source=str(base / "scenes"), model=learned.model, block_px=208, workers=2, **exact
    )
    assert len(again["throughput"]) == 2 and counts(again) == (4, 0)
    for path in (base / "out" / "masks").iterdir():
        assert path.read_bytes() == (tmp_path / "out" / "masks" / path.name).read_bytes()
    one, other = (geopandas.read_file(each["roads"]) for each in (first, again))
    assert one.geometry.geom_equals_exact(other.geometry, 0).all() and one["width_m"].equals(other["width_m"])


@pytest.mark.slow
def test_two_workers_of_a_scheduler_give_the_bytes_of_this_process(mapped, learned, tmp_path):
    pytest.importorskip("distributed.client", reason="Dask (the requirement set fleet) is not there")
    base, _ = mapped
    with Processes(tmp_path) as processes:
        processes.start_scheduler()
        for _ in range(2):
            processes.start_worker()
        processes.wait_for_workers(2)
        options = {"source": str(base / "scenes"), "model": learned.model, "block_px": 208, **EXACT}
        result = map_region(tmp_path / "out", scheduler=processes.address, **options)
    assert len(result["throughput"]) == 2 and counts(result) == (4, 0)
    for path in (base / "out" / "masks").iterdir():
        assert path.read_bytes() == (tmp_path / "out" / "masks" / path.name).read_bytes()


@pytest.mark.slow
def test_scenes_that_look_like_noise_are_named(mapped, learned, monkeypatch):
    base, _ = mapped
    monkeypatch.setattr(road_extraction, "_MIN_KM", 0.1)
    options = {"source": str(base / "scenes"), "model": learned.model, "block_px": 208, **EXACT}
    for most_per_km, named in ((60.0, []), (0.1, sorted(FOUR))):
        monkeypatch.setattr(road_extraction, "_MAX_PER_KM", most_per_km)
        heard = []
        map_region(base / "out", Reporter(heard.append), **options)
        said = "".join(event.message for event in heard if isinstance(event, Warning) and "noise" in event.message)
        assert sorted(re.findall(r"\b[ns][ew]\b", said)) == named


def test_items_behind_an_address_are_mapped_though_their_server_is_busy(land, learned, tmp_path, monkeypatch):
    monkeypatch.setenv("GDAL_HTTP_RETRY_DELAY", "0.01")
    folder = Path(cut(land, tmp_path / "site", {"after_busy": (0, 0, 96, 96), "before": (288, 0, 96, 96)}))
    for name, day in (("after_busy", "2024-09-28"), ("before", "2024-09-20")):
        image = {"href": f"./{name}.tif", "type": "image/tiff; application=geotiff", "roles": ["visual"]}
        item = {
            "type": "Feature",
            "id": name,
            "properties": {"datetime": f"{day}T00:00:00Z"},
            "assets": {"image": image},
        }
        (folder / f"{name}.json").write_text(json.dumps(item))
    links = [{"rel": "item", "href": f"{name}.json"} for name in ("before", "after_busy")]
    (folder / "catalog.json").write_text(json.dumps({"type": "Catalog", "links": links}))
    with serving(folder) as address:
        source = f"{address}/catalog.json"
        result = map_region(tmp_path / "out", source=source, dates="2024-09-27/..", model=learned.model)
    assert (result["done"], result["failed"], result["partial"]) == (1, 0, False)
    with rasterio.open(tmp_path / "out/masks/after_busy_mask.tif") as mask:
        assert (mask.read(1) == 1).any()


def test_only_what_has_changed_is_mapped_again(land, learned, tmp_path):
    source = cut(land, tmp_path / "scenes", {"a": (0, 0, 96, 96), "b": (288, 288, 96, 96)})
    options = {"source": source, "model": learned.model}
    map_region(tmp_path / "out", **options)
    cut(land, tmp_path / "scenes", {"b": (288, 288, 94, 96)})
    assert counts(map_region(tmp_path / "out", **options)) == (1, 1)
    (tmp_path / "out" / "masks" / "a_mask.tif").unlink()
    assert counts(map_region(tmp_path / "out", **options)) == (1, 1)
    assert counts(map_region(tmp_path / "out", threshold=0.9, **options)) == (2, 0)
    assert counts(map_region(tmp_path / "out", threshold=0.9, **options)) == (0, 2)


def test_scenes_that_cannot_be_mapped_do_not_stop_the_others(land, learned, tmp_path):
    source = cut(land, tmp_path / "scenes", {"good": (0, 0, 192, 192)})
    write_raster(tmp_path / "scenes" / "nowhere.tif", image_of(true_roads()), crs=None)
    (tmp_path / "scenes" / "damaged.tif").write_bytes(b"II*\x00 and no more")
    with open(
        write_raster(tmp_path / "scenes" / "torn.tif", image_of(true_roads()), compress="deflate"), "r+b"
    ) as file:
        file.truncate(30_000)
    (tmp_path / "scenes" / "more").mkdir()
    twin = write_raster(tmp_path / "scenes" / "more" / "good.tif", image_of(true_roads()))
    told = []
    result = map_region(tmp_path / "out", Reporter(told.append), source=source, rasters=(twin,), model=learned.model)
    assert (result["done"], result["failed"], result["scenes"], result["partial"]) == (1, 4, 5, True)
    reasons = {each["scene"]: each["reason"] for each in result["failures"]}
    assert set(reasons) == {"nowhere", "damaged", "torn", "good"}
    assert "coordinate reference system" in reasons["nowhere"] and "same name" in reasons["good"]
    assert all(each["remedy"] for each in result["failures"])
    assert len([event for event in told if isinstance(event, Warning)]) == 4
    assert result["count"] > 3


def test_of_two_scenes_of_a_name_the_first_is_mapped_whole_and_both_are_shown(land, learned, tmp_path):
    first = cut(land, tmp_path / "a", {"twin": (0, 0, 192, 192)})
    second = cut(land, tmp_path / "b", {"twin": (192, 0, 192, 192)})
    rasters = (f"{first}/twin.tif", f"{second}/twin.tif")
    result = map_region(tmp_path / "out", rasters=rasters, model=learned.model, block_px=128)
    assert (counts(result), result["failed"]) == ((1, 0), 1)
    index = geopandas.read_file(result["index"])
    assert index[["path", "status"]].to_numpy().tolist() == [[rasters[0], "done"], [rasters[1], "failed"]]
    assert index.loc[0, "blocks"] == index.loc[0, "blocks_done"] == 4 and index.loc[0, "road_km"] > 0.1
    report = Page((tmp_path / "out" / "report.html").read_text()).text
    assert "mapped in this run: 1 scene" in report and "failed: 1 scene" in report and rasters[0] in report


def test_without_any_scene_that_can_be_mapped_there_is_no_output(learned, tmp_path):
    broken = tmp_path / "broken.tif"
    broken.write_bytes(b"II*\x00")
    with pytest.raises(ImageryError, match="broken.tif"):
        map_region(tmp_path / "out", rasters=(str(broken),), model=learned.model)
    assert not (tmp_path / "out" / "roads.gpkg").exists()


def test_the_area_of_interest_limits_scenes_and_roads(land, learned, tmp_path):
    source = cut(land, tmp_path / "scenes", {"in": (0, 0, 192, 192), "out": (192, 192, 192, 192)})
    corner = NORTH_UP @ (0, 0)
    area = box(corner[0], corner[1] - 120, corner[0] + 120, corner[1])
    result = map_region(
        tmp_path / "out", source=source, model=learned.model, aoi=write_layer(tmp_path / "aoi.gpkg", area)
    )
    assert (result["done"], result["outside"], result["partial"]) == (1, 1, False)
    roads = geopandas.read_file(result["roads"])
    assert len(roads) and roads.within(area.buffer(0.1)).all()


def test_places_without_a_road_that_mark_the_roads_are_suspected(land, learned, tmp_path):
    roads = write_layer(tmp_path / "roads.gpkg", *map(on_map, ROADS), width_m=[20.0] * len(ROADS))
    source, heard = cut(land, tmp_path / "scenes", {"one": (0, 0, 192, 192)}), []
    map_region(tmp_path / "out", Reporter(heard.append), source=source, model=learned.model, no_road=roads)
    assert any("does not mark the roads" in event.message for event in heard if isinstance(event, Warning))


def test_a_scene_in_another_crs_joins_the_same_network(land, learned, tmp_path):
    source = cut(land, tmp_path / "scenes", {"west": (0, 0, 214, SIDE_PX)})
    with rasterio.open(land) as dataset:
        transform, width, height = calculate_default_transform(
            dataset.crs, "EPSG:32634", SIDE_PX, SIDE_PX, *dataset.bounds
        )
        values = np.zeros((3, height, width), np.uint8)
        reproject(dataset.read(), values, src_transform=dataset.transform, src_crs=dataset.crs,
                  dst_transform=transform, dst_crs="EPSG:32634")  # fmt: skip
    write_raster(tmp_path / "scenes" / "all.tif", values, crs="EPSG:32634", transform=transform, nodata=0)
    result = map_region(tmp_path / "out", source=source, model=learned.model)
    roads = geopandas.read_file(result["roads"])
    assert result["done"] == 2 and roads.union_all().length > 1800
    assert roads[roads["component"] == 1].union_all().length > 0.8 * roads.union_all().length


@pytest.mark.slow
def test_all_masks_lie_on_the_grid_of_the_finest_scene_and_lines_are_the_same(land, learned, tmp_path):
    """Scenes at half the model's pixels, others at the model's; a finer one that comes later moves masks, no road."""

    def scenes(*names):
        places = {"fine": ((0, 0, 134, 200), 0.5), "west": ((0, 0, 214, 200), 1), "east": ((200, 0, 184, 200), 1)}
        for name in names:
            (column, row, width, height), pixel_m = places[name]
            with rasterio.open(land) as dataset:
                size = round(height / pixel_m), round(width / pixel_m)
                values = dataset.read(window=Window(column, row, width, height), out_shape=(3, *size))
            corner = NORTH_UP @ Affine.translation(column, row) @ Affine.scale(pixel_m)
            yield write_raster(tmp_path / f"{name}.tif", values, transform=corner, photometric="rgb")

    options = {"model": learned.model}
    first = map_region(tmp_path / "out", rasters=tuple(scenes("west", "east")), **options)
    before = geopandas.read_file(first["roads"])
    with rasterio.open(tmp_path / "out/masks/east_mask.tif") as mask:
        assert mask.res == (1, 1) and mask.shape == (200, 184)
    every = tuple(scenes("west", "east", "fine"))
    result = map_region(tmp_path / "out", rasters=every, **options)
    on_model = map_region(tmp_path / "model", rasters=every, grid="model", **options)
    for name, size, left in (("fine", (400, 268), 0), ("west", (400, 428), 0), ("east", (400, 368), 200)):
        for kind in ("mask", "probability"):
            with rasterio.open(tmp_path / f"out/masks/{name}_{kind}.tif") as raster:
                assert raster.shape == size and raster.transform.almost_equals(
                    NORTH_UP @ Affine.translation(left, 0) @ Affine.scale(0.5), 1e-9
                )
    for name in ("geometry", "width_m", "confidence"):
        lines, others = geopandas.read_file(result["roads"]), geopandas.read_file(on_model["roads"])
        assert list(lines[name]) == list(others[name]) and len(lines) > len(before) / 2
    # Another grid asks for no further prediction.
    again = map_region(tmp_path / "out", rasters=every, threshold=0.9, **options)
    assert (again["done"], again["megapixels"]) == (3, 0)


def test_a_job_that_is_stopped_keeps_what_is_done(land, learned, tmp_path):
    source = cut(land, tmp_path / "scenes", FOUR)
    options = {"source": source, "model": learned.model}
    masks = tmp_path / "out" / "masks"
    with pytest.raises(Cancelled):
        map_region(tmp_path / "out", Reporter(is_cancelled=lambda: len(list(masks.glob("*_mask.tif"))) >= 2), **options)
    assert not (tmp_path / "out" / "roads.gpkg").exists()
    assert map_region(tmp_path / "out", **options)["kept"] >= 2


def test_the_result_is_of_json_types_and_the_index_and_the_report_say_the_same(mapped):
    base, result = mapped
    assert json.loads(json.dumps(result)) == result
    index = geopandas.read_file(result["index"])
    assert set(index["status"]) <= {"done", "kept"} and index["road_km"].sum() > result["length_m"] / 1000
    assert sorted(path.name for path in (base / "out").iterdir()) == [
        "index.gpkg", "index.qml", "masks", "report.html", "roads.gpkg", "work",
    ]  # fmt: skip
    assert f"{result['length_m'] / 1000:.1f} km" in (base / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    "options, error",
    [
        ({"source": "/nowhere/*.tif"}, ImageryError),
        ({"source": "", "rasters": ()}, JobError),
        ({"scheduler": "localhost:8786"}, JobError),
        ({"dates": "September"}, JobError),
        ({"roads": "roads.txt"}, OutputError),
    ],
)
def test_bad_options_are_named_before_any_work(land, learned, tmp_path, options, error):
    with pytest.raises(error):
        map_region(tmp_path / "out", **{"rasters": (land,), "model": learned.model, **options})
    assert not list(tmp_path.rglob("*.tif"))
