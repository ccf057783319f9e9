"""QGIS layers as inputs and outputs of jobs: images, labels, results, styles."""
