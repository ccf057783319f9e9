"""The headless core: everything that computes. Knows rasters, labels, networks and graphs; knows no QGIS."""
