"""Rasters, vector layers, grids and tiles, and what their numbers mean."""
