"""A live session in the panel, with a worker that only plays its part: drawn, corrected, paused, stopped, resumed."""

import json
import os
import signal
from pathlib import Path

import pytest
from qgis.core import (
    QgsApplication,
    QgsFeature,
    QgsGeometry,
    QgsPointXY,
    QgsProcessingContext,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
)
from qgis.PyQt.QtWidgets import QFileDialog
from roadseg.qgis_roadseg.desktop.live import control, end
from roadseg.qgis_roadseg.desktop.live.client import LiveClient
from roadseg.qgis_roadseg.desktop.live.panel import IDLE, PAUSED, RUNNING, STOPPING
from roadseg.qgis_roadseg.desktop.menu import Live
from roadseg.qgis_roadseg.runtime import runtime
from roadseg.qgis_roadseg.runtime.run_log import log_file
from roadseg.training_core import jobs

from ..support.acting import wait_until_gone
from ..support.live_worker import LIVE
from ..support.window import Window, button, buttons, left_behind, messages

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "no_settings")

LINE = "LineString (350002 3059992, 350012 3059992)"


@pytest.fixture
def layers(image, labels):
    """The image and label layers in the project, as a person has them; the image is listed last."""
    raster = QgsRasterLayer(str(image), "Bild")
    QgsProject.instance().addMapLayers([labels["roads"], labels["no_road"], labels["aoi"], raster])
    return {**labels, "image": raster}


@pytest.fixture
def window(image):
    window = Window()
    canvas = window.mapCanvas()
    canvas.setDestinationCrs(QgsRasterLayer(str(image)).crs())
    canvas.setExtent(QgsRectangle(350002, 3059988, 350016, 3059998))
    return window


@pytest.fixture
def live(window, tmp_path):
    live = Live(window, tmp_path / "live")
    live.toggle()
    yield live
    live.close()
    assert left_behind(window) == []


@pytest.fixture
def session(live, layers, play_runtime, wait_for):
    """A session that runs."""
    play_runtime(LIVE)
    live.panel.start.click()
    wait_for(lambda: "learn" in commands(live))
    return live


def folder_of(live):
    return max((path for path in live.control._root.iterdir() if path.is_dir()), key=lambda path: path.name)


def sent(live):
    """Return the commands that the worker of the last session got."""
    path = folder_of(live) / "commands.jsonl" if live.control._root.is_dir() else Path("none")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def commands(live):
    return [each["command"] for each in sent(live)]


def changes(live):
    return [change for each in sent(live) if each["command"] == "labels" for change in each["changes"]]


def draw(layer, wkt=LINE):
    layer.startEditing()
    feature = QgsFeature(layer.fields())
    feature.setGeometry(QgsGeometry.fromWkt(wkt))
    assert layer.addFeature(feature)
    return feature


def learn(session, layers, wait_for):
    """Draw a road, and wait until the worker has got it."""
    draw(layers["roads"])
    wait_for(lambda: changes(session))


def stop(session, wait_for):
    session.panel.stop.click()
    wait_for(lambda: session.panel.phase == IDLE)


def overlay(live):
    return live.control._overlay.layer if live.control._overlay else None


def test_a_stroke_reaches_the_worker_and_its_score_the_chart_and_learning_can_pause(session, layers, wait_for):
    draw(layers["roads"])
    wait_for(lambda: session.panel.chart.scores)
    (change,) = changes(session)
    assert (change["layer"], change["geometry"]) == ("roads", "LineString (350002 3059992, 350012 3059992)")
    wait_for(lambda: "Roads drawn: 1" in session.panel.numbers.text())
    assert "Last stroke learned after 0.5 s" in session.panel.numbers.text()
    assert session.panel.chart.scores[0][1] == pytest.approx(0.6)

    session.panel.pause.click()
    assert session.panel.phase == PAUSED and session.panel.pause.text() == "Continue"
    wait_for(lambda: "Paused" in session.panel.state.text())
    session.panel.pause.click()
    wait_for(lambda: commands(session)[-2:] == ["pause", "learn"])
    assert session.panel.phase == RUNNING


def test_the_overlay_follows_the_predictions_as_one_layer_below_the_labels(session, layers, window, wait_for, tmp_path):
    wait_for(lambda: overlay(session) is not None)
    layer = overlay(session)
    first = layer.source()
    canvas = window.mapCanvas()
    for step in range(1, 6):
        canvas.setExtent(QgsRectangle(350002 + step / 4, 3059988, 350016, 3059998))
        wait_for(lambda step=step: layer.source().endswith(f"prediction-{step + 1:06d}.tif"))
        assert layer.isValid() and layer.renderer().type() == "singlebandpseudocolor"
    assert overlay(session) is layer and not Path(first).exists()
    tree = [node.name() for node in QgsProject.instance().layerTreeRoot().children()]
    assert tree == ["roads", "no_road", "aoi", "RoadSeg live", "Bild"]

    before = layer.renderer().shader().rasterShaderFunction().colorRampItemList()[-1].color.name()
    session.panel.show_box.setCurrentIndex(1)
    wait_for(lambda: layer.name() == "Uncertainty, live")
    after = layer.renderer().shader().rasterShaderFunction().colorRampItemList()[-1].color.name()
    assert sent(session)[-1]["show"] == "uncertainty" and before != after

    center = canvas.center()
    canvas.setCenter(QgsPointXY(350003, 3059989))
    session.panel.places[0].click()  # the most uncertain place
    assert canvas.center().distance(center) < 2

    assert QgsProject.instance().write(str(tmp_path / "saved.qgs"))
    stop(session, wait_for)
    opened = QgsProject()
    assert opened.read(str(tmp_path / "saved.qgs"))
    assert all(layer.isValid() for layer in opened.mapLayers().values())
    assert any(layer.name() == "Uncertainty, live" for layer in opened.mapLayers().values())


def test_a_click_becomes_a_feature_that_one_undo_takes_back(session, layers, wait_for):
    session.panel.correct.setChecked(True)
    session.control._corrections.click(QgsPointXY(350005, 3059990))
    layer = layers["no_road"]
    wait_for(lambda: layer.featureCount() == 1)
    assert layer.isEditable()
    (feature,) = layer.getFeatures()
    assert feature.geometry().asWkt(0) == "Polygon ((350005 3059990, 350007 3059990, 350007 3059992, 350005 3059990))"
    wait_for(lambda: [each["layer"] for each in changes(session)] == ["no_road"])
    layer.undoStack().undo()
    assert layer.featureCount() == 0
    wait_for(lambda: changes(session)[-1]["geometry"] is None)


def test_the_layer_for_what_is_no_road_is_made_where_it_is_missing(
    live, layers, play_runtime, window, wait_for, tmp_path
):
    draw(layers["roads"])
    layers["roads"].commitChanges()
    QgsProject.instance().removeMapLayer(layers["no_road"].id())
    play_runtime(LIVE)
    live.panel.start.click()
    wait_for(lambda: "learn" in commands(live))
    live.control._corrections.click(QgsPointXY(350005, 3059990))
    wait_for(lambda: live.panel.choices.labels["no_road"].currentLayer() is not None)
    layer = live.panel.choices.labels["no_road"].currentLayer()
    wait_for(lambda: layer.featureCount() == 1)
    assert (tmp_path / "labels no road.gpkg").is_file()  # the labels' own file has a layer of that name already
    assert layers["roads"].featureCount() == 1


def test_stopping_ends_the_worker_and_takes_the_overlay_away_but_no_label(session, layers, window, wait_for):
    wait_for(lambda: overlay(session) is not None)
    learn(session, layers, wait_for)
    worker = session.control._session.process_id
    session.panel.stop.click()
    assert session.panel.phase == STOPPING
    wait_for(lambda: session.panel.phase == IDLE)
    assert wait_until_gone(worker) and commands(session)[-1] == "stop"
    assert "These layers have unsaved edits: roads" in messages(window)[0]
    button(window).click()
    assert not layers["roads"].isModified()
    names = [layer.name() for layer in QgsProject.instance().mapLayers().values()]
    assert sorted(names) == ["Bild", "aoi", "no_road", "roads"]
    assert layers["roads"].featureCount() == 1 and layers["roads"].isEditable()


def test_a_worker_that_is_killed_is_told_and_going_on_takes_up_where_it_was(session, layers, window, wait_for):
    learn(session, layers, wait_for)
    os.killpg(session.control._session.process_id, signal.SIGKILL)
    wait_for(lambda: session.panel.phase == IDLE)
    assert "The system killed the worker" in session.panel.state.text()
    assert "Your drawn features are in your layers" in messages(window)[0] and button(window).text() == "Continue"
    before = folder_of(session)
    count = len(sent(session))
    button(window).click()
    wait_for(lambda: "learn" in commands(session)[count:])
    draw(layers["roads"], "LineString (350004 3059994, 350012 3059996)")
    wait_for(lambda: len(changes(session)) > 1)
    assert folder_of(session) == before
    assert [change["id"] for change in changes(session)] == ["1", "2"]  # the first road is known already


@pytest.mark.parametrize("is_locked", [False, True])
def test_what_was_not_saved_can_be_put_back_into_its_layer(session, layers, window, wait_for, is_locked):
    learn(session, layers, wait_for)
    stop(session, wait_for)
    layers["roads"].rollBack()
    layers["roads"].setReadOnly(is_locked)
    session.panel.resume.click()
    wait_for(lambda: messages(window) and "are missing from the layers" in messages(window)[0])
    button(window).click()
    if is_locked:
        assert "The layer roads cannot be edited" in messages(window)[0]
    else:
        wait_for(lambda: changes(session)[-1]["geometry"] == LINE)
        assert layers["roads"].featureCount() == 1


def test_without_a_runtime_the_panel_says_so(live, layers, window, no_runtime):
    live.panel.start.click()
    assert live.panel.phase == IDLE and "RoadSeg has no runtime yet" in live.panel.problem.text()
    assert button(window).text() == "Set up runtime…"


def test_a_label_layer_that_is_removed_is_told_and_what_was_drawn_stays_learned(session, layers, wait_for):
    learn(session, layers, wait_for)
    layers["roads"].commitChanges()
    QgsProject.instance().removeMapLayer(layers["roads"].id())
    assert "The layer roads was removed" in session.panel.problem.text()
    wait_for(lambda: session.panel.choices.labels["roads"].currentLayer() is None)
    assert session.panel.phase == RUNNING and len(changes(session)) == 1


def test_the_image_that_is_removed_ends_the_session(session, layers, wait_for):
    QgsProject.instance().removeMapLayer(layers["image"].id())
    wait_for(lambda: session.panel.phase == IDLE)
    assert "The image Bild was removed" in session.panel.problem.text()


def test_another_project_ends_the_session_without_a_word_of_an_error(session, layers, window, wait_for):
    wait_for(lambda: overlay(session) is not None)
    learn(session, layers, wait_for)
    layers["roads"].commitChanges()
    worker = session.control._session.process_id
    QgsProject.instance().clear()
    wait_for(lambda: session.panel.phase == IDLE)
    assert wait_until_gone(worker) and messages(window) == []
    assert session.panel.resume.isEnabled()


def test_a_session_that_is_being_stopped_is_not_killed_by_another_project(session, layers, wait_for, monkeypatch):
    killed = []
    monkeypatch.setattr(LiveClient, "kill", lambda self: killed.append(self))
    learn(session, layers, wait_for)
    layers["roads"].commitChanges()
    session.panel.stop.click()
    QgsProject.instance().clear()
    wait_for(lambda: session.panel.phase == IDLE)
    assert killed == [] and commands(session)[-1] == "stop"


def test_a_session_that_ends_while_a_file_is_asked_for_keeps_nothing_and_says_so(
    session, window, wait_for, tmp_path, monkeypatch
):
    def ask(*_):
        os.killpg(session.control._session.process_id, signal.SIGKILL)
        wait_for(lambda: session.panel.phase == IDLE)
        return str(tmp_path / "mine.safetensors"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    session.panel.keep.click()
    assert "before the model was kept" in messages(window)[0]


def test_unloading_the_plugin_waits_for_the_worker(session):
    worker = session.control._session.process_id
    session.close()
    assert wait_until_gone(worker, seconds=0.5)


def test_resuming_loads_the_layers_that_the_project_does_not_have(session, layers, wait_for):
    learn(session, layers, wait_for)
    layers["roads"].commitChanges()
    stop(session, wait_for)
    QgsProject.instance().clear()
    session.panel.resume.click()
    wait_for(lambda: commands(session).count("learn") == 2)
    assert session.panel.choices.image.currentLayer().name() == "Bild"
    assert session.panel.choices.labels["roads"].currentLayer().name() == "roads"


def test_keeping_the_model_asks_for_a_file_tells_of_it_and_offers_to_map_and_to_learn_more(
    session, window, wait_for, tmp_path, monkeypatch
):
    (tmp_path / "mine labels.gpkg").write_text("labels of an earlier session, which stay")
    chosen, labels = str(tmp_path / "mine"), tmp_path / "mine labels 2.gpkg"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (chosen, ""))
    opened = []
    monkeypatch.setattr(end, "open_dialog", lambda _, name, values: opened.append((name, values)))
    session.panel.keep.click()
    wait_for(lambda: messages(window))
    assert f"The model is in {chosen}.safetensors" in messages(window)[0]
    assert f"Its training labels are in {labels}" in messages(window)[0]
    assert sent(session)[-1]["report"] == f"{chosen}.html" and opened == []
    for each in buttons(window):
        each.click()
    (name, values), (training, learned) = opened
    assert name == "extractroads" and values["MODEL"] == f"{chosen}.safetensors"
    assert QgsProject.instance().mapLayer(values["INPUT"]).name() == "Bild"

    assert training == "finetune" and "NO_ROAD" not in learned  # there is no such layer
    assert (learned["ROADS"], learned["AOI"]) == (f"{labels}|layername=roads", f"{labels}|layername=aoi")
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:finetune")
    context = QgsProcessingContext()
    context.setProject(QgsProject.instance())
    learned["MODEL"] = str(tmp_path / "next.safetensors")
    assert algorithm.checkParameterValues(learned, context) == (True, "")


def test_starting_without_label_layers_makes_them(live, image, play_runtime, wait_for, tmp_path, monkeypatch):
    QgsProject.instance().addMapLayer(QgsRasterLayer(str(image), "Bild"))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "drawn.gpkg"), ""))
    play_runtime(LIVE)
    live.panel.start.click()
    wait_for(lambda: "learn" in commands(live))
    roads = live.panel.choices.labels["roads"].currentLayer()
    assert roads.source() == f"{tmp_path / 'drawn.gpkg'}|layername=roads" and roads.name() == "Drawn roads"
    draw(roads)
    wait_for(lambda: changes(live))


def test_a_layer_that_only_qgis_can_read_is_rendered_as_far_as_the_map_shows_it(
    live, layers, window, play_runtime, wait_for
):
    wms = QgsRasterLayer(f"{layers['image'].source()}", "Karte", "gdal")
    wms.setDataSource(f"{wms.source()}|option:NUM_THREADS=1", "Karte", "gdal")
    assert wms.isValid()
    QgsProject.instance().addMapLayer(wms)
    live.panel.choices.image.setLayer(wms)
    play_runtime(LIVE)
    live.panel.start.click()
    wait_for(lambda: "learn" in commands(live))
    raster = json.loads((folder_of(live) / "job.json").read_text())["options"]["raster"]
    assert raster == str(folder_of(live) / "image.tif") and QgsRasterLayer(raster).width() > 10


def test_a_session_in_which_nothing_was_drawn_leaves_nothing(session, wait_for, tmp_path):
    stop(session, wait_for)
    assert list((tmp_path / "live").iterdir()) == [] and not session.panel.resume.isEnabled()


def test_a_worker_that_falls_silent_is_told_and_logged_and_then_ended(tmp_path, play_runtime, wait_for, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    play_runtime("time.sleep(60)")
    job = jobs.from_options(jobs.Live, {"raster": "a.tif", "folder": str(tmp_path)})
    session = LiveClient(runtime.find(), job, tmp_path, {}, silence_s=2.5, notice_s=1)
    notes, ends = [], []
    session.noted.connect(notes.append)
    session.ended.connect(ends.append)
    wait_for(lambda: notes)
    assert "has not responded for 1 s: the machine may be overloaded" in notes[0]
    wait_for(lambda: ends)
    assert "has not responded for 2.5 s and was killed" in str(ends[0])
    assert log_file().read_text(encoding="utf-8").endswith(f"Error: {ends[0]}\n")
    assert wait_until_gone(session.process_id) and not (tmp_path / "temporary").exists()


def test_a_suspended_worker_is_told_of_and_stopping_continues_it(session, layers, wait_for, monkeypatch):
    session.control._session._notice_s = 0.5
    os.killpg(session.control._session.process_id, signal.SIGSTOP)
    wait_for(lambda: "is suspended. Continue it with" in session.panel.problem.text())
    stop(session, wait_for)


def test_old_sessions_lose_their_models_but_never_their_labels(tmp_path):
    for day in range(1, 6):
        folder = tmp_path / f"2026-01-0{day} 10-00-00"
        (folder / "temporary").mkdir(parents=True)
        for name in ("choices.json", "labels.json", "checkpoint.safetensors", "prediction-000001.tif"):
            (folder / name).write_text("{}")
    control.clean_up(tmp_path)
    left = [
        sorted(path.name for path in folder.iterdir()) for folder in sorted(tmp_path.glob("2026*")) if folder.is_dir()
    ]
    old, new = ["choices.json", "labels.json"], ["checkpoint.safetensors", "choices.json", "labels.json"]
    assert left == [old, old, new, new, new]
