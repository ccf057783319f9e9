"""Jobs about road networks that are there already: scoring one against another."""

from __future__ import annotations

# Meters a second of one of each unit that a speed may be given in.
METERS_PER_SECOND = {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1.0}
