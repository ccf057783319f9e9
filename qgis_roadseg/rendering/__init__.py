"""Rendering of layers that GDAL cannot open by a path, such as web maps and meshes, to a GeoTIFF."""
