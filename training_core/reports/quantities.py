"""Numbers with their units, in three digits: 12.3 ms, 1.93 TFLOP/s, 42 GB/s.

Scope: numbers to words. Independent of what they measure.
"""

from __future__ import annotations

import math
from typing import Optional

_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
NONE = "\u2013"
# Shorter times are the rounding of differences.
_MIN_S = 5e-10
# Between a number and its unit, so that no line ends there.
_SPACE, _MINUS = "\u00a0", "\u2212"


def quantity(value: Optional[float], unit: str) -> str:
    """Return a number in three digits with an SI prefix before its unit; a dash for None."""
    if value is None:
        return NONE
    power = 0
    if value and math.isfinite(value):
        power = min(max(3 * math.floor(math.log10(abs(value)) / 3), -9), 15)
        if abs(value) >= 999.5 * 10.0**power and power < 15:  # would be rounded to 1000
            power += 3
    if unit in ("B", "FLOP", "B/s", "FLOP/s", "OP/s"):  # there are no parts of them
        power = max(power, 0)
    return f"{_digits(value / 10.0**power)}{_SPACE}{_PREFIXES[power]}{unit}".rstrip(_SPACE)


def seconds(value: Optional[float]) -> str:
    """Return a time in three digits: 1.23 s, 45.6 ms, 7.89 µs; 0 s below half a nanosecond."""
    return quantity(value if value is None or abs(value) > _MIN_S else 0.0, "s")


def percent(share: Optional[float]) -> str:
    """Return a share from 0 to 1 as percent: 12 %, 3.4 %, 0.05 %; a dash for None."""
    if share is None:
        return NONE
    value = 100 * share
    decimals = 0 if abs(value) >= 9.95 else 1 if abs(value) >= 0.995 or not value else 2
    shown = f"{value:.{decimals}f}".replace("-", _MINUS) if round(value, decimals) else "0"
    return f"{shown}{_SPACE}%"


def number(value: Optional[float]) -> str:
    """Return a number in three digits, without a unit; a dash for None."""
    return NONE if value is None else _digits(value)


def calls(value: float) -> str:
    """Return a number of calls per step, `value`, in words: 12, or 0.25."""
    return f"{value:,.0f}" if value == round(value) else _digits(value)


def _digits(value: float) -> str:
    if not math.isfinite(value) or not value:
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.3g}")))))
    return f"{value:,.{min(decimals, 4)}f}".replace("-", _MINUS)
