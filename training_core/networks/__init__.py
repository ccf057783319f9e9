"""Road networks as graphs: lines, nodes, cleaning, shortest paths, files. Imports geodata."""
