"""From road probability to center-lines."""
