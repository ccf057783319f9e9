"""The runtime, a Python environment of its own: found, built, and run as a worker process."""
