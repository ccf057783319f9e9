"""Blocks of pixels from a provider, surely: tried again where a download fails, and given up with words.

Knows what providers tell of failures, which is little; knows nothing of where the pixels go.
"""

from __future__ import annotations

import re
import time

from qgis.core import QgsProcessingFeedback, QgsRasterBlock, QgsRasterBlockFeedback, QgsRasterDataProvider, QgsRectangle
from qgis.PyQt.QtCore import Qt

from ...training_core.errors import Cancelled, ImageryError
from .provider_errors import Complaints, Downloads

# What a message shall not hold, since there may be a key in it.
_ADDRESS = re.compile(r"\w+://\S+")
# How long to wait before each new attempt: servers are busy at times, and connections break.
WAITS_S = (1.0, 5.0, 15.0)


class BlockLoader:
    """Loads blocks of a layer.

    Parameters
    ----------
    provider : QgsRasterDataProvider
        A provider of this thread's own.
    layer_name : str
        For messages.
    feedback : QgsProcessingFeedback
        Says whether the person stopped it.
    """

    def __init__(self, provider: QgsRasterDataProvider, layer_name: str, feedback: QgsProcessingFeedback) -> None:
        self._provider = provider
        self._layer_name = layer_name
        self._feedback = feedback
        self._is_tiled = bool(provider.nativeResolutions())
        # Once it has failed, GDAL's driver for PostGIS gives black blocks as if all were well.
        self._waits_s = () if provider.name() == "gdal" else WAITS_S
        self._missing: set[str] = set()

    @property
    def missing(self) -> int:
        """How many tiles were asked for and are not there."""
        return len(self._missing)

    def load(self, band: int, extent: QgsRectangle, width: int, height: int) -> QgsRasterBlock:
        """Return a block of pixels; where there is nothing, it has no data.

        Raises
        ------
        Cancelled
            The person stopped it.
        ImageryError
            The block could not be loaded whole, however often it was tried.
        """
        for wait_s in (*self._waits_s, None):
            block, failures = self._try(band, extent, width, height)
            if not failures:
                return block
            if wait_s is not None:
                self._feedback.pushInfo(f"{self._layer_name}: {failures[0]}; trying again in {wait_s:g} s")
                self._wait(wait_s)
        more = f", and {len(failures) - 1:,} more" if len(failures) > 1 else ""
        raise ImageryError(
            f"The layer {self._layer_name} could not be loaded whole: {failures[0]}{more}.",
            "Check the connection, and whether the map shows the layer there; then run it again, "
            "perhaps with a smaller extent.",
        )

    def _try(self, band: int, extent: QgsRectangle, width: int, height: int) -> tuple[QgsRasterBlock, list[str]]:
        """Return a block and what kept it from being whole."""
        cancel = QgsRasterBlockFeedback()
        self._feedback.canceled.connect(cancel.cancel, Qt.ConnectionType.DirectConnection)
        try:
            with Downloads(self._is_tiled) as downloads, Complaints() as complaints:
                self._check_cancelled()
                block = self._provider.block(band, extent, width, height, cancel)
        finally:
            self._feedback.canceled.disconnect(cancel.cancel)
        self._check_cancelled()
        self._missing |= downloads.missing
        failures = downloads.failures + complaints.heard
        if not failures and not downloads.missing:  # of which a provider may complain
            failures = cancel.errors()
        if not failures and not block.isValid():
            failures = [self._provider.lastError() or "the provider gives no pixels"]
        return block, [_ADDRESS.sub("…", failure) for failure in failures]

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._check_cancelled()
            time.sleep(0.05)

    def _check_cancelled(self) -> None:
        if self._feedback.isCanceled():
            raise Cancelled()
