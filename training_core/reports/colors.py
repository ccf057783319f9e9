"""Colors of charts, maps and overlays: the palette of Okabe and Ito (2008), which stays distinct in color blindness.

Scope: hex codes, as CSS and matplotlib take them. Independent of drawings.
"""

from __future__ import annotations

ORANGE, GREEN, YELLOW, BLUE = "#e69f00", "#009e73", "#f0e442", "#0072b2"
VERMILION, PURPLE, SKY = "#d55e00", "#cc79a7", "#56b4e9"
# In addition to the palette: text, axes, and minor items.
INK, AXIS, GRAY, PALE, FAINT, WHITE = "#1f2933", "#3c4650", "#8a9099", "#c9d2da", "#ebeef2", "#ffffff"
BROWN = "#7a5230"
# The colors of true positives, false negatives and false positives.
HIT_COLOR, MISS_COLOR, FALSE_ALARM_COLOR = GREEN, VERMILION, PURPLE


def rgb(color: str) -> tuple[int, int, int]:
    """Return red, green and blue, from 0 to 255, of a hex code."""
    red, green, blue = bytes.fromhex(color[1:])
    return red, green, blue
