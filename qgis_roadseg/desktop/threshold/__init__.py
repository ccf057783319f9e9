"""The threshold by eye: a slider, areas with a threshold of their own, and the lines that follow."""
