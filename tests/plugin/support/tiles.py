"""Web tiles in a folder or from a server of this machine, and layers of them."""

import http.server
import itertools
import math
import threading
from contextlib import contextmanager

from qgis.core import QgsDataSourceUri, QgsRasterLayer, QgsRectangle
from qgis.PyQt.QtCore import QBuffer, QByteArray
from qgis.PyQt.QtGui import QColor, QImage, QPainter

HALF_WORLD = 20037508.342789244
# Berlin, where a unit of Web Mercator is some 0.6 m on the ground.
ZOOM, COLUMN, ROW = 18, 140840, 85980
LAND, SQUARE = QColor(60, 90, 120), QColor(250, 240, 230)
# Where in the middle tile the square lies, in its pixels.
SQUARE_PX = (64, 192)
UNITS_PER_PX = 2 * HALF_WORLD / 256 / 2**ZOOM
# Begins a server's addresses, so that QGIS takes none for that of an earlier server at the same port.
_prefixes = map("/{}".format, itertools.count())


def tile_extent(column, row, columns=1, rows=1):
    """Return what tiles cover, in EPSG:3857."""
    side = 256 * UNITS_PER_PX
    west, north = -HALF_WORLD + column * side, HALF_WORLD - row * side
    return QgsRectangle(west, north - rows * side, west + columns * side, north)


def square_extent():
    """Return where the square in the middle tile is, in EPSG:3857."""
    tile, (begin, end) = tile_extent(COLUMN + 1, ROW + 1), SQUARE_PX
    left, right = (tile.xMinimum() + pixel * UNITS_PER_PX for pixel in SQUARE_PX)
    return QgsRectangle(left, tile.yMaximum() - end * UNITS_PER_PX, right, tile.yMaximum() - begin * UNITS_PER_PX)


ALL = tile_extent(COLUMN, ROW, 3, 3)
LATITUDE = math.degrees(math.atan(math.sinh(ALL.center().y() / 6378137)))


def paint_tile(path, has_square=False):
    """Write a tile of land, with a square on it or without."""
    image = QImage(256, 256, QImage.Format.Format_RGB32)
    image.fill(LAND)
    if has_square:
        painter = QPainter(image)
        begin, end = SQUARE_PX
        painter.fillRect(begin, begin, end - begin, end - begin, SQUARE)
        painter.end()
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(str(path))


def png_of(width, height):
    """Return the picture of land as a PNG file's bytes."""
    image, content = QImage(width, height, QImage.Format.Format_RGB32), QByteArray()
    image.fill(LAND)
    buffer = QBuffer(content)
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(content)


def paint_tiles(folder, missing=()):
    """Write three by three tiles, and return the template of their address."""
    for column in range(3):
        for row in range(3):
            if (column, row) not in missing:
                path = folder / str(ZOOM) / str(COLUMN + column) / f"{ROW + row}.png"
                paint_tile(path, has_square=(column, row) == (1, 1))
    return folder.as_uri() + "/{z}/{x}/{y}.png"


def tile_source(url, **more):
    """Return the source of a layer of web tiles."""
    uri = QgsDataSourceUri()
    for name, value in {"type": "xyz", "url": url, "zmin": str(ZOOM), "zmax": str(ZOOM), **more}.items():
        uri.setParam(name, value)
    return bytes(uri.encodedUri()).decode()


def tile_layer(url, name="Kacheln"):
    layer = QgsRasterLayer(tile_source(url), name, "wms")
    assert layer.isValid()
    return layer


@contextmanager
def serve(answer):
    """Serve what `answer(path)` returns, status, content type and content, and give the server's address."""
    prefix = next(_prefixes)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, content_type, content = answer(self.path.removeprefix(prefix))
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
        server.shutdown()
