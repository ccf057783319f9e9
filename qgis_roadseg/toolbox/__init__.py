"""RoadSeg in the Processing toolbox: provider, algorithms, parameters."""
