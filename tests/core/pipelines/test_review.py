"""The jobs reviewplaces and applyreview: what is asked first, and what answers do to a network and its labels."""

import geopandas
import numpy as np
import pytest
import shapely
from shapely import LineString, Point

from tests.core.support.rasters import NORTH_UP, UTM, files, write_layer, write_raster
from training_core.errors import ImageryError, LayerError
from training_core.events import Reporter, Warning
from training_core.jobs import ApplyReview, ExportNetwork, ReviewPlaces
from training_core.jobs.review import ANSWERS, CROSSING, DOUBTFUL, answer_of
from training_core.pipelines import applyreview, exportnetwork, reviewplaces

X, Y = NORTH_UP.c, NORTH_UP.f


def line(*points):
    return LineString([(X + east, Y - south) for east, south in points])


# A sure road, and two that end on it: a doubtful one of 160 m, and one of 10 m. Beyond is a weak road that it lacks.
MAIN, SIDE, STUB = line((0, 100), (300, 100)), line((100, 100), (100, 260)), line((50, 100), (50, 90))
ROADS = {"road_probability": [0.95, 0.3, 0.3], "width_m": [6.0, 4.0, 4.0], "name": ["a", "b", "c"], "lanes": [2, 1, 1]}


@pytest.fixture
def network(tmp_path):
    return write_layer(tmp_path / "roads.gpkg", MAIN, SIDE, STUB, **ROADS)


@pytest.fixture
def probability(tmp_path):
    values = np.zeros((300, 300), dtype=np.float32)
    values[97:103] = 0.9
    values[100:260, 98:102] = 0.6
    values[103:240, 198:202] = 0.3
    return write_raster(tmp_path / "probability.tif", values)


def found(network, probability="", **options):
    path = network.replace("roads.gpkg", "places.gpkg")
    hectares = network.replace("roads.gpkg", "hectares.gpkg")
    told = []
    job = ReviewPlaces(lines=network, probability=probability, places=path, hectares=hectares, **options)
    result = reviewplaces.run(job, Reporter(told.append))
    warnings = [each.message for each in told if isinstance(each, Warning)]
    return geopandas.read_file(path), geopandas.read_file(hectares), result, warnings


def answered(network, answers, name="answers.gpkg"):
    """Write the places with an answer where a function of kind, line and order has one."""
    places = geopandas.read_file(network.replace("roads.gpkg", "places.gpkg"))
    places["review"] = [answers(kind, None if np.isnan(line) else int(line), row) for row, (kind, line) in enumerate(
        zip(places["change"], places["line"].astype(float)))]  # fmt: skip
    path = network.replace("roads.gpkg", name)
    places.to_file(path)
    return path


def applied(network, *reviews):
    folder = network.removesuffix("roads.gpkg")
    outputs = {name: f"{folder}reviewed_{name}.gpkg" for name in ("roads", "drawn", "no_road", "aoi")}
    told = []
    job = ApplyReview(lines=network, **dict(zip(("review", "other_review"), reviews)), **outputs)
    result = applyreview.run(job, Reporter(told.append))
    layers = {name: geopandas.read_file(path) for name, path in outputs.items()}
    return layers, result, [each.message for each in told if isinstance(each, Warning)]


def test_the_place_that_spares_most_error_a_second_comes_first(network, probability):
    places, hectares, result, _ = found(network, probability)
    # Stretches of 80 m with 56 m of error, a weak road of some 130 m, of which less is road, then the sure one.
    assert places["priority"].is_monotonic_decreasing and places["review"].isna().all()
    assert [(row.change, row.line) for row in places.itertuples()][:2] == [("doubtful", 2), ("doubtful", 2)]
    missing = places[places["change"] == "missing"]
    assert len(missing) == 1 and 120 < missing["length_m"].iloc[0] < 135 and missing["line"].isna().all()
    doubtful = places[places["change"] == "doubtful"]
    assert doubtful["length_m"].max() <= 100.01 and doubtful["length_m"].sum() == pytest.approx(470, abs=0.2)
    assert set(np.round(doubtful["chance"], 6)) == {0.05, 0.7} and result["doubtful"] == len(doubtful) == 7
    assert hectares["error_m"].sum() == pytest.approx(result["false_m"] + result["missing_m"])
    assert result["false_m"] == pytest.approx(0.05 * 300 + 0.7 * 170, abs=0.2)
    assert hectares.area.round(-2).eq(10000).all()


def test_answers_cut_mark_and_connect_and_leave_all_else_as_it_is(network, probability):
    found(network, probability)
    side = {2: iter(("accepted", "rejected"))}
    review = answered(
        network, lambda kind, line, row: "accepted" if kind == "missing" else next(side[line]) if line == 2 else None
    )
    layers, result, warnings = applied(network, review)
    roads = layers["roads"]
    assert (result["accepted"], result["rejected"], result["not_found"], warnings) == (2, 1, 0, [])
    assert roads["length_m"].sum() == pytest.approx(300 + 80 + 10 + 140, abs=5)
    machine = roads[roads["status"] == "machine"]
    main = shapely.union_all(machine[machine["name"] == "a"].geometry)
    assert shapely.hausdorff_distance(main, MAIN) < 1e-3 and main.length == pytest.approx(MAIN.length)
    assert shapely.equals_exact(machine[machine["name"] == "c"].geometry.iloc[0], STUB, 1e-6)
    reviewed = roads[roads["status"] == "reviewed"]
    assert set(reviewed["name"].dropna()) == {"b"} and reviewed["lanes"].dropna().tolist() == [1]
    # The new road begins in a junction of the sure one.
    new = reviewed[reviewed["name"].isna()].geometry.iloc[0]
    ends = {point for shape in machine.geometry for point in (shape.coords[0], shape.coords[-1])}
    assert {new.coords[0], new.coords[-1]} & ends
    assert roads["component"].eq(1).all()  # what is left of the second road ends on the first one


def test_what_a_person_has_drawn_where_a_stretch_was_rejected_stays(network, probability):
    found(network, probability)
    review = answered(network, lambda kind, line, row: "rejected" if line == 2 else None)
    fields = {name: [*values, values[1]] for name, values in ROADS.items()}
    beside, status = line((100.2, 100), (100.2, 260)), [None, None, None, "drawn"]
    write_layer(network, MAIN, SIDE, STUB, beside, status=status, **fields)
    layers, result, warnings = applied(network, review)
    assert (result["rejected"], result["drawn_m"], warnings) == (2, pytest.approx(160, abs=0.1), [])
    assert layers["no_road"].area.sum() < 700  # without the drawn road, 160 m times 8 m


def test_verdicts_become_labels_and_unjudged_roads_beside_them_are_not_sure(network, probability):
    found(network, probability)
    review = answered(network, lambda kind, line, row: {2: "rejected"}.get(line, "accepted" if line is None else None))
    layers, _, _ = applied(network, review)
    drawn, aoi = layers["drawn"], layers["aoi"].union_all()
    assert drawn["sure"].tolist().count(True) == 1 and set(drawn.columns) == {"width_m", "sure", "geometry"}
    rejected, accepted = Point(X + 100, Y - 200), Point(X + 200, Y - 200)
    assert layers["no_road"].union_all().contains(rejected) and not layers["no_road"].union_all().contains(accepted)
    assert aoi.contains(rejected) and aoi.contains(accepted) and not aoi.contains(Point(X + 250, Y - 200))
    # No ground of a road that stays is taught as background.
    assert layers["no_road"].union_all().intersection(MAIN).length < 0.01


def test_two_people_are_merged_and_contradictions_are_told_and_undecided(network, probability):
    found(network, probability)
    one = answered(network, lambda kind, line, row: {2: "rejected", 3: "rejected"}.get(line))
    other = answered(network, lambda kind, line, row: {2: "rejected", 3: "accepted"}.get(line), "other.gpkg")
    layers, result, warnings = applied(network, one, other)
    assert (result["rejected"], result["contradicted"]) == (2, 1) and "1 places have contradicting" in warnings[0]
    names = layers["roads"]["name"].tolist()
    assert "b" not in names and layers["roads"].set_index("name")["status"]["c"] == "machine"


def test_a_verdict_for_a_line_that_was_deleted_is_told_and_reviewed_lines_are_not_asked_again(network, probability):
    found(network, probability)
    review = answered(network, lambda kind, line, row: {2: "rejected", 1: "accepted"}.get(line))
    write_layer(network, MAIN, STUB, **{name: [values[0], values[2]] for name, values in ROADS.items()})
    layers, result, warnings = applied(network, review)
    assert result["not_found"] == 2 and "2 judged places lie on no line" in warnings[0]
    layers["roads"].to_file(network)
    places, *_ = found(network)
    assert set(places["length_m"].round()) == {10.0}
    graph = network.replace("roads.gpkg", "graph.graphml")
    kept = exportnetwork.run(ExportNetwork(lines=network, graphml=graph, reviewed_only=True), Reporter())
    assert kept["length_m"] == pytest.approx(300, abs=0.2)


def test_a_ring_and_a_network_in_degrees_are_cut_where_they_were_judged(tmp_path):
    angle = np.linspace(0, 2 * np.pi, 73)
    ring = line(*zip(150 + 60 * np.cos(angle), 150 + 60 * np.sin(angle)))
    degrees = geopandas.GeoSeries([ring], crs=UTM).to_crs(4326)
    network = write_layer(tmp_path / "roads.gpkg", *degrees, crs="EPSG:4326", road_probability=[0.4])
    places, *_ = found(network)
    assert len(places) == 4
    for chosen in range(4):
        review = answered(network, lambda kind, line, row, chosen=chosen: "rejected" if row == chosen else None)
        layers, result, _ = applied(network, review)
        assert result["not_found"] == 0 and result["machine_m"] == pytest.approx(0.75 * ring.length, rel=2e-3)
    review = answered(network, lambda kind, line, row: "rejected")
    layers, result, _ = applied(network, review)
    assert layers["roads"].empty and result["machine_m"] == 0


def test_bad_inputs_are_refused_by_name_and_leave_nothing(network, probability, tmp_path):
    far = write_raster(
        tmp_path / "far.tif", np.full((50, 50), 0.3, np.float32), transform=NORTH_UP @ NORTH_UP.translation(9999, 0)
    )
    mask = write_raster(tmp_path / "mask.tif", np.eye(300, dtype=np.uint8))
    plain = write_layer(tmp_path / "plain.gpkg", MAIN)
    empty = write_layer(tmp_path / "empty_p.gpkg", MAIN, road_probability=[float("nan")])
    words = write_layer(tmp_path / "words.gpkg", SIDE, change=["doubtful"], review=["perhaps"])
    kinds = write_layer(tmp_path / "kinds.gpkg", SIDE, change=["strange"], review=["accepted"])
    open_ = write_layer(tmp_path / "open.gpkg", SIDE, change=["doubtful"], review=[None])
    before = files(tmp_path)
    out = str(tmp_path / "out.gpkg")
    refused = [
        (ReviewPlaces(lines=plain, places=out), LayerError, "no field 'road_probability'"),
        (ReviewPlaces(lines=empty, places=out), LayerError, "not from a mask"),
        (ReviewPlaces(lines=network, probability=far, places=out), LayerError, "lies on the road probability"),
        (ReviewPlaces(lines=network, probability=mask, places=out), ImageryError, "is a mask"),
        (ApplyReview(lines=network, review=words, roads=out), LayerError, "'perhaps'"),
        (ApplyReview(lines=network, review=kinds, roads=out), LayerError, "'strange'"),
        (ApplyReview(lines=network, review=open_, roads=out), LayerError, "Review some"),
        (ApplyReview(lines=network, review=plain, roads=out), LayerError, "'change'"),
        (ExportNetwork(lines=network, graphml=out[:-4] + "graphml", reviewed_only=True), LayerError, "'status'"),
    ]
    runs = {ReviewPlaces: reviewplaces.run, ApplyReview: applyreview.run, ExportNetwork: exportnetwork.run}
    for job, error, why in refused:
        with pytest.raises(error, match=why):
            runs[type(job)](job, Reporter())
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("kind", "value", "answer"),
    [(DOUBTFUL, "1", "accepted"), (DOUBTFUL, "Reject", "rejected"), (DOUBTFUL, "later", ""), (CROSSING, "1", "1"),
     (CROSSING, 2.0, "2"), (CROSSING, "accepted", ""), (CROSSING, "10", ""), (CROSSING, None, "")],
)  # fmt: skip
def test_a_digit_is_a_verdict_or_a_count_by_the_kind_of_place(kind, value, answer):
    assert answer_of(kind, value) == answer and answer in ("", *ANSWERS[kind])
