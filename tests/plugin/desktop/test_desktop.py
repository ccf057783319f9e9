"""RoadSeg in a window: its menu, its toolbar, its page of settings, and the demo."""

import json
import os
import sys
from itertools import combinations

import pytest
from qgis.core import (
    QgsApplication,
    QgsLayerTreeModel,
    QgsLayoutExporter,
    QgsLayoutItemLabel,
    QgsLayoutItemLegend,
    QgsLayoutItemMap,
    QgsProcessingContext,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
    QgsSettings,
)
from qgis.gui import QgisInterface, QgsBrowserGuiModel, QgsLayerTreeView
from qgis.PyQt.QtCore import QTimer
from qgis.PyQt.QtWidgets import QApplication, QDialog, QToolBar
from roadseg.qgis_roadseg import settings
from roadseg.qgis_roadseg.desktop import dialogs, first_result
from roadseg.qgis_roadseg.desktop.menu import ALGORITHMS, Menu
from roadseg.qgis_roadseg.desktop.settings_page import SettingsPage
from roadseg.qgis_roadseg.layers import demo_project
from roadseg.qgis_roadseg.settings import Settings

from ..support.acting import Ear, memory_layer, run_in_task, wait_until_gone
from ..support.scene import write_scene
from ..support.window import Window, button, entries, entry, left_behind, messages

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "no_settings")


@pytest.fixture
def window():
    return Window()


@pytest.fixture
def menu(window, tmp_path):
    menu = Menu(window, tmp_path / "demo")
    menu.add()
    yield menu
    menu.remove()
    assert left_behind(window) == []


@pytest.fixture
def scene_runtime(play_runtime, tmp_path):
    """Name a Python that generates a scene by copying one."""
    image, roads = write_scene(tmp_path)
    play_runtime(f"""
import shutil
options = job()["options"]
shutil.copy({image!r}, options["raster"])
shutil.copy({roads!r}, options["roads"])
send("result", result={{"count": 2, "length_m": 700.0, "resolution_m": 0.5}})
""")


@pytest.fixture(autouse=True)
def browser(qgis_iface, monkeypatch):
    """Give Processing's dialogs what they want of the window that pytest-qgis plays, and does not have."""
    model = QgsBrowserGuiModel()
    monkeypatch.setattr(qgis_iface, "browserModel", lambda: model, raising=False)
    view = QgsLayerTreeView()
    view.setModel(QgsLayerTreeModel(QgsProject.instance().layerTreeRoot()))
    monkeypatch.setattr(qgis_iface, "layerTreeView", lambda: view)


def opened_by(act):
    """Return the title and the values of the algorithm's dialog that an act opens, which is closed again."""
    seen = []

    def look():
        dialogs = [each for each in QApplication.topLevelWidgets() if isinstance(each, QDialog) and each.isVisible()]
        for dialog in dialogs:
            seen.append((dialog.windowTitle().rpartition(" - ")[2], dialog.createProcessingParameters()))
            dialog.close()

    timer = QTimer()
    timer.setSingleShot(True)
    timer.timeout.connect(look)
    timer.start(300)
    act()  # which lasts as long as a dialog is open
    timer.stop()
    return seen


def test_the_window_of_these_tests_has_what_that_of_qgis_has():
    names = [name for name in vars(Window) if not name.startswith("_")]
    assert "addPluginToRasterMenu" in names and all(hasattr(QgisInterface, name) for name in names)


def test_the_menu_and_the_toolbar_have_few_entries(window, menu):
    texts = [action.text() for action in entries(window) if not action.isSeparator()]
    assert texts[:4] == ["Fine-tune a model…", "Segment roads…", "Extract roads…", "Get OpenStreetMap data…"]
    assert texts[4:6] == ["State of known roads…", "Compare road networks…"]
    assert texts[6:11] == ["RoadSeg live", "Trace roads", "Threshold", "Review", "Try it on a generated scene"]
    assert (texts[11], texts[13:]) == ("Field sheet…", ["Settings…", "Report a problem…"])
    (toolbar,) = window.mainWindow().findChildren(QToolBar)
    assert [action.text() for action in toolbar.actions()] == texts[:8]
    icons = {action.icon().pixmap(24, 24).toImage().cacheKey() for action in toolbar.actions()}
    assert len(icons) == len(ALGORITHMS) + 2 and not any(action.icon().isNull() for action in toolbar.actions())
    entry(window, "review").trigger()
    assert "No layer is selected" in messages(window)[0]


def test_a_field_sheet_has_what_the_map_shows_and_prints(window, menu, image, tmp_path):
    raster = QgsRasterLayer(str(image), "Image")
    fields = "&field=state:string&field=check:integer"
    roads = memory_layer("LineString", "Roads", "LineString (350001 3059999, 350011 3059990)", fields)
    roads.dataProvider().changeAttributeValues({1: {0: "not seen", 1: 1}})
    metadata = roads.metadata()
    metadata.setRights(["© Mappers"])
    roads.setMetadata(metadata)
    QgsProject.instance().addMapLayers([raster, roads])
    canvas = window.mapCanvas()
    canvas.setDestinationCrs(raster.crs())
    canvas.setLayers([roads, raster])
    canvas.setExtent(raster.extent())
    for _ in range(2):
        entry(window, "sheet").trigger()
    sheet, other = window.layouts
    assert [each.name() for each in QgsProject.instance().layoutManager().layouts()] == [sheet.name(), other.name()]
    (shown,) = (item for item in sheet.items() if isinstance(item, QgsLayoutItemMap))
    (legend,) = (item for item in sheet.items() if isinstance(item, QgsLayoutItemLegend))
    assert shown.layers() == [roads, raster] and shown.extent().contains(raster.extent())
    assert [each.name() for each in legend.model().rootGroup().findLayers()] == ["Roads"]
    labels = {item.text(): item for item in sheet.items() if isinstance(item, QgsLayoutItemLabel)}
    (checks,) = (text for text in labels if "\n" in text)
    assert checks.split("\n")[1] == "1  27.65576, 85.47938  not seen"
    assert any(text.endswith("· © Mappers") for text in labels)
    places = [labels[checks].sceneBoundingRect(), legend.sceneBoundingRect(), shown.sceneBoundingRect()]
    assert not any(one.intersects(other) for one, other in combinations(places, 2))
    pdf = tmp_path / "sheet.pdf"
    QgsLayoutExporter(sheet).exportToPdf(str(pdf), QgsLayoutExporter.PdfExportSettings())
    assert pdf.read_bytes().startswith(b"%PDF")


def test_without_a_runtime_an_entry_says_so_and_leads_to_setting_it_up(window, menu, no_runtime):
    assert opened_by(entry(window, "segment").trigger) == []
    assert "no runtime yet" in messages(window)[0]
    ((title, _),) = opened_by(button(window).click)
    assert title == "Set up runtime" and messages(window) == []


def test_packages_that_a_job_asks_for_come_by_one_click(
    window, menu, provider, play_runtime, image, qgis_app, wait_for
):
    python = play_runtime("""
if "-c" in sys.argv:  # which packages there are
    open(sys.argv[0] + ".asked", "w").write(" ".join(sys.argv))
    print(json.dumps({"python": "3.12"}))
else:
    send("error", code="packages:osm", message="This job needs osmium.", remedy="Run Set up runtime.")
""")
    shown = provider.packages_missing.connect(lambda *asked: dialogs.show_missing_packages(window, *asked))
    roads = memory_layer("LineString", "Roads", "LineString (350001 3059999, 350011 3059990)")
    values = {"INPUT": roads, "OSM": str(image.with_suffix(".osm"))}
    context = QgsProcessingContext()
    context.setProject(QgsProject.instance())
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:exportnetwork")
    ends = run_in_task(algorithm, values, context, Ear(), qgis_app)
    provider.packages_missing.disconnect(shown)
    assert [fine for fine, _ in ends] == [False]
    assert messages(window) == ["This job needs osmium. Run Set up runtime."]
    assert button(window).text() == "Install osm"
    button(window).click()
    asked = python.with_name(f"{python.name}.py.asked")
    wait_for(lambda: asked.is_file() and asked.read_text())
    assert asked.read_text().endswith(" networkx osmium")
    (dialog,) = [each for each in QApplication.topLevelWidgets() if hasattr(each, "runButton") and each.isVisible()]
    wait_for(lambda: dialog.wasExecuted())
    dialog.close()


def test_the_menu_tells_what_there_is_of_a_runtime(window, menu, no_runtime, tmp_path, monkeypatch):
    def told():
        window.rasterMenu().aboutToShow.emit()
        return entry(window, "runtime").text()

    assert told() == "Runtime: missing…"
    folder = tmp_path / "data" / "roadseg" / "runtime"
    (folder / "ipex-0123456789ab").mkdir(parents=True)
    assert told() == "Runtime: of another version of RoadSeg…"
    from roadseg.qgis_roadseg.runtime import runtime

    python = runtime.interpreter(runtime.REQUIREMENT_SETS["native"].folder)
    python.parent.mkdir(parents=True)
    python.touch()
    assert told() == "Runtime: ready (native)…"
    monkeypatch.setenv("ROADSEG_PYTHON", sys.executable)
    assert told() == "Runtime: ready (ROADSEG_PYTHON)…"
    assert entry(window, "runtime").statusTip() == sys.executable
    monkeypatch.setenv("ROADSEG_PYTHON", "/no/such/python")
    assert told() == "Runtime: missing (ROADSEG_PYTHON)…"
    monkeypatch.delenv("ROADSEG_PYTHON")
    settings.save(Settings(sys.executable))
    assert told() == "Runtime: ready (settings)…"
    ((title, _),) = opened_by(entry(window, "runtime").trigger)
    assert title == "Set up runtime"


def test_the_page_shows_and_keeps_the_settings(tmp_path):
    settings.save(Settings(sys.executable, 1, 2.5, str(tmp_path), "cuda"))
    page = SettingsPage()
    assert page.settings() == settings.load() == Settings(sys.executable, 1, 2.5, str(tmp_path), "cuda")
    page.device.setCurrentText("auto")
    page.threads.setValue(10_000)
    page.memory_gb.setValue(1e9)
    page.python.setFilePath("")
    page.apply()
    assert settings.load() == Settings("", os.cpu_count(), 4096, str(tmp_path))


def test_the_page_refuses_what_cannot_be_with_a_word():
    page = SettingsPage()
    assert page.isValid() and page.problem.isHidden()
    page.threads.setValue(1)
    page.python.setFilePath("/no/such/python")
    page.models_folder.setFilePath("/no/such/folder")
    assert not page.isValid() and not page.problem.isHidden()
    assert "/no/such/python is not an executable file" in page.problem.text()
    assert "/no/such/folder is not a folder" in page.problem.text()
    page.apply()
    assert QgsSettings().value("roadseg/threads") is None


def test_trying_it_opens_a_project_in_which_fine_tuning_can_run(window, menu, scene_runtime, tmp_path, wait_for):
    project = QgsProject.instance()
    entry(window, "try").trigger()
    assert "RoadSeg generates" in messages(window)[0]
    wait_for(lambda: project.title() == "RoadSeg demo")
    start = demo_project.starting_values(project, "finetune")
    ((title, values),) = opened_by(button(window).click)
    assert title == "Fine-tune a model"
    assert (values["INPUT"], values["ROADS"]) == ([str(tmp_path / "demo" / "scene.tif")], start["ROADS"])
    assert (values["AOI"], values["WIDTH_FIELD"]) == (start["AOI"], "width_m")
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:finetune")
    from processing.tools import dataobjects

    assert algorithm.checkParameterValues(values, dataobjects.createContext())[0]


def test_a_demo_that_is_there_is_opened_as_it_is(window, menu, scene_runtime, no_runtime, tmp_path):
    image, roads = write_scene(tmp_path)
    files = demo_project.files(tmp_path / "demo")
    files["image"].parent.mkdir()
    os.replace(image, files["image"])
    os.replace(roads, files["true"])
    demo_project.make(tmp_path / "demo")
    window.keeps_its_project = True
    entry(window, "try").trigger()
    assert QgsProject.instance().title() == ""
    window.keeps_its_project = False
    entry(window, "try").trigger()
    assert QgsProject.instance().title() == "RoadSeg demo"


def test_a_scene_that_fails_is_told(window, menu, play_runtime, wait_for):
    play_runtime('send("error", code="output", message="The disk is full.", remedy="Make room.")')
    entry(window, "try").trigger()
    wait_for(lambda: "The disk is full. Make room." in messages(window)[0])
    assert QgsProject.instance().title() == ""


def test_one_click_extracts_the_roads_in_view_with_the_starter(window, play_runtime, tmp_path, wait_for):
    sent = tmp_path / "sent.json"
    play_runtime(f"""
from osgeo import ogr
given = job()["options"]
area = ogr.Open(given["aoi"])
with open({str(tmp_path / "part")!r}, "w") as file:
    json.dump([given["raster"], given["model"], *area.GetLayer().GetExtent()], file)
os.replace(file.name, {str(sent)!r})
send("error", code="output", message="The disk is full.", remedy="")
""")
    image, _ = write_scene(tmp_path)
    layer = QgsRasterLayer(image, "scene")
    QgsProject.instance().addMapLayer(layer)
    first_result.offer(window)
    button(window).click()
    assert "does not show an image" in messages(window)[0]
    canvas = window.mapCanvas()
    canvas.setLayers([layer])
    canvas.setDestinationCrs(layer.crs())
    canvas.setExtent(QgsRectangle(500_100, 5_400_100, 500_200, 5_400_175))
    seen = canvas.extent()  # of the shape of the canvas
    button(window).click()
    wait_for(sent.is_file)
    raster, model, *extent = json.loads(sent.read_text())
    assert (raster, model) == (image, "starter")
    assert extent == pytest.approx([seen.xMinimum(), seen.xMaximum(), seen.yMinimum(), seen.yMaximum()])
    (dialog,) = [each for each in QApplication.topLevelWidgets() if hasattr(each, "runButton") and each.isVisible()]
    wait_for(lambda: dialog.wasExecuted() or dialog.runButton().isEnabled())
    dialog.close()


def test_unloading_stops_a_scene_that_is_being_generated(window, tmp_path, play_runtime, wait_for):
    play_runtime(f"""
with open({str(tmp_path / "id")!r}, "w") as file:
    file.write(f"{{os.getpid()}}.")
sys.stdin.read()
send("error", code="cancelled", message="", remedy="")
""")
    menu = Menu(window, tmp_path / "demo")
    menu.add()
    entry(window, "try").trigger()
    entry(window, "try").trigger()  # which does not begin another
    process_id = tmp_path / "id"
    wait_for(lambda: process_id.exists() and process_id.read_text().endswith("."))
    menu.remove()
    assert left_behind(window) == []
    assert wait_until_gone(int(process_id.read_text()[:-1]))
    wait_for(lambda: QgsApplication.taskManager().countActiveTasks() == 0)
    assert not demo_project.is_made(tmp_path / "demo") and QgsProject.instance().title() == ""
