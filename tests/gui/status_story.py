"""After an event, from a bare project with one image to a sheet for the field: OpenStreetMap, state of roads, PDF.

The plan is that of `story.py`; `image` is the file of the image, and `server` an address that plays Overpass.
"""

from collections.abc import Iterator
from pathlib import Path

from qgis.core import QgsLayoutItemLabel
from qgis.PyQt.QtCore import QTimer
from qgis.PyQt.QtWidgets import QAction, QDialog, QFileDialog, QLineEdit
from qgis.utils import iface

from tests.gui import hands
from tests.gui.hands import dialog, layer, opened
from tests.gui.stage import Stage, Until, open_dialogs
from tests.gui.story import pause, run_opened, start


def tell(stage: Stage, plan: dict) -> Iterator[Until]:
    pictures = Path(plan["pictures"])
    yield from start(stage)
    yield from open_image(stage, plan, pictures)
    yield from get_roads(stage, plan, pictures)
    yield from find_states(stage, pictures)
    yield from make_sheet(stage, pictures)


def open_image(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Open the image in a new project, as a drop on the map does."""
    stage.step("image")
    iface.newProject(False)
    iface.addRasterLayer(plan["image"], "Image")
    yield Until(lambda: layer("Image") is not None, "the image is there")
    iface.zoomToActiveLayer()
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "status_image.png")


def get_roads(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Download what OpenStreetMap has of the view, from the menu; all but the server is filled in."""
    stage.step("openstreetmap")
    hands.choose("roadseg_getosmdata")
    yield from run_opened(stage, "getosmdata", 620, pictures / "status_getosmdata.png", SERVER=plan["server"])
    yield from hands.draw_map()
    stage.seen["layers"] = hands.layer_tree()
    hands.picture(iface.mainWindow(), pictures / "status_osm.png")


def find_states(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Find the state of the roads, from the menu; roads, fields and image are filled in."""
    stage.step("state")
    hands.choose("roadseg_roadstatus")
    yield opened()
    wrappers = dialog().mainWidget().wrappers
    names = ("INPUT", "RASTER", "CLASS_FIELD", "BRIDGE_FIELD")
    stage.seen["proposed"] = {name: wrappers[name].parameterValue() for name in names}
    stage.seen["ids"] = {"INPUT": layer("Roads").id(), "RASTER": layer("Image").id()}
    asked = {"ARROWS": "TEMPORARY_OUTPUT", "REPORT": str(pictures / "status.html")}
    yield from run_opened(stage, "roadstatus", 620, pictures / "status_dialog.png", **asked)
    yield from hands.draw_map()
    stage.seen["all_layers"] = hands.layer_tree()
    hands.picture(iface.mainWindow(), pictures / "status_map.png")


def make_sheet(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Make a field sheet of the map, and export it as a PDF by the layout window's own action and dialogs."""
    stage.step("sheet")
    hands.choose("roadseg_sheet")
    yield Until(lambda: iface.openLayoutDesigners(), "the layout window is open")
    designer, pdf = iface.openLayoutDesigners()[0], pictures / "sheet.pdf"
    window = designer.window()
    yield Until(lambda: window.isVisible(), "the layout window is visible")
    labels = [item.text() for item in designer.layout().items() if isinstance(item, QgsLayoutItemLabel)]
    stage.seen["sheet"] = labels
    QTimer.singleShot(0, window.findChild(QAction, "mActionExportAsPDF").trigger)
    yield Until(lambda: newest(QFileDialog), "a file is asked for")
    newest(QFileDialog).findChild(QLineEdit, "fileNameEdit").setText(str(pdf))
    QTimer.singleShot(0, newest(QFileDialog).accept)
    yield Until(lambda: newest(QDialog) and not newest(QFileDialog), "options are asked for")
    hands.picture(window, pictures / "status_sheet.png")
    QTimer.singleShot(0, newest(QDialog).accept)
    yield Until(pdf.is_file, "the PDF is written", 60)
    yield from pause()
    window.close()


def newest(kind: type):
    """Return the dialog of a kind that was opened last; None without any."""
    return next((each for each in reversed(open_dialogs()) if isinstance(each, kind)), None)
