"""Measurements of speed and quality; no part of the plugin."""
