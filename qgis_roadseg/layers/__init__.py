"""QGIS' layers in and out: images, labels, results, styles."""
