"""Loading blocks of pixels from a raster provider, with retries after failed downloads.

Scope: providers and their errors. Independent of the pixels' use.
"""

from __future__ import annotations

import re

from qgis.core import QgsProcessingFeedback, QgsRasterBlock, QgsRasterBlockFeedback, QgsRasterDataProvider, QgsRectangle
from qgis.PyQt.QtCore import Qt

from ...training_core.errors import Cancelled, ImageryError
from ..runtime.feedback import wait
from .provider_errors import LogErrors, RequestErrors

# URLs may hold a key, so messages must not hold them.
_ADDRESS = re.compile(r"\w+://\S+")
# Waits before each retry, in seconds: servers are busy at times, and connections break.
WAITS_S = (1.0, 5.0, 15.0)


class BlockLoader:
    """Loads blocks of a layer; the feedback receives a line per retry, and says whether the user canceled."""

    def __init__(self, provider: QgsRasterDataProvider, layer_name: str, feedback: QgsProcessingFeedback) -> None:
        self._provider = provider
        self._layer_name = layer_name
        self._feedback = feedback
        self._is_tiled = bool(provider.nativeResolutions())
        # Once it has failed, GDAL's driver for PostGIS gives black blocks as if all were well.
        self._waits_s = () if provider.name() == "gdal" else WAITS_S
        self.missing: set[str] = set()  # addresses of tiles that were requested and do not exist

    def load(self, band: int, extent: QgsRectangle, width: int, height: int) -> QgsRasterBlock:
        """Return a block of pixels; where the layer has none, the block is nodata.

        Raises Cancelled if the user stopped it. Raises ImageryError if the block is incomplete after all retries.
        """
        for wait_s in (*self._waits_s, None):
            block, failures = self._try(band, extent, width, height)
            if not failures:
                return block
            if wait_s is not None:
                self._feedback.pushInfo(f"{self._layer_name}: {failures[0]}; trying again in {wait_s:g} s")
                wait(wait_s, self._feedback)
        more = f", and {len(failures) - 1:,} more" if len(failures) > 1 else ""
        raise ImageryError(
            f"The layer {self._layer_name} could not be loaded completely: {failures[0]}{more}.",
            "Check the connection, and check that QGIS shows the layer there. Then run it again, perhaps with a "
            "smaller extent.",
        )

    def _try(self, band: int, extent: QgsRectangle, width: int, height: int) -> tuple[QgsRasterBlock, list[str]]:
        """Return a block, and the errors that leave it incomplete."""
        cancel = QgsRasterBlockFeedback()
        self._feedback.canceled.connect(cancel.cancel, Qt.ConnectionType.DirectConnection)
        try:
            with RequestErrors(self._is_tiled) as requests, LogErrors() as logged:
                self._check_cancelled()
                block = self._provider.block(band, extent, width, height, cancel)
        finally:
            self._feedback.canceled.disconnect(cancel.cancel)
        self._check_cancelled()
        self.missing |= requests.missing
        failures = requests.failures + logged.messages
        if not failures and not requests.missing:  # which a provider may report as errors
            failures = cancel.errors()
        if not failures and not block.isValid():
            failures = [self._provider.lastError() or "the provider returns no pixels"]
        return block, [_ADDRESS.sub("…", failure) for failure in failures]

    def _check_cancelled(self) -> None:
        if self._feedback.isCanceled():
            raise Cancelled()
