"""RoadSeg live in a window: the panel, the worker's client, what is drawn, and what is shown."""
