"""The headless core: everything that computes. Imports no QGIS."""
