"""Two road networks beside each other: scores, changes, routes. Imports networks and extraction."""
