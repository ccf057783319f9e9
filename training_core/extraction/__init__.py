"""From road probability to center-lines. Imports networks."""
