"""Fleets: the tasks of a region in several processes of this machine, or on the workers of a Dask scheduler."""
