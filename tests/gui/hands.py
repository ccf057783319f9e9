"""A person's hands and eyes in QGIS: clicks, what a dialog is filled in with, what the layer tree shows, pictures.

Scope: widgets of QGIS and Processing. Independent of the story.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from osgeo import gdal
from qgis.core import QgsLineSymbol, QgsProject
from qgis.PyQt.QtCore import QPoint, Qt, QTimer
from qgis.PyQt.QtGui import QImage, qRgb
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QAbstractButton, QAction, QLabel, QProgressBar, QShortcut, QTextEdit, QTreeView, QWidget
from qgis.utils import iface

from tests.gui.stage import Until, open_dialogs

# What keeps a picture of the main window below 250 kB, with words that can be read.
WIDEST_PX, COLORS = 1000, 96


def click(button: QWidget) -> None:
    """Click on a button, when the event loop has come to it."""
    QTimer.singleShot(0, lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton))


def choose(name: str) -> None:
    QTimer.singleShot(0, iface.mainWindow().findChild(QAction, name).trigger)


def single_keys() -> list[str]:
    """Return the letters that QGIS itself takes as shortcuts."""
    window = iface.mainWindow()
    keys = [each.shortcut() for each in window.findChildren(QAction) if "roadseg" not in each.objectName()]
    keys += [each.key() for each in window.findChildren(QShortcut)]
    return sorted({key.toString() for key in keys if len(key.toString()) == 1})


def press(words: str) -> None:
    """Click on the button with these words in the message bar."""
    buttons = iface.messageBar().findChildren(QAbstractButton)
    click(next(button for button in buttons if button.text() == words and button.isVisible()))


def toolbox() -> QWidget:
    return iface.mainWindow().findChild(QWidget, "ProcessingToolbox")


def tree_of(view: QTreeView, index=None) -> dict:
    """Return what a tree view shows below an index, as nested dictionaries of texts."""
    model = view.model()
    index = index or view.rootIndex()
    rows = [model.index(row, 0, index) for row in range(model.rowCount(index))]
    return {row.data(): tree_of(view, row) for row in rows}


def open_from_toolbox(words: str) -> None:
    """Search in the toolbox, and double-click on the algorithm with just this name."""
    tree = toolbox().algorithmTree
    toolbox().searchBox.setText(words)
    model = tree.model()
    flags = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive
    found = model.match(model.index(0, 0), Qt.ItemDataRole.DisplayRole, words, -1, flags)
    algorithms = [index for index in found if not model.hasChildren(index)]
    if not algorithms:
        raise LookupError(f"{words} is not in the toolbox, which shows {tree_of(tree)}")
    tree.setCurrentIndex(algorithms[0])
    tree.scrollTo(algorithms[0])
    spot = tree.visualRect(algorithms[0]).center()
    QTimer.singleShot(0, lambda: _double_click(tree.viewport(), spot))


def _double_click(widget: QWidget, spot: QPoint) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=spot)
    QTest.mouseDClick(widget, Qt.MouseButton.LeftButton, pos=spot)


def dialog(kind: str = "AlgorithmDialog"):
    """Return the dialog of Processing's that is open, or None."""
    return next((each for each in reversed(open_dialogs()) if type(each).__name__ == kind), None)


def opened(kind: str = "AlgorithmDialog") -> Until:
    return Until(lambda: dialog(kind) is not None, f"{kind} is open")


def closed() -> Until:
    return Until(lambda: not open_dialogs(), "no dialog is open")


def fill_in(form, **values) -> None:
    """Give parameters of an open algorithm's dialog values."""
    for name, value in values.items():
        form.mainWidget().wrappers[name].setParameterValue(value, form.processingContext())


def log_of(form) -> str:
    """Return what the Log page of an algorithm's dialog shows."""
    return form.findChild(QTextEdit, "txtLog").toPlainText()


def ran(form, limit_s: float) -> Until:
    """Wait until an algorithm or a batch is through, whether well or not."""
    ends = ("Execution completed in", "Execution failed after", "Batch execution completed in")
    is_through = lambda: form.runButton().isEnabled() and any(end in log_of(form) for end in ends)  # noqa: E731
    return Until(is_through, f"{form.windowTitle()} is through", limit_s)


def close(form) -> None:
    click(form.buttonBox().button(form.buttonBox().StandardButton.Close))


def layer_tree(group=None) -> list:
    """Return the layer tree from above: a layer as its name, a group as its name and what is in it."""
    group = group or QgsProject.instance().layerTreeRoot()
    return [
        [each.name(), layer_tree(each)] if hasattr(each, "findGroups") else each.name() for each in group.children()
    ]


def layer(name: str):
    """Return a layer by its name, or by that and what it was made of in parentheses; None where there is none."""
    layers = QgsProject.instance().mapLayers().values()
    return next((each for each in layers if each.name() == name or each.name().startswith(f"{name} (")), None)


def draw_map() -> Iterator[Until]:
    """Have the map drawn anew, to its end, with no messages above it but RoadSeg's."""
    for item in iface.messageBar().items():
        if item.title() != "RoadSeg":
            iface.messageBar().popWidget(item)
    canvas, drawn = iface.mapCanvas(), []
    yield Until(lambda: not canvas.isDrawing(), "the map is drawn")
    canvas.mapCanvasRefreshed.connect(lambda: drawn.append(True))
    canvas.refreshAllLayers()
    yield Until(lambda: drawn and not canvas.isDrawing(), "the map is drawn anew")


def show_group(name: str) -> None:
    """Unfold a provider in the toolbox, with all of its groups, and scroll to it."""
    tree = toolbox().algorithmTree
    top = next(iter(tree.model().match(tree.model().index(0, 0), Qt.ItemDataRole.DisplayRole, name)))
    tree.expandRecursively(top)
    tree.scrollTo(top, tree.ScrollHint.PositionAtTop)


def labels_of(form) -> list[str]:
    """Return the labels that an algorithm's dialog shows, from above."""
    labels = [each for each in form.mainWidget().findChildren(QLabel) if each.isVisible() and each.text()]
    labels.sort(key=lambda each: each.mapTo(form, QPoint()).y())
    return [each.text() for each in labels]


def progress_of(form) -> float:
    return form.findChild(QProgressBar, "progressBar").value()


def far_ends(roads) -> tuple:
    """Return where the lines of the longest component begin that lie farthest to the north-west and south-east."""
    lengths, beginnings = defaultdict(float), defaultdict(list)
    for line in roads.getFeatures():
        lengths[line["component"]] += line["length_m"]
        beginnings[line["component"]].append(next(line.geometry().vertices()))
    points = sorted(beginnings[max(lengths, key=lengths.get)], key=lambda point: point.x() - point.y())
    return points[0], points[-1]


def place(point, near) -> str:
    return f"{point.x()},{point.y()} [{near.crs().authid()}]"


def highlight(line) -> None:
    line.renderer().setSymbol(QgsLineSymbol.createSimple({"line_color": "255,0,0", "line_width": "2"}))
    line.triggerRepaint()


def fill_in_rows(batch, rows: list[dict]) -> None:
    """Give a batch's rows values; there are as many rows as values for them."""
    panel = batch.mainWidget()
    panel.addRow(len(rows) - panel.batchRowCount())
    for row, values in enumerate(rows):
        for name, value in values.items():
            column = panel.parameter_to_column[name]
            wrapper = panel.wrappers[row][column]
            if wrapper is None:  # a destination; the table's first row fills the others
                panel.tblParameters.cellWidget(row + 1, column).setValue(value)
            else:
                wrapper.setParameterValue(value, batch.processingContext())


def picture(widget: QWidget, path: Path, colors: int = COLORS) -> None:
    """Save a picture of a window as a PNG of few colors, smaller where it is large."""
    image = widget.grab().toImage()
    if image.width() > WIDEST_PX:
        image = image.scaledToWidth(WIDEST_PX, Qt.TransformationMode.SmoothTransformation)
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    width, height, stride = image.width(), image.height(), image.bytesPerLine()
    bits = image.constBits().asstring(stride * height)
    full = gdal.GetDriverByName("MEM").Create("", width, height, 3)
    full.WriteRaster(0, 0, width, height, bits, width, height, gdal.GDT_Byte, [1, 2, 3], 3, stride, 1)
    bands, found = [full.GetRasterBand(number) for number in (1, 2, 3)], gdal.ColorTable()
    gdal.ComputeMedianCutPCT(*bands, colors, found)
    table = [qRgb(*found.GetColorEntry(number)[:3]) for number in range(found.GetCount())]
    # Undithered, which is smaller.
    image.convertToFormat(QImage.Format.Format_Indexed8, table, Qt.ImageConversionFlag.AvoidDither).save(
        str(path), "PNG", 0
    )
