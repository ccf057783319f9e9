"""Layers that are no file, rendered into one."""
