"""A main window with what RoadSeg asks of QGIS' own: a Raster menu, toolbars, docks, a map, a message bar, options."""

from qgis.core import QgsProject
from qgis.gui import QgsMapCanvas, QgsMessageBar
from qgis.PyQt.QtCore import QCoreApplication, QEvent
from qgis.PyQt.QtWidgets import QAction, QApplication, QDockWidget, QMainWindow, QPushButton, QToolBar


class Window:
    """Has of QgisInterface the methods that RoadSeg calls."""

    def __init__(self):
        self._window = QMainWindow()
        self._menu = self._window.menuBar().addMenu("Raster")
        self._bar = QgsMessageBar(self._window)
        self._menus = {}
        self._canvas = QgsMapCanvas(self._window)
        self._canvas.resize(400, 300)
        self._active = None
        self.factories = []
        self.shown_pages = []
        self.layouts = []
        self.keeps_its_project = False

    def mainWindow(self):  # noqa: N802
        return self._window

    def rasterMenu(self):  # noqa: N802
        return self._menu

    def messageBar(self):  # noqa: N802
        return self._bar

    def addPluginToRasterMenu(self, name, action):  # noqa: N802
        if name not in self._menus:
            self._menus[name] = self._menu.addMenu(name)
        self._menus[name].addAction(action)

    def removePluginRasterMenu(self, name, action):  # noqa: N802
        menu = self._menus[name]
        menu.removeAction(action)
        if not menu.actions():
            self._menu.removeAction(self._menus.pop(name).menuAction())

    def addToolBar(self, name):  # noqa: N802
        return self._window.addToolBar(name)

    def addDockWidget(self, area, dock):  # noqa: N802
        self._window.addDockWidget(area, dock)

    def removeDockWidget(self, dock):  # noqa: N802
        self._window.removeDockWidget(dock)

    def mapCanvas(self):  # noqa: N802
        return self._canvas

    def activeLayer(self):  # noqa: N802
        return self._active

    def setActiveLayer(self, layer):  # noqa: N802
        self._active = layer
        return True

    def registerOptionsWidgetFactory(self, factory):  # noqa: N802
        self.factories.append(factory)

    def unregisterOptionsWidgetFactory(self, factory):  # noqa: N802
        self.factories.remove(factory)

    def showOptionsDialog(self, parent, page):  # noqa: N802
        self.shown_pages.append(page)

    def openLayoutDesigner(self, layout):  # noqa: N802
        self.layouts.append(layout)

    def newProject(self, asks):  # noqa: N802
        assert asks
        return not self.keeps_its_project

    def addProject(self, path):  # noqa: N802
        return QgsProject.instance().read(path)


def entries(window):
    """Return the actions of RoadSeg's menu."""
    menus = [action.menu() for action in window.rasterMenu().actions() if action.text() == "RoadSeg"]
    return [action for menu in menus for action in menu.actions()]


def entry(window, name):
    """Return an action of RoadSeg's menu."""
    return next(action for action in entries(window) if action.objectName() == f"roadseg_{name}")


def open_window(layer, extent, crs, size=(900, 500)):
    """Return a window that is shown, with its map on an extent, and a layer that is selected."""
    window = Window()
    window.mainWindow().setCentralWidget(window.mapCanvas())
    window.mainWindow().resize(*size)
    window.mainWindow().show()
    QApplication.setActiveWindow(window.mainWindow())
    QApplication.processEvents()
    window.mapCanvas().setDestinationCrs(crs)
    window.mapCanvas().setExtent(extent)
    window.setActiveLayer(layer)
    return window


def messages(window):
    """Return the messages above the map, the newest first."""
    return [item.text() for item in window.messageBar().items()]


def button(window):
    """Return the first button of the newest message."""
    return buttons(window)[0]


def buttons(window):
    """Return the buttons of the newest message."""
    return window.messageBar().currentItem().findChildren(QPushButton)


def left_behind(window):
    """Return what there is of RoadSeg in a window, once what was to be deleted is."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return [
        *(action.text() for action in window.rasterMenu().actions()),
        *(toolbar.windowTitle() for toolbar in window.mainWindow().findChildren(QToolBar)),
        *(dock.windowTitle() for dock in window.mainWindow().findChildren(QDockWidget)),
        *(
            name
            for name in (action.objectName() for action in window.mainWindow().findChildren(QAction))
            if "roadseg" in name
        ),
        *window.factories,
    ]
