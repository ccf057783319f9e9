"""After an event, from a bare project with one image to a sheet for the field: OpenStreetMap, state of roads, PDF.

The plan is that of `story.py`; `image` is the file of the image after, and `server` an address that plays Overpass.
"""

from collections.abc import Iterator
from pathlib import Path

from qgis.core import QgsProject
from qgis.PyQt.QtWidgets import QApplication, QFileDialog, QLineEdit
from qgis.utils import iface

from tests.gui import hands
from tests.gui.hands import dialog, layer, opened
from tests.gui.stage import Stage, Until, open_dialogs
from tests.gui.story import finish, pause, start


def tell(stage: Stage, plan: dict) -> Iterator[Until]:
    pictures = Path(plan["pictures"])
    yield from start(stage)
    yield from open_image(stage, plan)
    yield from get_roads(stage, plan, pictures)
    yield from find_states(stage, pictures)
    yield from make_sheet(stage, pictures)


def open_image(stage: Stage, plan: dict) -> Iterator[Until]:
    """Open the image in a new project, as a drop on the map does."""
    stage.step("image")
    iface.newProject(False)
    iface.addRasterLayer(plan["image"], "Image after")
    yield Until(lambda: layer("Image after") is not None, "the image is there")
    iface.zoomToActiveLayer()
    yield from hands.draw_map()


def get_roads(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Download what OpenStreetMap has of the view; all but the server is preset."""
    stage.step("openstreetmap")
    hands.picture(iface.mainWindow(), pictures / "status_image.png")
    hands.open_from_toolbox("Get OpenStreetMap data")
    yield opened()
    form = dialog()
    yield from pause()
    hands.picture(form, pictures / "status_getosmdata.png")
    hands.fill_in(form, SERVER=plan["server"])
    hands.click(form.runButton())
    yield from finish(stage, "getosmdata", form)
    yield from hands.draw_map()
    stage.seen["layers"] = hands.layer_tree()
    hands.picture(iface.mainWindow(), pictures / "status_osm.png")


def find_states(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Find the state of the roads; they and the image are the first that the dialog offers."""
    stage.step("state")
    hands.open_from_toolbox("State of known roads")
    yield opened()
    form = dialog()
    yield from pause()
    hands.picture(form, pictures / "status_dialog.png")
    wrappers = form.mainWidget().wrappers
    names = ("INPUT", "RASTER", "CLASS_FIELD", "BRIDGE_FIELD", "WIDTH_FIELD")
    stage.seen["preset"] = {name: str(wrappers[name].parameterValue()) for name in names}
    hands.fill_in(form, ARROWS="TEMPORARY_OUTPUT", REPORT=str(pictures / "status.html"))
    hands.click(form.runButton())
    yield from finish(stage, "roadstatus", form)
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "status_map.png")


def make_sheet(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Make a field sheet of the map and export it as a PDF, with the buttons of the layout window."""
    stage.step("sheet")
    hands.choose("roadseg_sheet")
    yield Until(lambda: iface.openLayoutDesigners(), "the layout window is open")
    designer = iface.openLayoutDesigners()[0]
    window = designer.window()
    window.resize(1360, 900)
    yield Until(lambda: window.isVisible(), "the layout window is visible")
    for _ in range(100):
        yield from pause()
    hands.picture(window, pictures / "status_sheet.png")
    stage.seen["sheet_file"] = str(pictures / "sheet.pdf")
    from qgis.PyQt.QtWidgets import QAction
    from qgis.PyQt.QtCore import QTimer
    QTimer.singleShot(0, window.findChild(QAction, "mActionExportAsPDF").trigger)
    yield Until(lambda: any(isinstance(each, QFileDialog) for each in open_dialogs()), "a file is asked for")
    files = next(each for each in open_dialogs() if isinstance(each, QFileDialog))
    files.findChild(QLineEdit, "fileNameEdit").setText(stage.seen["sheet_file"])
    QTimer.singleShot(0, files.accept)
    yield Until(lambda: any(type(each).__name__ == "QDialog" for each in open_dialogs()), "options are asked for")
    options = open_dialogs()[-1]
    hands.picture(options, pictures / "status_pdf_options.png")
    QTimer.singleShot(0, options.accept)
    yield Until(lambda: Path(stage.seen["sheet_file"]).is_file(), "the PDF is written", 60)
    yield from pause()
    window.close()
