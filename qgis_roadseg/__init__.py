"""The QGIS side of RoadSeg: provider, parameters, layers, runtime, worker client. It computes nothing itself."""
