"""Generated aerial scenes with their true roads, for demonstrations, tests and the starter model."""
