"""Tracing: roads drawn in a line layer along the likeliest paths through a road probability."""
