"""What looks like a road from above, as a camera sees it.

Scope: colors and their opacity. Independent of where it lies.
"""

from __future__ import annotations

from collections.abc import Iterator

import geopandas as gpd
import numpy as np

from ..plan.biomes import Palette
from ..plan.lookalikes import BALK, CANAL, DITCH, GREENHOUSE, LINING, RUNWAY, TERRACE, TREE_ROW, WASH
from .spectrum import spectra
from .view import Texture, View

_FOIL, _CONCRETE, _ASPHALT, _SHADED = spectra(
    (0.80, 0.82, 0.83), (0.66, 0.65, 0.62), (0.42, 0.42, 0.43), (0.24, 0.27, 0.18)
)


def lookalike_layers(
    lookalikes: gpd.GeoDataFrame, palette: Palette, view: View, texture: Texture
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the layers of what looks like a road, from the ground up.

    Parameters
    ----------
    lookalikes : GeoDataFrame
        With kind and tone.
    palette : Palette
        Of four bands.
    texture : Texture
        Of that view.

    Yields
    ------
    color : ndarray (4, H, W), float32
    thickness : ndarray (H, W), float32
        Opacity from 0 to 1.
    """
    strip = view.burn(lookalikes)
    if (strip < 0).all():
        return
    kind = np.append(lookalikes.kind.to_numpy(), -1)[strip]
    tone = np.append(lookalikes.tone.to_numpy(), 1).astype(np.float32)[strip] * (1 + 0.05 * texture(4.0, 14))
    frayed, patchy = np.clip(0.75 + 0.2 * texture(4.0, 14), 0, 1), np.clip(0.6 + 0.35 * texture(18.0, 14), 0, 1)
    for which, color, thickness in (
        (DITCH, _SHADED, patchy),
        (BALK, palette.dry[0], patchy),
        (TERRACE, palette.soil[0], patchy),
        (GREENHOUSE, _FOIL, np.float32(0.92)),
        (TREE_ROW, palette.soil[0], np.float32(0.3)),
        (RUNWAY, _ASPHALT, np.float32(0.97)),
        (WASH, palette.soil[0], frayed),
        (LINING, _CONCRETE, np.float32(0.9)),
        (CANAL, palette.water[0], np.float32(0.95)),
    ):
        yield color[:, None, None] * tone, (kind == which) * thickness


def tree_rows(lookalikes: gpd.GeoDataFrame, view: View) -> np.ndarray:
    """Return where trees stand in rows: (H, W), bool."""
    return view.burn(lookalikes[lookalikes.kind == TREE_ROW].reset_index(drop=True)) >= 0
