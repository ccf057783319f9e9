"""The runtime's Python and the worker process in it."""
