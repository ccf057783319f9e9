"""What RoadSeg is in the Processing toolbox: provider, algorithms, parameters."""
