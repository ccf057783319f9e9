"""RoadSeg live in a window: the panel, the worker's client, labels and predictions."""
