"""Road networks as graphs: lines, noding, cleaning, shortest paths, files."""
