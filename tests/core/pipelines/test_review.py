"""The job applyreview: what verdicts do to a network and its labels, and roads extracted anew beside them."""

import geopandas
import numpy as np
import pytest
import shapely
from shapely import LineString, Point

from tests.core.support.rasters import NORTH_UP, UTM, files, write_layer
from training_core.errors import LayerError
from training_core.events import Reporter, Warning
from training_core.jobs import ApplyReview, ExportNetwork
from training_core.jobs.review import ANSWERS, CROSSING, ROAD, answer_of
from training_core.pipelines import applyreview, exportnetwork

X, Y = NORTH_UP.c, NORTH_UP.f


def line(*points):
    return LineString([(X + east, Y - south) for east, south in points])


# A road, and two that end on it, of 160 m and of 10 m.
MAIN, SIDE, STUB = line((0, 100), (300, 100)), line((100, 100), (100, 260)), line((50, 100), (50, 90))
ROADS = {"width_m": [6.0, 4.0, 4.0], "name": ["a", "b", "c"], "lanes": [2, 1, 1]}
# The second road in two halves.
FIRST, SECOND = line((100, 100), (100, 180)), line((100, 180), (100, 260))


@pytest.fixture
def network(tmp_path):
    return write_layer(tmp_path / "roads.gpkg", MAIN, SIDE, STUB, **ROADS)


def answered(network, *verdicts, name="review.gpkg"):
    """Write a review with pairs of a stretch and a verdict."""
    shapes, words = zip(*verdicts)
    return write_layer(network.replace("roads.gpkg", name), *shapes, change=["road"] * len(words), review=[*words])


def applied(network, *reviews, **options):
    folder = network.removesuffix("roads.gpkg")
    outputs = {name: f"{folder}reviewed_{name}.gpkg" for name in ("roads", "drawn", "no_road", "aoi")}
    told = []
    job = ApplyReview(lines=network, **dict(zip(("review", "other_review"), reviews)), **outputs, **options)
    result = applyreview.run(job, Reporter(told.append))
    layers = {name: geopandas.read_file(path) for name, path in outputs.items()}
    return layers, result, [each.message for each in told if isinstance(each, Warning)]


def test_verdicts_cut_and_mark_and_leave_all_else_as_it_is(network):
    layers, result, warnings = applied(network, answered(network, (FIRST, "accepted"), (SECOND, "rejected")))
    roads = layers["roads"]
    assert (result["accepted"], result["rejected"], result["not_found"], warnings) == (1, 1, 0, [])
    assert roads["length_m"].sum() == pytest.approx(300 + 80 + 10, abs=0.2)
    machine = roads[roads["status"] == "machine"]
    main = shapely.union_all(machine[machine["name"] == "a"].geometry)
    assert shapely.hausdorff_distance(main, MAIN) < 1e-3 and main.length == pytest.approx(MAIN.length)
    assert shapely.equals_exact(machine[machine["name"] == "c"].geometry.iloc[0], STUB, 1e-6)
    reviewed = roads[roads["status"] == "reviewed"]
    assert reviewed["name"].tolist() == ["b"] and reviewed["lanes"].tolist() == [1]
    assert roads["component"].eq(1).all()  # what is left of the second road ends on the first one


def test_what_a_person_has_drawn_where_a_stretch_was_rejected_stays(network):
    fields = {name: [*values, values[1]] for name, values in ROADS.items()}
    review = answered(network, (SIDE, "rejected"))
    fields["status"] = [None, None, None, "drawn"]
    write_layer(network, MAIN, SIDE, STUB, line((100.2, 100), (100.2, 260)), **fields)
    layers, result, warnings = applied(network, review)
    assert (result["rejected"], result["drawn_m"], warnings) == (1, pytest.approx(160, abs=0.1), [])
    assert layers["no_road"].union_all().distance(line((100.2, 110), (100.2, 250))) == pytest.approx(2, abs=0.01)


def test_a_rejected_part_of_an_accepted_line_is_rejected(network):
    painted = line((100, 150), (100, 190))
    layers, result, _ = applied(network, answered(network, (painted, "rejected"), (SIDE, "accepted")))
    assert result["reviewed_m"] == pytest.approx(120, abs=0.1)
    assert layers["no_road"].union_all().contains(painted.centroid)
    assert layers["drawn"][layers["drawn"]["sure"]].union_all().distance(painted.centroid) == pytest.approx(20, abs=0.1)


def test_verdicts_become_labels_and_unjudged_roads_beside_them_are_not_sure(network):
    layers, _, _ = applied(network, answered(network, (SIDE, "rejected"), (STUB, "accepted")))
    drawn, aoi = layers["drawn"], layers["aoi"].union_all()
    assert drawn["sure"].tolist().count(True) == 1 and set(drawn.columns) == {"width_m", "sure", "geometry"}
    rejected, accepted = Point(X + 100, Y - 200), Point(X + 50, Y - 95)
    assert layers["no_road"].union_all().contains(rejected) and not layers["no_road"].union_all().contains(accepted)
    assert aoi.contains(rejected) and aoi.contains(accepted) and not aoi.contains(Point(X + 250, Y - 200))
    # No ground of a road that stays is taught as background.
    assert layers["no_road"].union_all().intersection(MAIN).length < 0.01


def test_two_people_are_merged_and_contradictions_are_told_and_undecided(network):
    one = answered(network, (FIRST, "rejected"), (SECOND, "rejected"), (STUB, "rejected"))
    other = answered(network, (FIRST, "rejected"), (STUB, "accepted"), name="other.gpkg")
    layers, result, warnings = applied(network, one, other)
    assert (result["rejected"], result["contradicted"]) == (2, 1) and "1 places have contradicting" in warnings[0]
    names = layers["roads"]["name"].tolist()
    assert "b" not in names and layers["roads"].set_index("name")["status"]["c"] == "machine"


def test_a_line_that_a_person_first_accepted_and_then_rejected_is_rejected(network):
    one = answered(network, (MAIN, "accepted"), (SIDE, "accepted"), (STUB, "accepted"), (SIDE, "rejected"))
    layers, result, _ = applied(network, one)
    assert (result["accepted"], result["rejected"], result["contradicted"]) == (2, 1, 0)
    assert set(layers["roads"]["name"]) == {"a", "c"}
    other = answered(network, (SIDE, "accepted"), name="other.gpkg")
    layers, result, _ = applied(network, one, other)
    assert result["contradicted"] == 1 and layers["roads"].set_index("name")["status"]["b"] == "machine"


def test_a_verdict_for_a_line_that_was_deleted_is_told(network):
    review = answered(network, (FIRST, "accepted"), (SECOND, "accepted"), (MAIN, "accepted"))
    write_layer(network, MAIN, STUB, **{name: [values[0], values[2]] for name, values in ROADS.items()})
    layers, result, warnings = applied(network, review)
    assert result["not_found"] == 2 and "2 judged places lie on no line" in warnings[0]
    layers["roads"].to_file(network)
    graph = network.replace("roads.gpkg", "graph.graphml")
    kept = exportnetwork.run(ExportNetwork(lines=network, graphml=graph, reviewed_only=True), Reporter())
    assert kept["length_m"] == pytest.approx(300, abs=0.2)


def test_roads_extracted_anew_replace_what_nobody_has_judged_and_nothing_else(network, tmp_path):
    # The first 150 m of the road are right, the second one is not.
    half = line((0, 100), (150, 100))
    review = answered(network, (half, "accepted"), (FIRST, "rejected"), (SECOND, "rejected"))
    judged = applied(network, review)[0]["roads"].query("status == 'reviewed'")
    anew = write_layer(
        tmp_path / "anew.gpkg",
        line((0, 102), (340, 103)),  # beside the sure road, and farther than its judged part
        line((101, 103), (102, 262)),  # on rejected ground
        line((60, 200), (240, 200)),  # across it
        line((40, 102), (40, 0)),  # a new road
        line((100, 103), (100, 40)),  # another one, in line with the rejected one
        width_m=[6, 4, 5, 3, 3], surface=["a", "b", "c", "d", "e"],
    )  # fmt: skip
    layers, _, warnings = applied(network, review, extracted_anew=anew)
    roads = layers["roads"]
    assert not warnings and set(roads["status"]) == {"reviewed", "machine"} and "lanes" in roads
    kept = roads[roads["status"] == "reviewed"]
    assert shapely.hausdorff_distance(kept.union_all(), judged.union_all()) < 1e-3 and set(kept["name"]) == {"a"}
    machine = roads[roads["status"] == "machine"]
    lengths_m = machine.groupby("surface")["length_m"].sum().round()
    assert lengths_m.to_dict() == pytest.approx({"a": 190, "c": 180, "d": 100, "e": 60}, abs=3)
    assert (roads["component"] == 1).sum() == len(roads) - 1  # but the road across, which met the rejected one alone
    # The same once more changes nothing, with the network before or that of the first time.
    layers["roads"].to_file(network)
    again, _, warnings = applied(network, review, extracted_anew=anew)
    assert not warnings and len(again["roads"]) == len(roads)
    assert shapely.hausdorff_distance(again["roads"].union_all(), roads.union_all()) < 1e-3


def test_lines_that_were_judged_before_are_labels_too(network):
    review = answered(network, (SIDE, "accepted"))
    roads = applied(network, review)[0]["roads"]
    roads.loc[roads["name"] == "c", "status"] = "drawn"
    roads.to_file(network)
    layers, result, _ = applied(network, review)
    assert layers["roads"]["length_m"].sum() == pytest.approx(roads["length_m"].sum())
    sure = layers["drawn"][layers["drawn"]["sure"]]
    assert sure.length.sum() == pytest.approx(160 + 10, abs=0.2) and result["drawn_m"] == pytest.approx(10, abs=0.1)
    assert layers["aoi"].union_all().contains(STUB.interpolate(5))


def test_a_ring_in_degrees_is_cut_where_it_was_judged(tmp_path):
    angle = np.linspace(0, 2 * np.pi, 73)
    points = [(150 + 60 * np.cos(each), 150 + 60 * np.sin(each)) for each in angle]
    degrees = geopandas.GeoSeries([line(*points)], crs=UTM).to_crs(4326)
    network = write_layer(tmp_path / "roads.gpkg", *degrees, crs="EPSG:4326")
    around_m = line(*points).length
    for begin in (0, 18, 36, 54):
        part = points[begin : begin + 19]
        layers, result, _ = applied(network, answered(network, (line(*part), "rejected")))
        assert result["not_found"] == 0
        assert result["machine_m"] == pytest.approx(around_m - line(*part).length, rel=2e-3)
    layers, result, _ = applied(network, answered(network, (line(*points), "rejected")))
    assert layers["roads"].empty and result["machine_m"] == 0


def test_bad_inputs_are_refused_by_name_and_leave_nothing(network, tmp_path):
    plain = write_layer(tmp_path / "plain.gpkg", MAIN)
    words = write_layer(tmp_path / "words.gpkg", SIDE, change=["road"], review=["perhaps"])
    kinds = write_layer(tmp_path / "kinds.gpkg", SIDE, change=["strange"], review=["accepted"])
    open_ = write_layer(tmp_path / "open.gpkg", SIDE, change=["road"], review=[None])
    before = files(tmp_path)
    out = str(tmp_path / "out.gpkg")
    refused = [
        (ApplyReview(lines=network, review=words, roads=out), "'perhaps'"),
        (ApplyReview(lines=network, review=kinds, roads=out), "'strange'"),
        (ApplyReview(lines=network, review=open_, roads=out), "Review some"),
        (ApplyReview(lines=network, review=plain, roads=out), "'change'"),
        (ExportNetwork(lines=network, graphml=out[:-4] + "graphml", reviewed_only=True), "'status'"),
    ]
    runs = {ApplyReview: applyreview.run, ExportNetwork: exportnetwork.run}
    for job, why in refused:
        with pytest.raises(LayerError, match=why):
            runs[type(job)](job, Reporter())
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("kind", "value", "answer"),
    [(ROAD, "1", "accepted"), (ROAD, "Reject", "rejected"), (ROAD, "later", ""), (CROSSING, "1", "1"),
     (CROSSING, 2.0, "2"), (CROSSING, "accepted", ""), (CROSSING, "10", ""), (CROSSING, None, "")],
)  # fmt: skip
def test_a_digit_is_a_verdict_or_a_count_by_the_kind_of_place(kind, value, answer):
    assert answer_of(kind, value) == answer and answer in ("", *ANSWERS[kind])
